// The Python face of rows along a line, beside module.cpp and under its rules.

#include "line_module.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <vector>

#include "line.hpp"
#include "line_order.hpp"
#include "packed_rows.hpp"

namespace kmle {
namespace {

// Rows in runs along one column, and passes over them whose cost hardly depends on their number.
class SortedRows {
public:
    SortedRows(PackedRows<double>& packed, const Vector<double>& line, const std::vector<std::size_t>& starts)
        : line_(packed, line.data(), starts) {}

    // Cuts and owners of the cells, or None where rounding decides too much; counts and sums are added to.
    nb::object hard_pass(const Contiguous<2>& natural, const Contiguous<1>& bias, const Vector<double>& counts,
                        const Matrix<double>& sums) {
        std::vector<std::int64_t> cuts;
        std::vector<std::int32_t> owners;
        bool decided = false;
        {
            const nb::gil_scoped_release unlocked;
            const std::lock_guard<std::mutex> turn(one_at_a_time_);  // a pass may put runs in order
            const std::size_t order = line_.order();
            decided = line_.cells(natural.data(), bias.data(), natural.shape(0), cuts, owners);
            if (!decided) owners.clear();
            std::vector<double> total(order + 1);
            for (std::size_t c = 0; c < owners.size(); ++c) {
                const std::size_t j = static_cast<std::size_t>(owners[c]);
                std::fill(total.begin(), total.end(), 0.0);
                line_.interval(static_cast<std::size_t>(cuts[c]), static_cast<std::size_t>(cuts[c + 1]), total.data());
                counts.data()[j] += total[0];
                for (std::size_t f = 0; f < order; ++f) sums.data()[j * order + f] += total[f + 1];
            }
        }
        return decided ? nb::object(nb::make_tuple(nb::cast(cuts), nb::cast(owners))) : nb::none();
    }

private:
    Line line_;
    std::mutex one_at_a_time_;
};

// Values put into runs along a line (see line_order.hpp).
class Runs {
public:
    using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    Runs(const Values& borders, std::size_t rows, std::size_t rows_a_block)
        : order_(borders.data(), borders.shape(0), rows, rows_a_block) {}

    void count(std::size_t first, const Values& values) {
        const nb::gil_scoped_release unlocked;
        order_.count(first, values.data(), values.shape(0));
    }

    void lay_out() { order_.lay_out(); }

    void place(std::size_t first, const Values& values, const std::optional<Values>& weights, const Vector<double>& line,
               const std::optional<Vector<double>>& line_weights) {
        const nb::gil_scoped_release unlocked;
        order_.place(first, values.data(), values.shape(0), weights ? weights->data() : nullptr, line.data(),
                     line_weights ? line_weights->data() : nullptr);
    }

    std::vector<std::int64_t> finish(const Vector<double>& line, const std::optional<Vector<double>>& weights,
                                     std::size_t threads) {
        const nb::gil_scoped_release unlocked;
        return order_.finish(line.data(), weights ? weights->data() : nullptr, threads);
    }

private:
    LineOrder order_;
};

}  // namespace

void define_line(nb::module_& module) {
    nb::class_<SortedRows>(module, "SortedRows")
        .def(nb::init<PackedRows<double>&, const Vector<double>&, const std::vector<std::size_t>&>(), nb::arg("packed"),
             nb::arg("line").noconvert(), nb::arg("starts"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("hard_pass", &SortedRows::hard_pass, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("sums").noconvert());
    nb::class_<Runs>(module, "Runs")
        .def(nb::init<const Runs::Values&, std::size_t, std::size_t>(), nb::arg("borders").noconvert(), nb::arg("rows"),
             nb::arg("rows_a_block"))
        .def("count", &Runs::count, nb::arg("first"), nb::arg("values").noconvert())
        .def("lay_out", &Runs::lay_out)
        .def("place", &Runs::place, nb::arg("first"), nb::arg("values").noconvert(), nb::arg("weights").noconvert().none(),
             nb::arg("line").noconvert(), nb::arg("line_weights").noconvert().none())
        .def("finish", &Runs::finish, nb::arg("line").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("threads"));
}

}  // namespace kmle
