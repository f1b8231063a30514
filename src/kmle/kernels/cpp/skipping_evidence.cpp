// The evidence of rows of whose leads something is known: components that are far behind add nothing to it.

#include "evidence.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

namespace {

// Leads from here on leave nothing of a component; more than it takes, as they are rounded to single precision.
constexpr double far = 1.01 - negligible;

// Some components, grouped as the passes want them.
class Few {
public:
    explicit Few(const Model<double>& model)
        : model_(model), grouped_(model.padded() * model.order), bias_(model.padded()) {}

    std::size_t count = 0;

    void take(const List<std::int32_t>& names) {
        count = names.size();
        for (std::size_t n = 0; n < rounded_up(count, group); ++n) {
            const std::size_t j = n < count ? static_cast<std::size_t>(names[n]) : 0;
            bias_.get()[n] = n < count ? model_.grouped_bias[j] : -std::numeric_limits<double>::infinity();
            const double* from = model_.grouped + j / group * group * model_.order + j % group;
            double* to = grouped_.get() + n / group * group * model_.order + n % group;
            for (std::size_t f = 0; f < model_.order; ++f) to[f * group] = from[f * group];
        }
    }

    // Scores [component][row] of `soft_rows` rows.
    void score(const double* statistics, double* scores) const {
        Fetching nothing;
        score_rows(statistics, model_.order, grouped_.get(), bias_.get(), count, scores, nothing);
    }

private:
    const Model<double>& model_;
    Buffer<double> grouped_, bias_;
};

// The components whose scores come near the best of some row of a stretch.
void name_near(const Stretches& stretches, const Step& step, std::size_t s, const std::int32_t* labels,
               std::size_t count, std::size_t components, List<std::int32_t>& names) {
    const std::size_t z = static_cast<std::size_t>(stretches.homes[s]);
    const double radius = static_cast<double>(stretches.radii[s]), limit = stretches.limits[s];
    const bool settled = limit > -std::numeric_limits<double>::infinity();
    names.clear();
    if (settled && limit - used_at_most(stretches, step, s) > far) {
        names.push_back(stretches.homes[s]);
        return;
    }
    const float* leads = stretches.leads + s * stretches.width;
    List<char> is_near(components);
    for (std::size_t j = 0; j < components; ++j) {
        const double used = static_cast<double>(step.gained[z * stretches.width + j]) +
                            radius * static_cast<double>(step.reached[z * stretches.width + j]);
        is_near[j] = !(static_cast<double>(leads[j]) - (settled ? used : 0.0) > far);
    }
    for (std::size_t r = 0; r < count; ++r) is_near[static_cast<std::size_t>(labels[r])] = 1;
    for (std::size_t j = 0; j < components; ++j)
        if (is_near[j]) names.push_back(static_cast<std::int32_t>(j));
}

}  // namespace

template <class T>
void skipping_evidence(const Packed<T>& packed, const Model<double>& model, const Stretches& stretches,
                       const Step& step, const std::int32_t* labels, SoftTask& task) {
    Buffer<double> statistics(packed.order * soft_rows), scores(model.padded() * soft_rows);
    List<std::int32_t> names, names_before;
    Few few(model);
    Evidence evidence;
    const std::size_t blocks_each = stretches.rows_each / block_rows<T>;
    for (std::size_t b = task.first_block; b < task.last_block; b += blocks_each) {
        const std::size_t s = b / blocks_each, first = s * stretches.rows_each;
        const std::size_t last = std::min(packed.rows, first + stretches.rows_each);
        name_near(stretches, step, s, labels + first, last - first, model.components, names);
        if (names != names_before) few.take(names);  // neighbours often have the same
        names_before = names;
        for (std::size_t i = first; i < last; i += soft_rows) {
            const std::size_t count = std::min(soft_rows, last - i);
            const T* values = packed.block(i / block_rows<T>) + i % block_rows<T>;
            for (std::size_t a = 0; a < packed.columns; ++a)
                std::copy_n(values + a * block_rows<T>, soft_rows, statistics.get() + a * soft_rows);
            build_statistics(packed.features, packed.columns, soft_rows, statistics.get());
            few.score(statistics.get(), scores.get());
            add_evidence(scores.get(), few.count, packed.weights ? packed.weights + i : nullptr, count, evidence);
        }
    }
    evidence.finish(task);
}

template void skipping_evidence(const Packed<double>&, const Model<double>&, const Stretches&, const Step&,
                                const std::int32_t*, SoftTask&);
template void skipping_evidence(const Packed<float>&, const Model<double>&, const Stretches&, const Step&,
                                const std::int32_t*, SoftTask&);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
