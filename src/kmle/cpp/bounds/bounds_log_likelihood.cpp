// The log-likelihood of rows with bounds on their margins: components that are far behind add nothing to it.

#include "dense/log_likelihood.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// A component with a margin above this adds nothing; a little more than needed, as bounds are in single precision.
constexpr double far = 1.01 - negligible;

// Some components, grouped as the passes want them.
class Few {
public:
    explicit Few(const Model<double>& model)
        : model_(model), grouped_(model.padded() * model.n_statistics), bias_(model.padded()) {}

    std::size_t count = 0;

    void take(const List<std::int32_t>& names) {
        count = names.size();
        for (std::size_t n = 0; n < rounded_up(count, group); ++n) {
            const std::size_t j = n < count ? static_cast<std::size_t>(names[n]) : 0;
            bias_.get()[n] = n < count ? model_.grouped_bias[j] : -std::numeric_limits<double>::infinity();
            const double* from = model_.grouped + j / group * group * model_.n_statistics + j % group;
            double* to = grouped_.get() + n / group * group * model_.n_statistics + n % group;
            for (std::size_t f = 0; f < model_.n_statistics; ++f) to[f * group] = from[f * group];
        }
    }

    // Scores [component][row] of `soft_rows` rows.
    void score(const double* statistics, double* scores) const {
        Fetching nothing;
        score_rows(statistics, model_.n_statistics, grouped_.get(), bias_.get(), count, scores, nothing);
    }

private:
    const Model<double>& model_;
    Buffer<double> grouped_, bias_;
};

// The components whose scores come near the best of some row of a span.
void name_near(const Spans& spans, const Step& step, std::size_t s, const std::int32_t* labels, std::size_t count,
               std::size_t components, List<std::int32_t>& names) {
    const std::size_t z = static_cast<std::size_t>(spans.anchors[s]);
    const double radius = static_cast<double>(spans.radii[s]), limit = spans.limits[s];
    const bool pure = limit > -std::numeric_limits<double>::infinity();
    names.clear();
    if (pure && limit - largest_drift(spans, step, s) > far) {
        names.push_back(spans.anchors[s]);
        return;
    }
    const float* margin_bounds = spans.margin_bounds + s * spans.width;
    List<char> is_near(components);
    for (std::size_t j = 0; j < components; ++j) {
        const double drift = static_cast<double>(step.gained[z * spans.width + j]) +
                             radius * static_cast<double>(step.reached[z * spans.width + j]);
        is_near[j] = !(static_cast<double>(margin_bounds[j]) - (pure ? drift : 0.0) > far);
    }
    for (std::size_t r = 0; r < count; ++r) is_near[static_cast<std::size_t>(labels[r])] = 1;
    for (std::size_t j = 0; j < components; ++j)
        if (is_near[j]) names.push_back(static_cast<std::int32_t>(j));
}

}  // namespace

template <class T>
void bounds_log_likelihood(const Packed<T>& packed, const Model<double>& model, const Spans& spans, const Step& step,
                           const std::int32_t* labels, SoftTask& task) {
    Buffer<double> statistics(packed.n_statistics * soft_rows), scores(model.padded() * soft_rows);
    List<std::int32_t> names, names_before;
    Few few(model);
    LogLikelihood log_likelihood;
    const std::size_t blocks_each = spans.rows_each / block_rows<T>;
    for (std::size_t b = task.first_block; b < task.last_block; b += blocks_each) {
        const std::size_t s = b / blocks_each, first = s * spans.rows_each;
        const std::size_t last = std::min(packed.rows, first + spans.rows_each);
        name_near(spans, step, s, labels + first, last - first, model.components, names);
        if (names != names_before) few.take(names);  // neighbours often have the same
        names_before = names;
        for (std::size_t i = first; i < last; i += soft_rows) {
            const std::size_t count = std::min(soft_rows, last - i);
            const T* values = packed.block(i / block_rows<T>) + i % block_rows<T>;
            for (std::size_t a = 0; a < packed.columns; ++a)
                std::copy_n(values + a * block_rows<T>, soft_rows, statistics.get() + a * soft_rows);
            build_statistics(packed.features, packed.columns, soft_rows, statistics.get());
            few.score(statistics.get(), scores.get());
            add_log_likelihood(scores.get(), few.count, packed.weights ? packed.weights + i : nullptr, count,
                               log_likelihood);
        }
    }
    log_likelihood.finish(task);
}

template void bounds_log_likelihood(const Packed<double>&, const Model<double>&, const Spans&, const Step&,
                                    const std::int32_t*, SoftTask&);
template void bounds_log_likelihood(const Packed<float>&, const Model<double>&, const Spans&, const Step&,
                                    const std::int32_t*, SoftTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
