// Passes over rows with heavy-tailed components (see tails.hpp). Compiled once for each instruction set.

#include "tails/tails.hpp"

#include "dense/responsibilities.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {
namespace {

constexpr std::size_t width = lanes<double>, vectors = soft_rows / width;
// Squares beyond this are as good as this: what follows from them stays finite.
constexpr double largest_square = 1e300;
// Rows are whitened once, and not again for sums, where all components leave no more than this: it stays in the cache.
constexpr std::size_t most_whitened = 1 << 17;

// One block of rows, scored with all components.
class Block {
public:
    explicit Block(const Tailed& tailed)
        : tailed_(tailed), keeps_(tailed.components * tailed.columns * soft_rows <= most_whitened),
          gaps_(tailed.columns * soft_rows), white_((keeps_ ? tailed.components : 1) * tailed.columns * soft_rows),
          scaled_(tailed.columns * soft_rows), logs_(tailed.components * soft_rows),
          scales_(tailed.components * soft_rows) {}

    // The scores [component][row] of the rows of a block.
    void score(const double* values, double* scores) {
        for (std::size_t j = 0; j < tailed_.components; ++j) score_with(j, values, scores + j * soft_rows);
    }

    // The same where no sums follow.
    void score_alone(const double* values, double* scores) {
        for (std::size_t j = 0; j < tailed_.components; ++j) score_with<false>(j, values, scores + j * soft_rows);
    }

    // The scores [row] with one component; what sums need of them is kept unless none follow.
    template <bool keeps = true>
    void score_with(std::size_t j, const double* values, double* scores) {
        if (!tailed_.active(j)) {
            std::fill_n(scores, soft_rows, -std::numeric_limits<double>::infinity());
            return;
        }
        Vec<double> square[vectors];
        whiten<keeps>(j, values, square);
        const double degrees = tailed_.degrees[j], half = 0.5 * (degrees + static_cast<double>(tailed_.columns));
        const Vec<double> constant = broadcast(tailed_.constant[j]);
        double *logs = logs_.get() + j * soft_rows, *scales = scales_.get() + j * soft_rows;
        if (!(degrees <= std::numeric_limits<double>::max())) {
            for (std::size_t v = 0; v < vectors; ++v) {
                store(scores + v * width, constant - broadcast(0.5) * square[v]);
                if (!keeps) continue;
                store(logs + v * width, Vec<double>{});
                store(scales + v * width, broadcast(1.0));
            }
            return;
        }
        const Vec<double> inverse = broadcast(1.0 / degrees), most = broadcast(2.0 * half / degrees);
        for (std::size_t v = 0; v < vectors; ++v) {
            square[v] = square[v] * inverse + broadcast(1.0);
            if (keeps) store(scales + v * width, most / square[v]);
        }
        log_above_one(square);
        for (std::size_t v = 0; v < vectors; ++v) {
            store(scores + v * width, constant - broadcast(half) * square[v]);
            if (keeps) store(logs + v * width, square[v]);
        }
    }

    // Adds the rows to the sums [cell] of a component, lane by lane, by these shares [row]. The block was scored
    // before.
    void add(std::size_t j, const double* values, const double* shares, Vec<double>* sums) {
        IntVec<double> some{};
        for (std::size_t v = 0; v < vectors; ++v) some |= load(shares + v * width) != Vec<double>{};
        if (!any(some)) return;
        Vec<double> weight[vectors];
        if (!keeps_) {
            Vec<double> square[vectors];
            whiten<true>(j, values, square);
        }
        const double *logs = logs_.get() + j * soft_rows, *scales = scales_.get() + j * soft_rows, *white = white_of(j);
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
                const Vec<double> value = weight[v] * load(white + a * soft_rows + v * width);
                store(scaled + v * width, value);
                first[a] += value;
            }
            for (std::size_t b = 0; b <= a; ++b, ++second) {
                Vec<double> total = *second;
                for (std::size_t v = 0; v < vectors; ++v)
                    total += load(scaled + v * width) * load(white + b * soft_rows + v * width);
                *second = total;
            }
        }
    }

private:
    // Where W (x - m) of a component is, [column][row].
    double* white_of(std::size_t j) { return white_.get() + (keeps_ ? j : 0) * tailed_.columns * soft_rows; }

    // W (x - m), which is kept or not, and its squares.
    template <bool keeps>
    void whiten(std::size_t j, const double* values, Vec<double> (&square)[vectors]) {
        const double *location = tailed_.location + j * tailed_.columns,
                     *whitening = tailed_.whitening + j * tailed_.triangle();
        for (std::size_t v = 0; v < vectors; ++v) square[v] = Vec<double>{};
        for (std::size_t a = 0; a < tailed_.columns; ++a) {
            double *gaps = gaps_.get() + a * soft_rows, *white = white_of(j) + a * soft_rows;
            Vec<double> sum[vectors];
            for (std::size_t v = 0; v < vectors; ++v) {
                store(gaps + v * width, load(values + a * soft_rows + v * width) - broadcast(location[a]));
                sum[v] = Vec<double>{};
            }
            for (std::size_t b = 0; b <= a; ++b, ++whitening)
                for (std::size_t v = 0; v < vectors; ++v)
                    sum[v] += broadcast(*whitening) * load(gaps_.get() + b * soft_rows + v * width);
            for (std::size_t v = 0; v < vectors; ++v) {
                if (keeps) store(white + v * width, sum[v]);
                square[v] += sum[v] * sum[v];
            }
        }
        for (std::size_t v = 0; v < vectors; ++v) square[v] = lower_of(square[v], broadcast(largest_square));
    }

    const Tailed& tailed_;
    bool keeps_;
    Buffer<double> gaps_, white_, scaled_, logs_, scales_;
};

// Rows that count for one component each, gathered into a block for each component: these are whitened once, and not
// with every component that has a row near them.
class Gathered {
public:
    Gathered(std::size_t components, std::size_t columns)
        : columns_(columns), values_(components * columns * soft_rows), weights_(components * soft_rows),
          sizes_(components) {}

    // Adds row r of a block. Returns whether the component's block is full: it is then to be used, and emptied.
    bool add(std::size_t j, const double* values, std::size_t r, double weight) {
        const std::size_t place = sizes_.get()[j]++;
        double* own = values_.get() + j * columns_ * soft_rows + place;
        for (std::size_t a = 0; a < columns_; ++a) own[a * soft_rows] = values[a * soft_rows + r];
        weights_.get()[j * soft_rows + place] = weight;
        return place + 1 == soft_rows;
    }

    // The rows [column][row] of a component and their weights [row], zero past the last one.
    const double* values(std::size_t j) const { return values_.get() + j * columns_ * soft_rows; }
    const double* weights(std::size_t j) const { return weights_.get() + j * soft_rows; }
    bool any(std::size_t j) const { return sizes_.get()[j] > 0; }

    void empty(std::size_t j) {
        sizes_.get()[j] = 0;
        std::fill_n(weights_.get() + j * soft_rows, soft_rows, 0.0);
    }

private:
    std::size_t columns_;
    Buffer<double> values_, weights_;
    Buffer<std::size_t> sizes_;
};

// Uses the gathered rows of a component, scored with it, and removes them.
template <class Use>
void use_gathered(Gathered& gathered, Block& block, std::size_t j, double* scores, Use use) {
    block.score_with(j, gathered.values(j), scores);
    use(j, gathered.values(j), gathered.weights(j));
    gathered.empty(j);
}

void soft(const Packed<double>& packed, const Tailed& tailed, TailsTask& task, Block& block, Vec<double>* sums,
          LogLikelihood& log_likelihood) {
    const std::size_t components = tailed.components, cells = tailed.cells();
    Buffer<double> scores(components * soft_rows), scratch(components);
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * soft_rows, count = std::min(soft_rows, packed.rows - first);
        const double *values = packed.block(b), *weights = packed.weights ? packed.weights + first : nullptr;
        if (!task.sums) {
            block.score_alone(values, scores.get());
            add_log_likelihood(scores.get(), components, weights, count, log_likelihood);
            continue;
        }
        block.score(values, scores.get());
        for (std::size_t r = 0; task.kept < components && r < count; ++r)
            keep_largest(scores.get() + r, components, task.kept, scratch.get());
        to_responsibilities(scores.get(), components, weights, count, nullptr, log_likelihood);
        for (std::size_t j = 0; j < components; ++j)
            if (tailed.active(j)) block.add(j, values, scores.get() + j * soft_rows, sums + j * cells);
    }
}

void hard(const Packed<double>& packed, const Tailed& tailed, TailsTask& task, Block& block, Vec<double>* sums,
          LogLikelihood& log_likelihood) {
    const std::size_t components = tailed.components, cells = tailed.cells();
    Buffer<double> scores(components * soft_rows), own_scores(soft_rows);
    Gathered gathered(components, tailed.columns);
    const auto add = [&](std::size_t j, const double* values, const double* weights) {
        if (tailed.active(j)) block.add(j, values, weights, sums + j * cells);
    };
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * soft_rows, count = std::min(soft_rows, packed.rows - first);
        const double* values = packed.block(b);
        alignas(64) double tops[soft_rows];
        std::int32_t best[soft_rows];
        block.score_alone(values, scores.get());
        find_best(scores.get(), components, best, tops);
        std::copy_n(best, count, task.labels + first);
        for (std::size_t r = 0; r < count; ++r) {
            const double weight = packed.weight(first + r);
            const std::size_t j = static_cast<std::size_t>(best[r]);
            log_likelihood.add_best(weight, tops[r]);
            if (gathered.add(j, values, r, weight)) use_gathered(gathered, block, j, own_scores.get(), add);
        }
    }
    for (std::size_t j = 0; j < components; ++j)
        if (gathered.any(j)) use_gathered(gathered, block, j, own_scores.get(), add);
}

}  // namespace

void tails(const Packed<double>& packed, const Tailed& tailed, TailsTask& task) {
    const std::size_t cells = task.sums ? tailed.components * tailed.cells() : 0;
    Block block(tailed);
    Buffer<Vec<double>> sums(cells);
    LogLikelihood log_likelihood;
    (task.labels ? hard : soft)(packed, tailed, task, block, sums.get(), log_likelihood);
    log_likelihood.finish(task);
    for (std::size_t c = 0; c < cells; ++c) task.sums[c] = sum_of_lanes(sums.get()[c]);
}

void tails_own_scores(const Packed<double>& packed, const Tailed& tailed, TailsOwnTask& task) {
    Block block(tailed);
    Gathered gathered(tailed.components, tailed.columns);
    Buffer<double> scores(soft_rows);
    const auto add = [&](std::size_t j, const double*, const double* weights) {
        for (std::size_t r = 0; r < soft_rows; ++r)
            if (weights[r] != 0.0) task.totals[j] += weights[r] * scores.get()[r];
    };
    for (std::size_t b = task.first_block; b < task.last_block; ++b) {
        const std::size_t first = b * soft_rows, count = std::min(soft_rows, packed.rows - first);
        for (std::size_t r = 0; r < count; ++r) {
            if (task.labels[first + r] < 0) continue;
            const std::size_t j = static_cast<std::size_t>(task.labels[first + r]);
            if (gathered.add(j, packed.block(b), r, packed.weight(first + r)))
                use_gathered(gathered, block, j, scores.get(), add);
        }
    }
    for (std::size_t j = 0; j < tailed.components; ++j)
        if (gathered.any(j)) use_gathered(gathered, block, j, scores.get(), add);
}

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
