// The sums of products.hpp, compiled once for each instruction set like passes.cpp.

#include "panels/products.hpp"

#include <algorithm>

#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Members gathered at a time: few enough to stay in the cache.
constexpr std::size_t gathered = 64;
// Rows and registers of columns of a tile of the matrix: as many sums as registers hold.
constexpr std::size_t tile_rows = vector_bytes == 64 ? 8 : 4, tile_vectors = 3;

template <class T>
void center(const T* from, const double* center, std::size_t count, double* to) {
    for (std::size_t c = 0; c < count; ++c) to[c] = static_cast<double>(static_cast<T>(from[c] - center[c]));
}

// Members with their columns from `first` on, a one and zeros to the width of the band; beside it the columns of the
// bands of this task times the share.
class Gathered {
public:
    Gathered(const CenteredRows& rows, std::size_t first, std::size_t width, std::size_t left_width)
        : rows_(rows), first_(first), width_(width), left_width_(left_width), right_(gathered * width),
          left_(gathered * left_width) {}

    void fill(const Member* members, std::size_t count) {
        const std::size_t columns = rows_.columns > first_ ? rows_.columns - first_ : 0;
        for (std::size_t m = 0; m < count; ++m) {
            double *right = right_.get() + m * width_, *left = left_.get() + m * left_width_;
            const std::size_t from = members[m].row * rows_.stride + first_;
            if (rows_.doubles)
                center(rows_.doubles + from, rows_.center + first_, columns, right);
            else
                center(rows_.singles + from, rows_.center + first_, columns, right);
            std::fill(right + columns, right + width_, 0.0);
            right[rows_.columns - first_] = 1.0;
            for (std::size_t c = 0; c < left_width_; ++c) left[c] = members[m].share * right[c];
        }
        count_ = count;
    }

    // Adds the products of `tile_rows` columns at `row` and `vectors` vectors of columns at `column`.
    template <std::size_t vectors>
    void add(std::size_t row, std::size_t column, double* sums, std::size_t sums_width) const {
        constexpr std::size_t width = lanes<double>;
        Vec<double> sum[tile_rows][vectors];
        for (std::size_t i = 0; i < tile_rows; ++i)
            for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = load(sums + i * sums_width + v * width);
        const double *left = left_.get() + row, *right = right_.get() + column;
        for (std::size_t m = 0; m < count_; ++m, left += left_width_, right += width_) {
            Vec<double> values[vectors];
#pragma GCC unroll 3
            for (std::size_t v = 0; v < vectors; ++v) values[v] = load(right + v * width);
#pragma GCC unroll 8
            for (std::size_t i = 0; i < tile_rows; ++i) {
                const Vec<double> weighted = broadcast(left[i]);
#pragma GCC unroll 3
                for (std::size_t v = 0; v < vectors; ++v) sum[i][v] += weighted * values[v];
            }
        }
        for (std::size_t i = 0; i < tile_rows; ++i)
            for (std::size_t v = 0; v < vectors; ++v) store(sums + i * sums_width + v * width, sum[i][v]);
    }

private:
    const CenteredRows& rows_;
    std::size_t first_, width_, left_width_, count_ = 0;
    Buffer<double> right_, left_;
};

// One band: its columns begin `skipped` after those gathered.
void add_band(const Gathered& block, std::size_t skipped, std::size_t width, double* sums) {
    constexpr std::size_t step = lanes<double>;
    for (std::size_t i = 0; i < band_rows; i += tile_rows) {
        double* row = sums + i * width;
        std::size_t c = 0;
        for (; c + tile_vectors * step <= width; c += tile_vectors * step)
            block.add<tile_vectors>(skipped + i, skipped + c, row + c, width);
        for (; c + 2 * step <= width; c += 2 * step) block.add<2>(skipped + i, skipped + c, row + c, width);
        for (; c < width; c += step) block.add<1>(skipped + i, skipped + c, row + c, width);
    }
}

}  // namespace

void products(const CenteredRows& rows, const Member* members, std::size_t count, std::size_t task, double* sums) {
    const Bands bands{rows.columns};
    const std::size_t first = task * bands_at_once, last = std::min(first + bands_at_once, bands.count());
    Gathered block(rows, first * band_rows, bands.width(first), (last - first) * band_rows);
    for (std::size_t m = 0; m < count; m += gathered) {
        block.fill(members + m, std::min(gathered, count - m));
        for (std::size_t band = first; band < last; ++band)
            add_band(block, (band - first) * band_rows, bands.width(band), sums + bands.offset(band));
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
