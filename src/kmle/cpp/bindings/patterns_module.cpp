// Passes of Gaussians over rows with missing entries, as part of the Python module.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bindings/modules.hpp"
#include "bindings/pattern_rows.hpp"

namespace kmle {
namespace given {

// Means (k, d), covariances (k, d, d) and log-weights (k,) as Python holds them.
struct Gaussians {
    Matrix<const double> mean;
    Cube covariance;
    Vector<const double> log_weights;

    Gaussians(const Matrix<const double>& mean, const Cube& covariance, const Vector<const double>& log_weights)
        : mean(mean), covariance(covariance), log_weights(log_weights) {
        const std::size_t k = log_weights.shape(0), d = mean.shape(1);
        require_shape("mean", mean, {k, d});
        require_shape("covariance", covariance, {k, d, d});
    }

    PatternComponents laid_out(std::size_t columns) const {
        require_shape("mean", mean, {log_weights.shape(0), columns});
        return {mean, covariance, log_weights};
    }
};

// Counts (k,), rows less the means (k, d) and their products (k, d, d), all expected.
struct Expected {
    Vector<double> counts;
    Matrix<double> delta;
    Contiguous<double, 3> scatter;

    Expected(const Vector<double>& counts, const Matrix<double>& delta, const Contiguous<double, 3>& scatter)
        : counts(counts), delta(delta), scatter(scatter) {
        const std::size_t k = counts.shape(0), d = delta.shape(1);
        require_shape("delta", delta, {k, d});
        require_shape("scatter", scatter, {k, d, d});
    }
};

}  // namespace given

namespace {

// What the pieces of each task add up to, [column][component] as the passes have it.
class Expectations {
public:
    Expectations(const PatternRows& rows, const PatternComponents& components)
        : components_(components), size_(components.columns * (components.columns + 1) * components.padded()),
          values_(zeros<double>(rows.tasks() * size_)), counts_(rows.tasks() * components.count, 0.0) {}

    void add(std::size_t task, const PatternRows::Sight& sight, const double* counts, const double* sums) {
        double* delta = values_.get() + task * size_;
        sight.complete(counts, sums, delta, delta + components_.columns * components_.padded());
        for (std::size_t j = 0; j < components_.count; ++j) counts_[task * components_.count + j] += counts[j];
    }

    void put(const given::Expected& out) const {
        const std::size_t k = components_.count, d = components_.columns, padded = components_.padded();
        for (std::size_t t = 0; t * k < counts_.size(); ++t) {
            const double *delta = values_.get() + t * size_, *scatter = delta + d * padded;
            for (std::size_t j = 0; j < k; ++j) {
                out.counts.data()[j] += counts_[t * k + j];
                for (std::size_t a = 0; a < d; ++a) out.delta.data()[j * d + a] += delta[a * padded + j];
                for (std::size_t c = 0; c < d * d; ++c) out.scatter.data()[j * d * d + c] += scatter[c * padded + j];
            }
        }
    }

private:
    const PatternComponents& components_;
    std::size_t size_;
    Aligned<double> values_;
    std::vector<double> counts_;
};

void require_fit(const given::Expected& out, const PatternComponents& components) {
    require_shape("delta", out.delta, {components.count, components.columns});
}

// Adds what rows are expected to add up to by responsibility, and the scores of the mixtures.
void pattern_soft_passes(PatternRows& rows, const given::Gaussians& gaussians, std::size_t mixtures, std::size_t kept,
                         const given::Expected& out, const Vector<double>& scores) {
    const nb::gil_scoped_release unlocked;
    const PatternComponents components = gaussians.laid_out(rows.columns());
    const std::size_t k = components.count, width = rows.cells(k);
    require_fit(out, components);
    require(mixtures > 0 && k % mixtures == 0, "mixtures must have the same number of components each.");
    require_kept(kept, k / mixtures);
    require_shape("scores", scores, {mixtures});
    Expectations expectations(rows, components);
    std::vector<double> found(rows.pieces() * mixtures, 0.0);
    rows.each(components, [&](std::size_t i, const PatternRows::Sight& sight, std::size_t t) {
        const GroupedModel<double> grouped = sight.grouped<double>();
        const BoundedForm form(sight.form(), 0, grouped.view());
        std::vector<double> totals(width, 0.0);
        const Piece& piece = rows.piece(i);
        SoftTask task = {
            piece.first_block, piece.last_block,           kept, totals.data(), totals.data() + k, 0.0, 0.0, 0, nullptr,
            mixtures,          found.data() + i * mixtures};
        chosen->packed<double>().soft(sight.packed(), grouped.view(form.view()), task);
        rows.count_rescored(task.rescored);
        expectations.add(t, sight, totals.data(), totals.data() + k);
    });
    expectations.put(out);
    for (std::size_t i = 0; i < found.size(); ++i) scores.data()[i % mixtures] += found[i];
}

// Adds the sums of log p over the rows of each component of a piece, whose rows add up to these counts and sums.
void add_fits(PatternRows& rows, const Piece& piece, const PatternRows::Sight& sight, const std::int32_t* labels,
              const double* sums, const double* log_weights, std::size_t k, double* fits) {
    const std::size_t n_statistics = rows.n_statistics();
    if (sight.form()) {
        OwnTask task = {piece.first_block, piece.last_block, labels + sight.first(), fits, 0};
        chosen->packed<double>().own_scores(sight.packed(), sight.form()->view(0), k, task);
        rows.count_rescored(task.scored);
        for (std::size_t j = 0; j < k; ++j)
            if (sums[j] > 0.0) fits[j] -= sums[j] * log_weights[j];
        return;
    }
    for (std::size_t j = 0; j < k; ++j) {
        if (!(sums[j] > 0.0)) continue;
        fits[j] += sums[j] * sight.constant(j);
        for (std::size_t f = 0; f < n_statistics; ++f) fits[j] += sums[k + j * n_statistics + f] * sight.natural(j, f);
    }
}

void put_fits(const std::vector<double>& found, const Vector<double>& fits) {
    for (std::size_t c = 0; c < found.size(); ++c) fits.data()[c % fits.shape(0)] += found[c];
}

// Labels rows, and adds what they are expected to add up to and the sums of log p over the rows of each component.
void pattern_hard_pass(PatternRows& rows, const given::Gaussians& gaussians, const Vector<std::int32_t>& labels,
                       const given::Expected& out, const Vector<double>& fits) {
    const nb::gil_scoped_release unlocked;
    const PatternComponents components = gaussians.laid_out(rows.columns());
    const std::size_t k = components.count;
    require_fit(out, components);
    require_shape("labels", labels, {rows.rows()});
    require_shape("fits", fits, {k});
    Expectations expectations(rows, components);
    std::vector<double> found(rows.tasks() * k, 0.0);
    const std::unique_lock<std::mutex> alone = rows.open_label_sums(k, true);
    rows.each(components, [&](std::size_t i, const PatternRows::Sight& sight, std::size_t t) {
        const GroupedModel<float> single = sight.grouped<float>();
        const GroupedModel<double> grouped = sight.grouped<double>();
        const BoundedForm form(sight.form(), 0, grouped.view());
        const Piece& piece = rows.piece(i);
        HardTask task = {piece.first_block,
                         piece.last_block,
                         labels.data() + sight.first(),
                         true,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         0,
                         0,
                         0,
                         0};
        chosen->packed<double>().hard(sight.packed(), single.view(), grouped.view(form.view()), task);
        rows.count_rescored(task.rescored);
        const std::vector<double> sums = rows.label_sums(i, labels.data(), k, true);
        expectations.add(t, sight, sums.data(), sums.data() + k);
        add_fits(rows, piece, sight, labels.data(), sums.data(), components.log_weights, k, found.data() + t * k);
    });
    expectations.put(out);
    put_fits(found, fits);
}

// Adds the sums of log p over the rows of each component by given labels.
void pattern_fits(PatternRows& rows, const given::Gaussians& gaussians, const Vector<const std::int32_t>& labels,
                  const Vector<double>& fits) {
    const nb::gil_scoped_release unlocked;
    const PatternComponents components = gaussians.laid_out(rows.columns());
    const std::size_t k = components.count;
    require_shape("labels", labels, {rows.rows()});
    require_below("labels", labels, k, false);
    require_shape("fits", fits, {k});
    std::vector<double> found(rows.tasks() * k, 0.0);
    const std::unique_lock<std::mutex> alone = rows.open_label_sums(k, false);
    rows.each(components, [&](std::size_t i, const PatternRows::Sight& sight, std::size_t t) {
        const std::vector<double> sums = rows.label_sums(i, labels.data(), k, false);
        add_fits(rows, rows.piece(i), sight, labels.data(), sums.data(), components.log_weights, k,
                 found.data() + t * k);
    });
    put_fits(found, fits);
}

// The weighted sums of the rows' log-sum-exp of scores and of the entropies of their responsibilities.
std::pair<double, double> pattern_log_likelihood(PatternRows& rows, const given::Gaussians& gaussians) {
    const nb::gil_scoped_release unlocked;
    const PatternComponents components = gaussians.laid_out(rows.columns());
    std::vector<SoftTask> tasks(rows.pieces());
    rows.each(components, [&](std::size_t i, const PatternRows::Sight& sight, std::size_t) {
        const GroupedModel<double> grouped = sight.grouped<double>();
        const BoundedForm form(sight.form(), 0, grouped.view());
        tasks[i] = {
            rows.piece(i).first_block, rows.piece(i).last_block, components.count, nullptr, nullptr, 0.0, 0.0, 0};
        chosen->packed<double>().soft(sight.packed(), grouped.view(form.view()), tasks[i]);
    });
    return total_log_likelihood(tasks);
}

// What is reported of each row by itself; weights do not count.
void pattern_row_scores(PatternRows& rows, const given::Gaussians& gaussians, const given::RowScores& out) {
    const nb::gil_scoped_release unlocked;
    const PatternComponents components = gaussians.laid_out(rows.columns());
    const std::size_t k = components.count;
    out.require_fit(rows.rows(), k);
    const RowScores wanted = out.view(false);
    rows.each(components, [&](std::size_t i, const PatternRows::Sight& sight, std::size_t) {
        const GroupedModel<double> grouped = sight.grouped<double>();
        const BoundedForm form(sight.form(), 0, grouped.view());
        const std::size_t first = sight.first();
        const RowScores own = {wanted.log_sums ? wanted.log_sums + first : nullptr,
                               wanted.tops ? wanted.tops + first : nullptr,
                               wanted.shares ? wanted.shares + first * k : nullptr,
                               wanted.scores ? wanted.scores + first * k : nullptr, false};
        SoftTask task = {rows.piece(i).first_block, rows.piece(i).last_block, k, nullptr, nullptr, 0.0, 0.0, 0, &own};
        chosen->packed<double>().soft(sight.packed(), grouped.view(form.view()), task);
        rows.count_rescored(task.rescored);
    });
}

}  // namespace

void define_patterns(nb::module_& module) {
    nb::class_<given::Gaussians>(module, "Gaussians")
        .def(nb::init<const Matrix<const double>&, const Cube&, const Vector<const double>&>(),
             nb::arg("mean").noconvert(), nb::arg("covariance").noconvert(), nb::arg("log_weights").noconvert());
    nb::class_<given::Expected>(module, "Expected")
        .def(nb::init<const Vector<double>&, const Matrix<double>&, const Contiguous<double, 3>&>(),
             nb::arg("counts").noconvert(), nb::arg("delta").noconvert(), nb::arg("scatter").noconvert());
    nb::class_<PatternRows>(module, "PatternRows")
        .def(nb::init<std::size_t, const Vector<const std::int64_t>&, const Matrix<const std::uint8_t>&,
                      const std::optional<Vector<const double>>&, std::size_t>(),
             nb::arg("columns"), nb::arg("ends").noconvert(), nb::arg("holes").noconvert(),
             nb::arg("weights").noconvert().none(), nb::arg("threads"))
        .def("load", &PatternRows::load, nb::arg("first"), nb::arg("rows").noconvert())
        .def("work", &PatternRows::work)
        .def("soft_passes", &pattern_soft_passes, nb::arg("gaussians"), nb::arg("mixtures"), nb::arg("kept"),
             nb::arg("expected"), nb::arg("scores").noconvert())
        .def("hard_pass", &pattern_hard_pass, nb::arg("gaussians"), nb::arg("labels").noconvert(), nb::arg("expected"),
             nb::arg("fits").noconvert())
        .def("fits", &pattern_fits, nb::arg("gaussians"), nb::arg("labels").noconvert(), nb::arg("fits").noconvert())
        .def("log_likelihood", &pattern_log_likelihood, nb::arg("gaussians"))
        .def("row_scores", &pattern_row_scores, nb::arg("gaussians"), nb::arg("out"));
}

}  // namespace kmle
