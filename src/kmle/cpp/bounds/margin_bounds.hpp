// What is left of the margin bounds of a span after the drift, and how it is written (see Spans and Step in spans.hpp).

#pragma once

#include "bounds/batch.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

class MarginBounds {
public:
    // No margin bound is larger than this, so that sums stay finite.
    static constexpr float longest = 1e38f;

    MarginBounds(const Spans& spans, const Step& step) : spans_(spans), step_(step), remaining_(spans.width) {}

    // Of the span that was taken last.
    float* remaining() { return remaining_.get(); }

    bool is_pure(std::size_t s) const { return spans_.limits[s] > mixed; }
    std::size_t anchor(std::size_t s) const { return static_cast<std::size_t>(spans_.anchors[s]); }

    // What is left of the margins of a pure span; returns whether some may be gone.
    bool take_pure(std::size_t s) {
        const float* margin_bounds = spans_.margin_bounds + s * spans_.width;
        Names gone{};
        drift_since(s, [&](std::size_t j, Line drift, Line size) {
            const Line margin = taken<Line>(margin_bounds + j);
            const Line remaining = margin - drift - rounding_of(absolute<float>(margin) + size);
            store(remaining_.get() + j, remaining);
            gone |= ~(remaining > Line{});  // NaN too
        });
        return bits_of<float>(gone) != 0;
    }

    // The same for a span whose rows have several labels, those present, after the last step.
    bool take_mixed(std::size_t s, const std::int32_t* present, std::size_t count) {
        const std::size_t width = spans_.width;
        const Line radius = broadcast(spans_.radii[s]), rounding = broadcast(step_.rounding);
        const float *change = step_.change + anchor(s) * width, *margin_bounds = spans_.margin_bounds + s * width;
        Names gone{};
        for (std::size_t j = 0; j < width; j += lanes<float>) {
            const Line own = taken<Line>(change + j), margin = taken<Line>(margin_bounds + j);
            // Sizes are added up, not compared, so that NaN is not lost.
            Line lost = broadcast(-std::numeric_limits<float>::infinity()),
                 size = absolute<float>(margin) + absolute<float>(own);
            for (std::size_t p = 0; p < count; ++p) {
                const std::size_t z = static_cast<std::size_t>(present[p]);
                const Line reach = radius * taken<Line>(step_.apart + z * width + j);
                const Line drift = own - broadcast(change[z]) + reach;
                lost = drift > lost ? drift : lost;
                size += broadcast(std::abs(change[z])) + reach;
            }
            const Line remaining = margin - lost - rounding - rounding_of(size);
            store(remaining_.get() + j, remaining);
            gone |= ~(remaining > Line{});
        }
        return bits_of<float>(gone) != 0;
    }

    // All rows have the anchor for a label: bounds are written as of the first step, so that they need not be touched
    // again until the limit is reached.
    void write_pure(std::size_t s) {
        float* margin_bounds = spans_.margin_bounds + s * spans_.width;
        drift_since(s, [&](std::size_t j, Line drift, Line size) {
            const Line remaining = load(remaining_.get() + j);
            const Line written = remaining + drift - rounding_of(absolute<float>(remaining) + size);
            std::memcpy(margin_bounds + j, &written, sizeof written);
        });
        write_limit(s);
    }

    // No margin is gone before the drift exceeds the shortest one.
    void write_limit(std::size_t s) {
        Line least = broadcast(longest);
        Names unknown{};
        for (std::size_t j = 0; j < spans_.width; j += lanes<float>) {
            const Line remaining = load(remaining_.get() + j);
            least = remaining < least ? remaining : least;
            unknown |= ~(remaining > broadcast(-longest));
        }
        const double drift = largest_drift(spans_, step_, s), margin = static_cast<double>(smallest(least));
        const double limit = margin + drift, rounding = 1e-12 * (std::abs(margin) + std::abs(drift));
        spans_.limits[s] = bits_of<float>(unknown) || !(limit > always) ? always : limit - rounding;
    }

    void write_mixed(std::size_t s) {
        std::copy_n(remaining_.get(), spans_.width, spans_.margin_bounds + s * spans_.width);
        spans_.limits[s] = mixed;
    }

private:
    static constexpr double mixed = -std::numeric_limits<double>::infinity();
    static constexpr double always = -1e300;  // the limit of a pure span that is always to be visited

    // An upper bound on a few roundings in single precision of terms that add up to `size`.
    static Line rounding_of(Line size) { return broadcast(2e-6f) * size; }

    // The drift of each component against the anchor of a span since the first step, for all its rows.
    template <class Visit>
    void drift_since(std::size_t s, const Visit& visit) const {
        const std::size_t width = spans_.width;
        const Line radius = broadcast(spans_.radii[s]);
        for (std::size_t j = 0; j < width; j += lanes<float>) {
            const Line gained = taken<Line>(step_.gained + anchor(s) * width + j);
            const Line reach = radius * taken<Line>(step_.reached + anchor(s) * width + j);
            visit(j, gained + reach, absolute<float>(gained) + reach);
        }
    }

    const Spans& spans_;
    const Step& step_;
    Buffer<float> remaining_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
