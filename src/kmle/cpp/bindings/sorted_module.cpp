// Rows in buckets along a line as part of the Python module.

#include "bindings/modules.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "bindings/packed_rows.hpp"
#include "core/fork_gate.hpp"
#include "sorted/buckets.hpp"
#include "sorted/line.hpp"

namespace kmle {
namespace {

// Rows in buckets along one column, and passes over them whose cost hardly depends on their number.
class SortedRows {
public:
    SortedRows(PackedRows<double>& packed, const Vector<double>& line, const std::vector<std::size_t>& starts)
        : line_(packed, line.data(), checked(packed, line, starts)) {}

    // Cuts and owners of the cells, or None where rounding decides too much; the totals are added to.
    nb::object hard_pass(const Matrix<const double>& natural, const Vector<const double>& bias,
                         const given::Totals& totals) {
        std::vector<std::int64_t> cuts;
        std::vector<std::int32_t> owners;
        bool decided = false;
        {
            const nb::gil_scoped_release unlocked;
            const std::size_t n_statistics = line_.n_statistics();
            require_components(natural, bias, n_statistics);
            totals.require_fit(natural.shape(0), n_statistics);
            const ForkGate gate;  // a pass may put buckets in order
            const std::lock_guard<std::mutex> turn(one_at_a_time_);
            decided = line_.cells(natural.data(), bias.data(), natural.shape(0), cuts, owners);
            if (!decided) owners.clear();
            std::vector<double> part(n_statistics + 1);
            for (std::size_t c = 0; c < owners.size(); ++c) {
                const std::size_t j = static_cast<std::size_t>(owners[c]);
                std::fill(part.begin(), part.end(), 0.0);
                line_.interval(static_cast<std::size_t>(cuts[c]), static_cast<std::size_t>(cuts[c + 1]), part.data());
                totals.add(part.data(), part.data() + 1, j, 1);
            }
        }
        return decided ? nb::object(nb::make_tuple(nb::cast(cuts), nb::cast(owners))) : nb::none();
    }

private:
    static const std::vector<std::size_t>& checked(const PackedRows<double>& packed, const Vector<double>& line,
                                                   const std::vector<std::size_t>& starts) {
        require(packed.n_statistics() <= Line::most_statistics, "a line has at most eight statistics.");
        require_shape("line", line, {packed.rows()});
        require(starts.size() > 1 && starts.front() == 0 && starts.back() == packed.rows() &&
                    std::adjacent_find(starts.begin(), starts.end(), std::greater_equal<>()) == starts.end(),
                "starts must increase from 0 to the number of rows, which must not be 0.");
        return starts;
    }

    Line line_;
    std::mutex one_at_a_time_;
};

// Values put into buckets along a line (see buckets.hpp).
class Buckets {
public:
    using Values = Vector<const double>;

    Buckets(const Values& borders, std::size_t rows, std::size_t rows_a_block)
        : sort_(checked(borders, rows, rows_a_block), borders.shape(0), rows, rows_a_block), rows_(rows),
          rows_a_block_(rows_a_block), blocks_(rows / rows_a_block + (rows % rows_a_block > 0)) {}

    void count(std::size_t first, const Values& values) {
        const nb::gil_scoped_release unlocked;
        advance(first, values.shape(0), Block::given, Block::counted);
        sort_.count(first, values.data(), values.shape(0));
    }

    void lay_out() {
        require_all(Block::counted);
        sort_.lay_out();
        for (std::atomic<Block>& block : blocks_) block = Block::laid_out;
    }

    void place(std::size_t first, const Values& values, const std::optional<Values>& weights,
               const Vector<double>& line, const std::optional<Vector<double>>& line_weights) {
        const nb::gil_scoped_release unlocked;
        require_shape("line", line, {rows_});
        require(weights.has_value() == line_weights.has_value(), "weights and line_weights come together.");
        if (weights) require_shape("weights", *weights, {values.shape(0)});
        if (line_weights) require_shape("line_weights", *line_weights, {rows_});
        advance(first, values.shape(0), Block::laid_out, Block::placed);
        sort_.place(first, values.data(), values.shape(0), weights ? weights->data() : nullptr, line.data(),
                    line_weights ? line_weights->data() : nullptr);
    }

    std::vector<std::int64_t> finish(const Vector<double>& line, const std::optional<Vector<double>>& weights,
                                     std::size_t threads) {
        const nb::gil_scoped_release unlocked;
        require_shape("line", line, {rows_});
        if (weights) require_shape("weights", *weights, {rows_});
        require_all(Block::placed);
        return sort_.finish(line.data(), weights ? weights->data() : nullptr, threads);
    }

private:
    // What was done with a block. Each is counted and placed once, whole.
    enum class Block : char { given, counted, laid_out, placed };

    static const double* checked(const Values& borders, std::size_t rows, std::size_t rows_a_block) {
        const double *first = borders.data(), *last = first + borders.shape(0);
        require(borders.shape(0) > 0 && borders.shape(0) <= 1u << 16, "borders must be 1 to 65536 numbers.");
        require(std::all_of(first, last, [](double border) { return border == border; }) && std::is_sorted(first, last),
                "borders must be in increasing order.");
        require(rows > 0 && rows_a_block > 0, "rows and rows_a_block must be at least one.");
        table_size(rows, 1);
        return first;
    }

    void advance(std::size_t first, std::size_t count, Block from, Block to) {
        require(first < rows_ && first % rows_a_block_ == 0 && count == std::min(rows_a_block_, rows_ - first),
                "values must be those of one block.");
        require(blocks_[first / rows_a_block_].compare_exchange_strong(from, to),
                "a block is counted once, then all are laid out, and then it is placed once.");
    }

    void require_all(Block state) const {
        require(std::all_of(blocks_.begin(), blocks_.end(), [&](const auto& block) { return block == state; }),
                "all blocks must be counted before they are laid out, and placed before the line is finished.");
    }

    BucketSort sort_;
    std::size_t rows_, rows_a_block_;
    std::vector<std::atomic<Block>> blocks_;
};

}  // namespace

void define_sorted(nb::module_& module) {
    ForkGate::install();
    nb::class_<SortedRows>(module, "SortedRows")
        .def(nb::init<PackedRows<double>&, const Vector<double>&, const std::vector<std::size_t>&>(), nb::arg("packed"),
             nb::arg("line").noconvert(), nb::arg("starts"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("hard_pass", &SortedRows::hard_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("totals"));
    nb::class_<Buckets>(module, "Buckets")
        .def(nb::init<const Buckets::Values&, std::size_t, std::size_t>(), nb::arg("borders").noconvert(),
             nb::arg("rows"), nb::arg("rows_a_block"))
        .def("count", &Buckets::count, nb::arg("first"), nb::arg("values").noconvert())
        .def("lay_out", &Buckets::lay_out)
        .def("place", &Buckets::place, nb::arg("first"), nb::arg("values").noconvert(),
             nb::arg("weights").noconvert().none(), nb::arg("line").noconvert(),
             nb::arg("line_weights").noconvert().none())
        .def("finish", &Buckets::finish, nb::arg("line").noconvert(), nb::arg("weights").noconvert().none(),
             nb::arg("threads"));
}

}  // namespace kmle
