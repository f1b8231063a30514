// Passes over sparse rows (see sparse.hpp). Compiled once for each instruction set, without fused multiply-add.

#include "sparse/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/list.hpp"
#include "core/simd.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Vectors of scores that are held in registers while the entries of a row pass by.
constexpr std::size_t most_vectors = 8;
// The square of the rounding of doubles: a smaller share of a row changes no sum.
constexpr double smallest_share = 0x1p-104;
// Lines of parameters are fetched this many entries ahead.
constexpr std::size_t entries_ahead = 12;

// Scores of a row with the components of `count` vectors from `offset` on.
template <std::size_t count, class Value, class Index>
void add_entries(const SparseRows<Value, Index>& rows, std::size_t i, const SparseModel& model, std::size_t offset,
                 double* out) {
    Vec<double> score[count];
    for (std::size_t v = 0; v < count; ++v) score[v] = load(model.bias + offset + v * lanes<double>);
    const std::size_t last = rows.first(i + 1), end = rows.first(rows.rows);
    for (std::size_t e = rows.first(i); e < last; ++e) {
        const double* line = model.table + static_cast<std::size_t>(rows.columns[e]) * model.width + offset;
        if (e + entries_ahead < end) {
            const double* later =
                model.table + static_cast<std::size_t>(rows.columns[e + entries_ahead]) * model.width + offset;
            for (std::size_t v = 0; v < count * lanes<double>; v += line_components) __builtin_prefetch(later + v);
        }
        const Vec<double> value = broadcast(static_cast<double>(rows.values[e]));
        for (std::size_t v = 0; v < count; ++v) score[v] += value * load(line + v * lanes<double>);
    }
    for (std::size_t v = 0; v < count; ++v) store(out + offset + v * lanes<double>, score[v]);
}

template <class Value, class Index>
void score_row(const SparseRows<Value, Index>& rows, std::size_t i, const SparseModel& model, double* out) {
    for (std::size_t offset = 0; offset < model.width;) {
        const std::size_t vectors = std::min(most_vectors, (model.width - offset) / lanes<double>);
        switch (vectors) {
            case 1: add_entries<1>(rows, i, model, offset, out); break;
            case 2: add_entries<2>(rows, i, model, offset, out); break;
            case 3: add_entries<3>(rows, i, model, offset, out); break;
            case 4: add_entries<4>(rows, i, model, offset, out); break;
            case 5: add_entries<5>(rows, i, model, offset, out); break;
            case 6: add_entries<6>(rows, i, model, offset, out); break;
            case 7: add_entries<7>(rows, i, model, offset, out); break;
            default: add_entries<most_vectors>(rows, i, model, offset, out);
        }
        offset += vectors * lanes<double>;
    }
}

double highest_of(const double* scores, std::size_t width) {
    Vec<double> top = load(scores);
    for (std::size_t j = lanes<double>; j < width; j += lanes<double>) {
        const Vec<double> next = load(scores + j);
        top = next > top ? next : top;
    }
    return highest<double>(top);
}

template <class Value, class Index>
void label(const SparseRows<Value, Index>& rows, const SparseModel& model, std::size_t first, std::size_t last,
           std::int32_t* labels, double* best) {
    const auto scores = aligned<double>(model.width);
    for (std::size_t i = first; i < last; ++i) {
        score_row(rows, i, model, scores.get());
        const double top = highest_of(scores.get(), model.width);
        std::size_t j = 0;
        while (j + 1 < model.components && scores[j] != top) ++j;
        labels[i] = scores[j] == top ? static_cast<std::int32_t>(j) : 0;
        if (best) best[i] = top;
    }
}

// Leaves the highest scores, the lowest indices among equals, and makes the others -inf.
void keep(double* scores, std::size_t components, std::size_t kept, List<std::size_t>& order) {
    order.resize(components);
    for (std::size_t j = 0; j < components; ++j) order[j] = j;
    std::nth_element(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
        [&](std::size_t a, std::size_t b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); });
    for (std::size_t place = kept; place < components; ++place) scores[order[place]] = -infinity;
}

struct Exponentials {
    double total, weighted;  // sums of exp(s - top), and of (s - top) exp(s - top)
};

// Turns scores into exponentials relative to the highest.
Exponentials exponentials(double* scores, std::size_t width, double top) {
    constexpr std::size_t vectors = line_components / lanes<double>;
    const Vec<double> lowest = broadcast(-708.0), smallest = broadcast(smallest_share);
    Vec<double> total{}, weighted{};
    for (std::size_t j = 0; j < width; j += line_components) {
        Vec<double> x[vectors], below[vectors];
        for (std::size_t v = 0; v < vectors; ++v) {
            x[v] = load(scores + j + v * lanes<double>) - broadcast(top);
            below[v] = x[v] < lowest ? lowest : x[v];
        }
        exp_negative(x);
        for (std::size_t v = 0; v < vectors; ++v) {
            x[v] = x[v] < smallest ? Vec<double>{} : x[v];
            total += x[v];
            weighted += x[v] * below[v];
            store(scores + j + v * lanes<double>, x[v]);
        }
    }
    return {sum_of_lanes(total), sum_of_lanes(weighted)};
}

// What is wanted of row i, whose scores were turned into exponentials.
void report(const RowScores& out, std::size_t i, std::size_t components, const double* exponentials, double top,
            double total) {
    if (out.log_sums) out.log_sums[i] = top + std::log(total);
    if (out.tops) out.tops[i] = top;
    for (std::size_t j = 0; out.shares && j < components; ++j) out.shares[i * components + j] = exponentials[j] / total;
}

template <class Value, class Index>
void soften(const SparseRows<Value, Index>& rows, const SparseModel& model, SoftRows& task) {
    const auto own = aligned<double>(model.width);
    List<std::size_t> order;
    task.score = task.entropy = 0.0;
    for (std::size_t i = task.first; i < task.last; ++i) {
        double* scores = task.shares ? task.shares + (i - task.first) * model.width : own.get();
        score_row(rows, i, model, scores);
        if (task.rows && task.rows->scores)
            std::copy_n(scores, model.components, task.rows->scores + i * model.components);
        if (task.kept < model.components) keep(scores, model.components, task.kept, order);
        const double top = highest_of(scores, model.width), weight = rows.weight(i);
        const Exponentials sums = exponentials(scores, model.width, top);
        if (task.rows) {
            report(*task.rows, i, model.components, scores, top, sums.total);
            continue;
        }
        const double log_total = std::log(sums.total);
        task.score += weight * (top + log_total);
        task.entropy += weight * (log_total - sums.weighted / sums.total);
        const Vec<double> scale = broadcast(weight / sums.total);
        for (std::size_t j = 0; task.shares && j < model.width; j += lanes<double>)
            store(scores + j, load(scores + j) * scale);
    }
}

// One line of components: rows in which none of them has a share are passed over.
template <class Value, class Index>
void spread_line(const SparseRows<Value, Index>& rows, std::size_t first, std::size_t last, const double* shares,
                 std::size_t width, double* sums) {
    constexpr std::size_t vectors = line_components / lanes<double>;
    for (std::size_t i = first; i < last; ++i) {
        Vec<double> share[vectors];
        IntVec<double> some{};
        for (std::size_t v = 0; v < vectors; ++v) {
            share[v] = load(shares + (i - first) * width + v * lanes<double>);
            some |= share[v] != Vec<double>{};
        }
        if (!any(some)) continue;
        for (std::size_t e = rows.first(i); e < rows.first(i + 1); ++e) {
            double* line = sums + static_cast<std::size_t>(rows.columns[e]) * width;
            const Vec<double> value = broadcast(static_cast<double>(rows.values[e]));
            for (std::size_t v = 0; v < vectors; ++v)
                store(line + v * lanes<double>, load(line + v * lanes<double>) + value * share[v]);
        }
    }
}

}  // namespace

template <class Value, class Index>
void label_sparse(const SparseRows<Value, Index>& rows, const SparseModel& model, std::size_t first, std::size_t last,
                  std::int32_t* labels, double* best) {
    label(rows, model, first, last, labels, best);
}

template <class Value, class Index>
void soften_sparse(const SparseRows<Value, Index>& rows, const SparseModel& model, SoftRows& task) {
    soften(rows, model, task);
}

template <class Value, class Index>
void spread_sparse(const SparseRows<Value, Index>& rows, std::size_t first, std::size_t last, const double* shares,
                   std::size_t width, std::size_t low, std::size_t high, double* sums) {
    for (std::size_t j = low; j < high; j += line_components)
        spread_line(rows, first, last, shares + j, width, sums + j);
}

#define KMLE_INSTANTIATE(Value, Index)                                                                                 \
    template void label_sparse(const SparseRows<Value, Index>&, const SparseModel&, std::size_t, std::size_t,          \
                               std::int32_t*, double*);                                                                \
    template void soften_sparse(const SparseRows<Value, Index>&, const SparseModel&, SoftRows&);                       \
    template void spread_sparse(const SparseRows<Value, Index>&, std::size_t, std::size_t, const double*, std::size_t, \
                                std::size_t, std::size_t, double*);

KMLE_INSTANTIATE(double, std::int32_t)
KMLE_INSTANTIATE(double, std::int64_t)
KMLE_INSTANTIATE(float, std::int32_t)
KMLE_INSTANTIATE(float, std::int64_t)

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
