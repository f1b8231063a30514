// What rows score with their own components, by differences to means (see Centered).
//
// Rows of one component are gathered until there are enough to be scored lane by lane.

#include "dense/centered.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

template <class T>
class Gathering {
public:
    Gathering(const Packed<T>& packed, const Centered& centered, std::size_t components, OwnTask& task)
        : packed_(packed), centered_(centered), components_(components), task_(task), counts_(components),
          columns_(components * packed.columns * centered_rows), weights_(components * centered_rows),
          space_(centered.columns * centered_rows), scores_(centered_rows), squares_(centered_rows) {}

    void add(std::size_t i) {
        const std::size_t j = static_cast<std::size_t>(task_.labels[i]);
        const T* row = packed_.block(i / block_rows<T>) + i % block_rows<T>;
        std::size_t& count = counts_.get()[j];
        double* columns = columns_.get() + j * packed_.columns * centered_rows + count;
        for (std::size_t a = 0; a < packed_.columns; ++a) columns[a * centered_rows] = row[a * block_rows<T>];
        weights_.get()[j * centered_rows + count] = packed_.weight(i);
        if (++count == centered_rows) score(j);
    }

    void finish() {
        for (std::size_t j = 0; j < components_; ++j)
            if (counts_.get()[j] > 0) score(j);
    }

private:
    void score(std::size_t j) {
        const double *columns = columns_.get() + j * packed_.columns * centered_rows,
                     *weights = weights_.get() + j * centered_rows;
        const std::size_t count = counts_.get()[j];
        centered_scores(centered_, j, columns, space_.get(), scores_.get());
        if (centered_.carried) {
            half_squares(centered_, j, columns, space_.get(), squares_.get());
            for (std::size_t r = 0; r < count; ++r) scores_.get()[r] += squares_.get()[r];
        }
        double total = 0.0;
        for (std::size_t r = 0; r < count; ++r) total += weights[r] * scores_.get()[r];
        task_.totals[j] += total;
        task_.scored += static_cast<std::int64_t>(count);
        counts_.get()[j] = 0;
    }

    const Packed<T>& packed_;
    const Centered& centered_;
    std::size_t components_;
    OwnTask& task_;
    Buffer<std::size_t> counts_;
    Buffer<double> columns_, weights_, space_, scores_, squares_;
};

}  // namespace

template <class T>
void own_scores(const Packed<T>& packed, const Centered& centered, std::size_t components, OwnTask& task) {
    Gathering<T> gathering(packed, centered, components, task);
    const std::size_t last = std::min(packed.rows, task.last_block * block_rows<T>);
    for (std::size_t i = task.first_block * block_rows<T>; i < last; ++i)
        if (task.labels[i] >= 0) gathering.add(i);
    gathering.finish();
}

template void own_scores(const Packed<double>&, const Centered&, std::size_t, OwnTask&);
template void own_scores(const Packed<float>&, const Centered&, std::size_t, OwnTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
