// Balls around the statistics of spans of rows, in double precision whatever the rows are in.

#include <cmath>

#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// The statistics of one span, [block][statistic][row of the block].
template <class T>
class Span {
public:
    Span(const Packed<T>& packed, std::size_t rows_each)
        : packed_(packed), rows_each_(rows_each), statistics_(rows_each * packed.n_statistics) {}

    std::size_t load(std::size_t span) {
        const std::size_t first = span * rows_each_, count = std::min(rows_each_, packed_.rows - first);
        for (std::size_t r = 0; r < count; r += rows) {
            double* out = block(r / rows);
            std::copy_n(packed_.block((first + r) / rows), packed_.columns * rows, out);
            build_statistics(packed_.features, packed_.columns, rows, out);
        }
        return count;
    }

    // Calls visit(values, statistic, first row, number of rows) for what lies together.
    template <class Visit>
    void each(std::size_t count, const Visit& visit) {
        for (std::size_t r = 0; r < count; r += rows)
            for (std::size_t f = 0; f < packed_.n_statistics; ++f)
                visit(block(r / rows) + f * rows, f, r, std::min(rows, count - r));
    }

private:
    static constexpr std::size_t rows = block_rows<T>;

    double* block(std::size_t b) { return statistics_.get() + b * packed_.n_statistics * rows; }

    const Packed<T>& packed_;
    std::size_t rows_each_;
    Buffer<double> statistics_;
};

}  // namespace

template <class T>
void balls(const Packed<T>& packed, const Balls& balls, std::size_t first, std::size_t last, double* squares) {
    Span<T> span(packed, balls.rows_each);
    List<double> distances(balls.rows_each);
    for (std::size_t s = first; s < last; s += balls.every) {
        const std::size_t count = span.load(s);
        const double* center = balls.centers + static_cast<std::size_t>(balls.anchors[s]) * packed.n_statistics;
        std::fill(distances.begin(), distances.end(), 0.0);
        span.each(count, [&](const double* values, std::size_t f, std::size_t place, std::size_t rows) {
            const double middle = center[f], unit = 1 / balls.scale[f];
            double* own = distances.data() + place;
            for (std::size_t r = 0; r < rows; ++r) {
                const double distance = (values[r] - middle) * unit;
                own[r] += distance * distance;
            }
            if (squares)
                for (std::size_t r = 0; r < rows; ++r) squares[f] += (values[r] - middle) * (values[r] - middle);
        });
        // Rounded up, so that no row is outside.
        const double largest =
            std::sqrt(*std::max_element(distances.begin(), distances.begin() + static_cast<long>(count)));
        balls.radii[s] = static_cast<float>(largest * 1.000001);
    }
}

template void balls(const Packed<double>&, const Balls&, std::size_t, std::size_t, double*);
template void balls(const Packed<float>&, const Balls&, std::size_t, std::size_t, double*);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
