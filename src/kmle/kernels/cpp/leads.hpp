// What is left of the leads of a stretch, and how it is written down (see Stretches and Step in passes.hpp).

#pragma once

#include "look.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

class Leads {
public:
    // What is said of a lead never counts on more than this, so that sums of it stay numbers.
    static constexpr float longest = 1e38f;

    Leads(const Stretches& stretches, const Step& step) : stretches_(stretches), step_(step), left_(stretches.width) {}

    // Of the stretch that was taken last.
    float* left() { return left_.get(); }

    bool is_settled(std::size_t s) const { return stretches_.limits[s] > mixed; }
    std::size_t home(std::size_t s) const { return static_cast<std::size_t>(stretches_.homes[s]); }

    // What is left of the leads of a settled stretch; whether some may be gone.
    bool take_settled(std::size_t s) {
        const float* leads = stretches_.leads + s * stretches_.width;
        Names gone{};
        used_up(s, [&](std::size_t j, Line used, Line size) {
            const Line lead = taken<Line>(leads + j);
            const Line left = lead - used - rounding_of(absolute<float>(lead) + size);
            store(left_.get() + j, left);
            gone |= ~(left > Line{});  // NaN too
        });
        return bits_of<float>(gone) != 0;
    }

    // The same of another one, whose rows have these components, after the last step.
    bool take_mixed(std::size_t s, const std::int32_t* present, std::size_t count) {
        const std::size_t width = stretches_.width;
        const Line radius = broadcast(stretches_.radii[s]), rounding = broadcast(step_.rounding);
        const float *change = step_.change + home(s) * width, *leads = stretches_.leads + s * width;
        Names gone{};
        for (std::size_t j = 0; j < width; j += lanes<float>) {
            const Line own = taken<Line>(change + j), lead = taken<Line>(leads + j);
            // Sizes are added up, not compared: what is no number then shows.
            Line lost = broadcast(-std::numeric_limits<float>::infinity()),
                 size = absolute<float>(lead) + absolute<float>(own);
            for (std::size_t p = 0; p < count; ++p) {
                const std::size_t z = static_cast<std::size_t>(present[p]);
                const Line reach = radius * taken<Line>(step_.apart + z * width + j);
                const Line drift = own - broadcast(change[z]) + reach;
                lost = drift > lost ? drift : lost;
                size += broadcast(std::abs(change[z])) + reach;
            }
            const Line left = lead - lost - rounding - rounding_of(size);
            store(left_.get() + j, left);
            gone |= ~(left > Line{});
        }
        return bits_of<float>(gone) != 0;
    }

    // All rows are at home: leads are written as if nothing had happened since the beginning, so that they need not be
    // touched again until the limit is reached.
    void write_settled(std::size_t s) {
        float* leads = stretches_.leads + s * stretches_.width;
        used_up(s, [&](std::size_t j, Line used, Line size) {
            const Line left = load(left_.get() + j);
            const Line written = left + used - rounding_of(absolute<float>(left) + size);
            std::memcpy(leads + j, &written, sizeof written);
        });
        write_limit(s);
    }

    // No lead is gone before the shortest one is used up.
    void write_limit(std::size_t s) {
        Line least = broadcast(longest);
        Names unknown{};
        for (std::size_t j = 0; j < stretches_.width; j += lanes<float>) {
            const Line left = load(left_.get() + j);
            least = left < least ? left : least;
            unknown |= ~(left > broadcast(-longest));
        }
        const double used = used_at_most(stretches_, step_, s), lead = static_cast<double>(smallest(least));
        const double limit = lead + used, rounding = 1e-12 * (std::abs(lead) + std::abs(used));
        stretches_.limits[s] = bits_of<float>(unknown) || !(limit > always) ? always : limit - rounding;
    }

    void write_mixed(std::size_t s) {
        std::copy_n(left_.get(), stretches_.width, stretches_.leads + s * stretches_.width);
        stretches_.limits[s] = mixed;
    }

private:
    static constexpr double mixed = -std::numeric_limits<double>::infinity();
    static constexpr double always = -1e300;  // the limit of a settled stretch that is always to be visited

    // More than a few roundings in single precision of terms that add up to this.
    static Line rounding_of(Line size) { return broadcast(2e-6f) * size; }

    // By how much each component may have gained on the home of a stretch since the beginning, for all its rows.
    template <class Visit>
    void used_up(std::size_t s, const Visit& visit) const {
        const std::size_t width = stretches_.width;
        const Line radius = broadcast(stretches_.radii[s]);
        for (std::size_t j = 0; j < width; j += lanes<float>) {
            const Line gained = taken<Line>(step_.gained + home(s) * width + j);
            const Line reach = radius * taken<Line>(step_.reached + home(s) * width + j);
            visit(j, gained + reach, absolute<float>(gained) + reach);
        }
    }

    const Stretches& stretches_;
    const Step& step_;
    Buffer<float> left_;
};

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
