// EM of many mixtures of Gaussians, each under a covariance model, as part of the Python module.

#include "bindings/dense_passes.hpp"
#include "bindings/modules.hpp"
#include "gaussian/climb.hpp"

namespace kmle {
namespace given {

// What all steps depend on; see gaussian/climb.hpp.
struct ClimbSetting {
    Vector<const double> prior_moment, largest, spread;
    double prior_strength, prior_top, smallest, rounding, sum_log_carrier, score_error, arrived;
    std::size_t recent;
    double delay, largest_factor;
    bool hard;

    kmle::ClimbSetting view() const {
        return {spread.shape(0),
                prior_moment.shape(0),
                prior_moment.data(),
                largest.data(),
                spread.data(),
                prior_strength,
                prior_top,
                smallest,
                rounding,
                sum_log_carrier,
                score_error,
                arrived,
                recent,
                delay,
                largest_factor,
                hard};
    }

    void check() const {
        const std::size_t n_statistics = n_statistics_of(Features::quadratic, spread.shape(0));
        require(spread.shape(0) > 0, "spread must have at least one column.");
        require_shape("prior_moment", prior_moment, {n_statistics});
        require_shape("largest", largest, {n_statistics});
    }
};

// S mixtures of k components: where they are, and what passes with them found.
struct ClimbState {
    Vector<const std::int32_t> models;
    Matrix<double> natural, log_weights, counts, sums;
    Vector<double> objective;
    Matrix<double> counts_before, sums_before;
    Vector<double> streak;

    std::size_t mixtures() const { return models.shape(0); }
    std::size_t components() const { return log_weights.shape(1); }

    void check() const {
        const std::size_t S = mixtures(), k = components(), n_statistics = natural.shape(1);
        require(k > 0, "log_weights must have at least one component.");
        for (const auto* table : {&natural, &sums, &sums_before})
            require_shape("natural, sums and sums_before", *table, {S * k, n_statistics});
        for (const auto* table : {&log_weights, &counts, &counts_before})
            require_shape("log_weights, counts and counts_before", *table, {S, k});
        for (const auto* line : {&objective, &streak}) require_shape("objective and streak", *line, {S});
    }

    kmle::ClimbState view(std::size_t s) const {
        const std::size_t k = components(), D = natural.shape(1);
        return {natural.data() + s * k * D,     log_weights.data() + s * k, counts.data() + s * k,
                sums.data() + s * k * D,        objective.data() + s,       counts_before.data() + s * k,
                sums_before.data() + s * k * D, streak.data() + s};
    }
};

}  // namespace given

namespace {

// A pass over all rows with one mixture, in one piece.
template <class T>
class WholePass {
public:
    WholePass(PackedRows<T>& rows, std::size_t components, bool hard)
        : rows_(rows), components_(components), kept_(hard ? 1 : components) {}

    double operator()(const double* natural, const double* bias, double* counts, double* sums) const {
        const std::size_t D = rows_.n_statistics();
        const GroupedModel<double> grouped(natural, bias, components_, D);
        std::fill_n(counts, components_, 0.0);
        std::fill_n(sums, components_ * D, 0.0);
        SoftTask task = {0, rows_.blocks(), kept_, counts, sums, 0.0, 0.0, 0};
        run_soft(rows_, grouped.view(), task);
        return task.score;
    }

private:
    PackedRows<T>& rows_;
    std::size_t components_, kept_;
};

// At most `steps` steps of every mixture; the objectives after them go to `history` (S, steps), their numbers to `made`
// (S,), and to `reached` (S,) whether a mixture has arrived (1) or its next step is left to the caller (2).
template <class T>
void climb(PackedRows<T>& rows, const given::ClimbSetting& setting, const given::ClimbState& state,
           const Matrix<double>& history, const Vector<std::int32_t>& made, const Vector<std::uint8_t>& reached) {
    const nb::gil_scoped_release unlocked;
    require_shape("spread", setting.spread, {rows.columns()});
    require_shape("prior_moment", setting.prior_moment, {rows.n_statistics()});
    require_shape("natural", state.natural, {state.natural.shape(0), rows.n_statistics()});
    require_below("models", state.models, n_covariance_models, false);
    const std::size_t mixtures = state.mixtures(), steps = history.shape(1);
    require_shape("history", history, {mixtures, steps});
    require_shape("made", made, {mixtures});
    require_shape("reached", reached, {mixtures});
    const kmle::ClimbSetting given = setting.view();
    const std::size_t products = rows.rows() * mixtures * rows.cells(state.components()) * steps;
    Pool::run(mixtures, products < fewest_products ? 1 : rows.threads(), [&](std::size_t s) {
        const WholePass<T> pass(rows, state.components(), given.hard);
        Climb<WholePass<T>> one(given, state.components(), pass);
        const Reached found = one.run(covariance_models[state.models.data()[s]], state.view(s), steps,
                                      history.data() + s * steps, made.data()[s]);
        reached.data()[s] = static_cast<std::uint8_t>(found);
    });
}

template <class T>
void define(nb::class_<PackedRows<T>>& rows) {
    rows.def("climb", &climb<T>, nb::arg("setting"), nb::arg("state"), nb::arg("history").noconvert(),
             nb::arg("made").noconvert(), nb::arg("reached").noconvert());
}

}  // namespace

void define_climbs(nb::module_& module, nb::class_<PackedRows<double>>& doubles,
                   nb::class_<PackedRows<float>>& singles) {
    using Line = Vector<const double>;
    nb::class_<given::ClimbSetting>(module, "ClimbSetting")
        .def(
            "__init__",
            [](given::ClimbSetting* self, const Line& prior_moment, const Line& largest, const Line& spread,
               double prior_strength, double prior_top, double smallest, double rounding, double sum_log_carrier,
               double score_error, double arrived, std::size_t recent, double delay, double largest_factor, bool hard) {
                new (self) given::ClimbSetting{
                    prior_moment,    largest,     spread,  prior_strength, prior_top, smallest,       rounding,
                    sum_log_carrier, score_error, arrived, recent,         delay,     largest_factor, hard};
                self->check();
            },
            nb::arg("prior_moment").noconvert(), nb::arg("largest").noconvert(), nb::arg("spread").noconvert(),
            nb::arg("prior_strength"), nb::arg("prior_top"), nb::arg("smallest"), nb::arg("rounding"),
            nb::arg("sum_log_carrier"), nb::arg("score_error"), nb::arg("arrived"), nb::arg("recent"), nb::arg("delay"),
            nb::arg("largest_factor"), nb::arg("hard"));
    using Table = Matrix<double>;
    nb::class_<given::ClimbState>(module, "ClimbState")
        .def(
            "__init__",
            [](given::ClimbState* self, const Vector<const std::int32_t>& models, const Table& natural,
               const Table& log_weights, const Table& counts, const Table& sums, const Vector<double>& objective,
               const Table& counts_before, const Table& sums_before, const Vector<double>& streak) {
                new (self) given::ClimbState{models,    natural,       log_weights, counts, sums,
                                             objective, counts_before, sums_before, streak};
                self->check();
            },
            nb::arg("models").noconvert(), nb::arg("natural").noconvert(), nb::arg("log_weights").noconvert(),
            nb::arg("counts").noconvert(), nb::arg("sums").noconvert(), nb::arg("objective").noconvert(),
            nb::arg("counts_before").noconvert(), nb::arg("sums_before").noconvert(), nb::arg("streak").noconvert());
    define(doubles);
    define(singles);
}

}  // namespace kmle
