// Passes over packed rows with heavy-tailed components, as part of the Python module.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <vector>

#include "bindings/modules.hpp"
#include "bindings/packed_rows.hpp"

namespace kmle {
namespace given {

// Components as Python holds them; see tails.hpp.
struct Tailed {
    Matrix<const double> location, whitening;
    Vector<const double> degrees, constant;

    Tailed(const Matrix<const double>& location, const Matrix<const double>& whitening,
           const Vector<const double>& degrees, const Vector<const double>& constant)
        : location(location), whitening(whitening), degrees(degrees), constant(constant) {
        const std::size_t k = location.shape(0), d = location.shape(1);
        require(k > 0 && d > 0, "location must have at least one component and one column.");
        require_shape("whitening", whitening, {k, d * (d + 1) / 2});
        require_shape("degrees", degrees, {k});
        require_shape("constant", constant, {k});
    }

    kmle::Tailed view() const {
        return {location.data(), whitening.data(),  degrees.data(),
                constant.data(), location.shape(0), location.shape(1)};
    }
};

}  // namespace given

namespace {

void require_tails(const PackedRows<double>& rows, const given::Tailed& components) {
    require(rows.n_statistics() == rows.columns(), "rows must be packed as they are.");
    require_shape("location", components.location, {components.location.shape(0), rows.columns()});
}

// Adds sums [component][cell] where they are given, writes labels where these are, and returns the weighted sums of the
// log-likelihood and, without sums, of the entropies of responsibilities.
std::pair<double, double> tails_pass(PackedRows<double>& rows, const given::Tailed& components, std::size_t kept,
                                     const std::optional<Vector<std::int32_t>>& labels,
                                     const std::optional<Matrix<double>>& sums) {
    const nb::gil_scoped_release unlocked;
    require_tails(rows, components);
    const Tailed tailed = components.view();
    require_kept(kept, tailed.components);
    require(sums || !labels, "labels need sums.");
    if (labels) require_shape("labels", *labels, {rows.rows()});
    if (sums) require_shape("sums", *sums, {tailed.components, tailed.cells()});
    const std::size_t size = sums ? tailed.components * tailed.cells() : 0;
    const std::vector<std::size_t> edges = rows.tasks(std::max<std::size_t>(size, 1));
    std::vector<double> partial((edges.size() - 1) * size, 0.0);
    std::vector<TailsTask> tasks(edges.size() - 1);
    Pool::run(tasks.size(), rows.threads(), [&](std::size_t t) {
        tasks[t] = {
            edges[t], edges[t + 1], kept, labels ? labels->data() : nullptr, sums ? partial.data() + t * size : nullptr,
            0.0,      0.0};
        chosen->tails(rows.view(), tailed, tasks[t]);
    });
    double score = 0.0, entropy = 0.0;
    for (const TailsTask& task : tasks) {
        score += task.score;
        entropy += task.entropy;
        for (std::size_t c = 0; c < size; ++c) sums->data()[c] += task.sums[c];
    }
    rows.count_work(rows.rows() * tailed.components, 0);
    return {score, entropy};
}

// Adds the weighted sums (k,) of the scores of rows with the components of their labels.
void tails_own_scores(PackedRows<double>& rows, const given::Tailed& components,
                      const Vector<const std::int32_t>& labels, const Vector<double>& totals) {
    const nb::gil_scoped_release unlocked;
    require_tails(rows, components);
    const Tailed tailed = components.view();
    require_shape("labels", labels, {rows.rows()});
    require_below("labels", labels, tailed.components, true);
    require_shape("totals", totals, {tailed.components});
    const std::vector<std::size_t> edges = rows.tasks(tailed.components);
    std::vector<double> partial((edges.size() - 1) * tailed.components, 0.0);
    Pool::run(edges.size() - 1, rows.threads(), [&](std::size_t t) {
        TailsOwnTask task = {edges[t], edges[t + 1], labels.data(), partial.data() + t * tailed.components};
        chosen->tails_own_scores(rows.view(), tailed, task);
    });
    for (std::size_t c = 0; c < partial.size(); ++c) totals.data()[c % tailed.components] += partial[c];
    rows.count_work(rows.rows() * tailed.components, 0);
}

}  // namespace

void define_tails(nb::module_& module, nb::class_<PackedRows<double>>& doubles) {
    nb::class_<given::Tailed>(module, "Tailed")
        .def(nb::init<const Matrix<const double>&, const Matrix<const double>&, const Vector<const double>&,
                      const Vector<const double>&>(),
             nb::arg("location").noconvert(), nb::arg("whitening").noconvert(), nb::arg("degrees").noconvert(),
             nb::arg("constant").noconvert());
    doubles
        .def("tails_pass", &tails_pass, nb::arg("components"), nb::arg("kept"), nb::arg("labels").noconvert().none(),
             nb::arg("sums").noconvert().none())
        .def("tails_own_scores", &tails_own_scores, nb::arg("components"), nb::arg("labels").noconvert(),
             nb::arg("totals").noconvert());
}

}  // namespace kmle
