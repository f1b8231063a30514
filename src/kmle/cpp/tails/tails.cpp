// Passes over rows with heavy-tailed components (see tails.hpp). Compiled once for each instruction set.

#include "tails/tails.hpp"

#include "dense/responsibilities.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {
namespace {

constexpr std::size_t width = lanes<double>, vectors = soft_rows / width;
// Squares beyond this are as good as this: what follows from them stays finite.
constexpr double largest_square = 1e300;

// One block of rows, scored with all components.
class Block {
public:
    explicit Block(const Tailed& tailed)
        : tailed_(tailed), gaps_(tailed.columns * soft_rows), white_(tailed.columns * soft_rows),
          scaled_(tailed.columns * soft_rows), logs_(tailed.components * soft_rows),
          scales_(tailed.components * soft_rows) {}

    // The scores [component][row] of the rows of a block.
    void score(const double* values, double* scores) {
        for (std::size_t j = 0; j < tailed_.components; ++j) score_with(j, values, scores + j * soft_rows);
    }

    // The scores [row] with one component.
    void score_with(std::size_t j, const double* values, double* scores) {
        if (!tailed_.active(j)) {
            std::fill_n(scores, soft_rows, -std::numeric_limits<double>::infinity());
            return;
        }
        Vec<double> square[vectors];
        whiten(j, values, square);
        const double degrees = tailed_.degrees[j], half = 0.5 * (degrees + static_cast<double>(tailed_.columns));
        const Vec<double> constant = broadcast(tailed_.constant[j]);
        double *logs = logs_.get() + j * soft_rows, *scales = scales_.get() + j * soft_rows;
        if (!(degrees <= std::numeric_limits<double>::max())) {
            for (std::size_t v = 0; v < vectors; ++v) {
                store(scores + v * width, constant - broadcast(0.5) * square[v]);
                store(logs + v * width, Vec<double>{});
                store(scales + v * width, broadcast(1.0));
            }
            return;
        }
        const Vec<double> inverse = broadcast(1.0 / degrees), most = broadcast(2.0 * half / degrees);
        for (std::size_t v = 0; v < vectors; ++v) {
            square[v] = square[v] * inverse + broadcast(1.0);
            store(scales + v * width, most / square[v]);
        }
        log_above_one(square);
        for (std::size_t v = 0; v < vectors; ++v) {
            store(scores + v * width, constant - broadcast(half) * square[v]);
            store(logs + v * width, square[v]);
        }
    }

    // Adds the rows to the sums [cell] of a component, lane by lane, by these shares [row]. The block was scored
    // before.
    void add(std::size_t j, const double* values, const double* shares, Vec<double>* sums) {
        IntVec<double> some{};
        for (std::size_t v = 0; v < vectors; ++v) some |= load(shares + v * width) != Vec<double>{};
        if (!any(some)) return;
        Vec<double> square[vectors], weight[vectors];
        whiten(j, values, square);
        const double *logs = logs_.get() + j * soft_rows, *scales = scales_.get() + j * soft_rows;
        for (std::size_t v = 0; v < vectors; ++v) {
            const Vec<double> share = load(shares + v * width);
            weight[v] = share * load(scales + v * width);
            sums[0] += share;
            sums[1] += weight[v];
            sums[2] += share * load(logs + v * width);
        }
        Vec<double>*first = sums + 3, *second = first + tailed_.columns;
        for (std::size_t a = 0; a < tailed_.columns; ++a) {
            double* scaled = scaled_.get() + a * soft_rows;
            for (std::size_t v = 0; v < vectors; ++v) {
                const Vec<double> value = weight[v] * load(white_.get() + a * soft_rows + v * width);
                store(scaled + v * width, value);
                first[a] += value;
            }
            for (std::size_t b = 0; b <= a; ++b, ++second) {
                Vec<double> total = *second;
                for (std::size_t v = 0; v < vectors; ++v)
                    total += load(scaled + v * width) * load(white_.get() + b * soft_rows + v * width);
                *second = total;
            }
        }
    }

private:
    // W (x - m), [column][row], and its squares.
    void whiten(std::size_t j, const double* values, Vec<double> (&square)[vectors]) {
        const double *location = tailed_.location + j * tailed_.columns,
                     *whitening = tailed_.whitening + j * tailed_.triangle();
        for (std::size_t v = 0; v < vectors; ++v) square[v] = Vec<double>{};
        for (std::size_t a = 0; a < tailed_.columns; ++a) {
            double *gaps = gaps_.get() + a * soft_rows, *white = white_.get() + a * soft_rows;
            Vec<double> sum[vectors];
            for (std::size_t v = 0; v < vectors; ++v) {
                store(gaps + v * width, load(values + a * soft_rows + v * width) - broadcast(location[a]));
                sum[v] = Vec<double>{};
            }
            for (std::size_t b = 0; b <= a; ++b, ++whitening)
                for (std::size_t v = 0; v < vectors; ++v)
                    sum[v] += broadcast(*whitening) * load(gaps_.get() + b * soft_rows + v * width);
            for (std::size_t v = 0; v < vectors; ++v) {
                store(white + v * width, sum[v]);
                square[v] += sum[v] * sum[v];
            }
        }
        for (std::size_t v = 0; v < vectors; ++v) square[v] = lower_of(square[v], broadcast(largest_square));
    }

    const Tailed& tailed_;
    Buffer<double> gaps_, white_, scaled_, logs_, scales_;
};

// Gives rows to their best components: their scores become shares, of one or none.
void give_to_best(double* scores, std::size_t components, const double* weights, std::size_t count,
                  std::int32_t* labels, LogLikelihood& log_likelihood) {
    alignas(64) double tops[soft_rows];
    std::int32_t best[soft_rows];
    find_best(scores, components, best, tops);
    std::copy_n(best, count, labels);
    std::fill_n(scores, components * soft_rows, 0.0);
    for (std::size_t r = 0; r < count; ++r) {
        const double weight = weights ? weights[r] : 1.0;
        log_likelihood.add_best(weight, tops[r]);
        scores[static_cast<std::size_t>(best[r]) * soft_rows + r] = weight;
    }
}

}  // namespace

void tails(const Packed<double>& packed, const Tailed& tailed, TailsTask& task) {
    const std::size_t components = tailed.components, cells = tailed.cells();
    Block block(tailed);
    Buffer<double> scores(components * soft_rows), scratch(components);
    Buffer<Vec<double>> sums(task.sums ? components * cells : 0);
    LogLikelihood log_likelihood;
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * soft_rows, count = std::min(soft_rows, packed.rows - first);
        const double *values = packed.block(b), *weights = packed.weights ? packed.weights + first : nullptr;
        block.score(values, scores.get());
        if (!task.sums) {
            add_log_likelihood(scores.get(), components, weights, count, log_likelihood);
            continue;
        }
        if (task.labels) {
            give_to_best(scores.get(), components, weights, count, task.labels + first, log_likelihood);
        } else {
            for (std::size_t r = 0; task.kept < components && r < count; ++r)
                keep_largest(scores.get() + r, components, task.kept, scratch.get());
            to_responsibilities(scores.get(), components, weights, count, nullptr, log_likelihood);
        }
        for (std::size_t j = 0; j < components; ++j)
            if (tailed.active(j)) block.add(j, values, scores.get() + j * soft_rows, sums.get() + j * cells);
    }
    log_likelihood.finish(task);
    for (std::size_t c = 0; task.sums && c < components * cells; ++c) task.sums[c] = sum_of_lanes(sums.get()[c]);
}

void tails_own_scores(const Packed<double>& packed, const Tailed& tailed, TailsOwnTask& task) {
    Block block(tailed);
    Buffer<double> scores(soft_rows);
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * soft_rows, count = std::min(soft_rows, packed.rows - first);
        const std::int32_t* labels = task.labels + first;
        for (std::size_t j = 0; j < tailed.components; ++j) {
            const std::int32_t name = static_cast<std::int32_t>(j);
            if (std::find(labels, labels + count, name) == labels + count) continue;
            block.score_with(j, packed.block(b), scores.get());
            for (std::size_t r = 0; r < count; ++r)
                if (labels[r] == name) task.totals[j] += packed.weight(first + r) * scores.get()[r];
        }
    }
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
