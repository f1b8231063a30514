// Passes over packed rows that score a component only where its margin may be gone.

#pragma once

#include <tuple>

#include "bindings/bounds_state.hpp"
#include "bindings/packed_rows.hpp"

namespace kmle {

// A task has at least this many visits.
constexpr std::size_t fewest_visits = 32;

// The spans whose limits are reached.
inline std::vector<std::size_t> spans_to_visit(const Spans& spans, const Step& step, std::size_t count) {
    // Without branches: it cannot be predicted which are to be visited.
    std::vector<std::size_t> visits(count + 1);
    std::size_t visited = 0;
    for (std::size_t s = 0; s < count; ++s) {
        visits[visited] = s;
        visited += static_cast<std::size_t>(!(spans.limits[s] > largest_drift(spans, step, s)));
    }
    visits.resize(visited);
    return visits;
}

// A hard pass over the spans whose margins may be gone; returns changes, scores computed, and rows examined where
// several components have rows.
template <class T>
std::tuple<std::int64_t, std::int64_t, std::int64_t> bounds_pass(const PackedRows<T>& rows, const Natural& natural,
                                                                 const Bias& bias, const given::Clusters& clusters,
                                                                 const Vector<float>& margins,
                                                                 const given::MarginBounds& bounds,
                                                                 const given::Step& given_step) {
    const nb::gil_scoped_release unlocked;
    const std::size_t components = natural.shape(0);
    rows.require_fit(natural, bias);
    clusters.require_fit(rows.rows(), components, rows.n_statistics());
    require_shape("margins", margins, {rows.rows()});
    bounds.require_fit(rows.rows(), components, rows.n_statistics());
    given_step.require_fit(components, bounds.width());
    const GroupedModel<float> in_single(natural, bias);
    const GroupedModel<double> in_double(natural, bias);
    const Model<float> single = in_single.view();
    const Model<double> precise = in_double.view();
    Spans spans = bounds.view();
    const Step step = given_step.view();
    const std::vector<std::size_t> visits = spans_to_visit(spans, step, bounds.limits.shape(0));
    spans.visits = visits.data();
    // Starting a task with many components costs as much as a few visits of each.
    const std::size_t worthwhile = visits.size() / (fewest_visits + components) + 1;
    const std::size_t count = std::min({most_tasks, affordable_tasks(rows.cells(components)), worthwhile});
    std::vector<std::size_t> edges;
    for (std::size_t t = 0; t <= count; ++t) edges.push_back(visits.size() * t / count);
    std::atomic<std::int64_t> scored{0}, strayed{0};
    const std::int64_t changed = rows.move_rows(edges, clusters, margins.data(), [&](HardTask& task) {
        chosen->packed<T>().bounds(rows.view(), single, precise, spans, step, task);
        scored += task.scored;
        strayed += task.strayed;
    });
    return {changed, scored, strayed};
}

// The log-likelihood of components with which a bounds pass has just been made.
template <class T>
std::pair<double, double> bounds_log_likelihood(const PackedRows<T>& rows, const Natural& natural, const Bias& bias,
                                                const Vector<const std::int32_t>& labels,
                                                const given::MarginBounds& bounds, const given::Step& given_step) {
    const nb::gil_scoped_release unlocked;
    rows.require_fit(natural, bias);
    require_shape("labels", labels, {rows.rows()});
    require_below("labels", labels, natural.shape(0), false);
    bounds.require_fit(rows.rows(), natural.shape(0), rows.n_statistics());
    given_step.require_fit(natural.shape(0), bounds.width());
    const GroupedModel<double> grouped(natural, bias);
    const Model<double> model = grouped.view();
    const Spans spans = bounds.view();
    const Step step = given_step.view();
    const std::vector<std::size_t> edges = rows.tasks(1, spans.rows_each / block_rows<T>);
    std::vector<SoftTask> work(edges.size() - 1);
    Pool::run(work.size(), rows.threads(), [&](std::size_t t) {
        work[t] = {edges[t], edges[t + 1], model.components, nullptr, nullptr, 0.0, 0.0, 0};
        chosen->packed<T>().bounds_log_likelihood(rows.view(), model, spans, step, labels.data(), work[t]);
    });
    return total_log_likelihood(work);
}

// Writes the radii of one in `every` balls, and adds the squares of the statistics about the centers where wanted.
template <class T>
void measure_balls(const PackedRows<T>& rows, const given::Balls& given_balls, std::size_t every,
                   const std::optional<Vector<double>>& squares) {
    const nb::gil_scoped_release unlocked;
    const std::size_t n_statistics = rows.n_statistics();
    given_balls.require_fit(rows.rows(), given_balls.centers.shape(0), n_statistics);
    require(every > 0, "every must be at least one.");
    if (squares) require_shape("squares", *squares, {n_statistics});
    const Balls balls = given_balls.view(every);
    const std::size_t spans = given_balls.anchors.shape(0), steps = rounded_up(spans, every) / every;
    const std::size_t tasks = std::min(steps, most_tasks);
    std::vector<double> partial(squares ? tasks * n_statistics : 0, 0.0);
    Pool::run(tasks, rows.threads(), [&](std::size_t t) {
        const std::size_t first = steps * t / tasks * every, last = std::min(spans, steps * (t + 1) / tasks * every);
        double* own = squares ? partial.data() + t * n_statistics : nullptr;
        chosen->packed<T>().balls(rows.view(), balls, first, last, own);
    });
    for (std::size_t c = 0; c < partial.size(); ++c) squares->data()[c % n_statistics] += partial[c];
}

}  // namespace kmle
