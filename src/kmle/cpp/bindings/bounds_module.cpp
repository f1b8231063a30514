// Bounds passes as part of the Python module.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "bindings/bounds_passes.hpp"
#include "bindings/modules.hpp"

namespace kmle {
namespace {

// Adds the drift of a step of the components (see Moves in bounds/spans.hpp).
void add_drift(const Matrix<const double>& moved, const Vector<const double>& lifted, const given::Balls& balls,
               const given::Step& step, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t k = step.components(), n_statistics = balls.scale.shape(0), width = step.width();
    require(k > 0 && n_statistics > 0 && width >= k, "lines of change must not be shorter than the components.");
    require_shape("moved", moved, {n_statistics, k});
    require_shape("lifted", lifted, {k});
    require_shape("centers", balls.centers, {k, n_statistics});
    // Small tasks are finished before other threads are awake.
    const std::size_t components_per_task = std::max<std::size_t>(1, (1 << 20) / (k * n_statistics));
    const Moves moves = {k,
                         n_statistics,
                         width,
                         moved.data(),
                         lifted.data(),
                         balls.centers.data(),
                         balls.scale.data(),
                         step.rounding,
                         step.change.data(),
                         step.apart.data(),
                         step.gained.data(),
                         step.reached.data(),
                         step.most_gained.data(),
                         step.most_apart.data()};
    Pool::run(rounded_up(k, components_per_task) / components_per_task, threads, [&](std::size_t task) {
        chosen->add_drift(moves, task * components_per_task, std::min(k, (task + 1) * components_per_task));
    });
}

// The rows in order of their labels and, in `steps` steps, of their margins: those with the least margin
// first. Rows of the same step stay in their order. Numbers of all steps are below 2^16, so none need be compared.
void margin_order(const Vector<const std::int32_t>& labels, const Vector<const float>& margins, std::size_t steps,
                  float typical, float most, const Vector<std::int32_t>& places, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    constexpr std::size_t numbers = 1 << 16, pieces = 8;
    const std::size_t n = labels.shape(0);
    require(steps > 0 && steps <= numbers, "steps must lie in 1..65536.");
    require_shape("margins", margins, {n});
    require_shape("places", places, {n});
    std::vector<std::uint16_t> number(n);
    std::vector<std::int32_t> next(pieces * numbers, 0);
    Pool::run(pieces, threads, [&](std::size_t piece) {
        const float top = static_cast<float>(steps) * typical;
        for (std::size_t i = n * piece / pieces; i < n * (piece + 1) / pieces; ++i) {
            // A margin that is NaN counts as the largest.
            const float margin = margins.data()[i] < most ? margins.data()[i] : most;
            const float place = top / (margin + typical);
            const std::size_t step =
                place < static_cast<float>(steps) ? static_cast<std::size_t>(std::max(0.0f, place)) : steps - 1;
            number[i] =
                static_cast<std::uint16_t>(static_cast<std::size_t>(labels.data()[i]) * steps + steps - 1 - step);
            ++next[piece * numbers + number[i]];
        }
    });
    std::int32_t before = 0;
    for (std::size_t c = 0; c < numbers; ++c)
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            const std::int32_t count = next[piece * numbers + c];
            next[piece * numbers + c] = before;
            before += count;
        }
    Pool::run(pieces, threads, [&](std::size_t piece) {
        for (std::size_t i = n * piece / pieces; i < n * (piece + 1) / pieces; ++i)
            places.data()[next[piece * numbers + number[i]]++] = static_cast<std::int32_t>(i);
    });
}

template <class T>
void define(nb::class_<PackedRows<T>>& rows) {
    rows.def("bounds_pass", &bounds_pass<T>, nb::arg("natural").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("clusters"), nb::arg("margins").noconvert(), nb::arg("bounds"), nb::arg("step"))
        .def("bounds_log_likelihood", &bounds_log_likelihood<T>, nb::arg("natural").noconvert(),
             nb::arg("bias").noconvert(), nb::arg("labels").noconvert(), nb::arg("bounds"), nb::arg("step"))
        .def("measure_balls", &measure_balls<T>, nb::arg("balls"), nb::arg("every"),
             nb::arg("squares").noconvert().none());
}

}  // namespace

void define_bounds(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                   nb::class_<PackedRows<float>>& singles) {
    nb::class_<given::Balls>(module, "Balls")
        .def(nb::init<std::size_t, const Matrix<const double>&, const Vector<const std::int32_t>&, const Vector<float>&,
                      const Vector<const double>&>(),
             nb::arg("rows_each"), nb::arg("centers").noconvert(), nb::arg("anchors").noconvert(),
             nb::arg("radii").noconvert(), nb::arg("scale").noconvert());
    nb::class_<given::MarginBounds>(module, "MarginBounds")
        .def(nb::init<const Matrix<float>&, const Vector<double>&, const given::Balls&>(),
             nb::arg("margin_bounds").noconvert(), nb::arg("limits").noconvert(), nb::arg("balls"));
    nb::class_<given::Step>(module, "Step")
        .def(nb::init<const Matrix<float>&, const Matrix<float>&, double, const Matrix<float>&, const Matrix<float>&,
                      const Vector<double>&, const Vector<double>&>(),
             nb::arg("change").noconvert(), nb::arg("apart").noconvert(), nb::arg("rounding"),
             nb::arg("gained").noconvert(), nb::arg("reached").noconvert(), nb::arg("most_gained").noconvert(),
             nb::arg("most_apart").noconvert());
    define(doubles);
    define(singles);
    module.def("add_drift", &add_drift, nb::arg("moved").noconvert(), nb::arg("lifted").noconvert(), nb::arg("balls"),
               nb::arg("step"), nb::arg("threads"));
    module.def("margin_order", &margin_order, nb::arg("labels").noconvert(), nb::arg("margins").noconvert(),
               nb::arg("steps"), nb::arg("typical"), nb::arg("most"), nb::arg("places").noconvert(),
               nb::arg("threads"));
}

}  // namespace kmle
