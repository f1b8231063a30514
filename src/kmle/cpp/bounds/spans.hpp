// Spans of rows with bounds on their margins, and the steps of components (Elkan 2003, Hamerly 2010).
//
// The margin of a row over a component is the score of its own component minus that one's. Bounds hold for all rows of
// a span, and shrink by the drift of the components.

#pragma once

#include <cstddef>
#include <cstdint>

namespace kmle {

// Rows that are examined together.
constexpr std::size_t batch_rows = 64;

// Lower bounds on the margins of spans of rows, and balls that hold the statistics of the rows, around the center of
// the component that the span started in: its anchor. A span is pure if all its rows have the anchor for a label. Its
// bounds are written as of the first step, so that one limit on the drift since then tells whether any margin may be
// gone; the bounds of other spans are as of the last pass.
struct Spans {
    std::size_t rows_each;        // a multiple of `batch_rows`; the last span may be shorter
    std::size_t width;            // length of a line: components, rounded up; the bounds of the others are large
    float* margin_bounds;         // [span][width]; -inf or NaN: nothing is known
    double* limits;               // [span]; -inf: not pure
    const std::int32_t* anchors;  // [span]
    const float* radii;           // [span]: in units of a scale for each statistic
    const std::size_t* visits;    // the spans whose limits are reached, which a pass has to visit
};

// Balls around the statistics of spans, with given centers.
struct Balls {
    std::size_t rows_each, every;  // the ball of one span in `every` is measured
    const double* scale;           // [statistic]: the unit of distances
    const double* centers;         // [center][statistic]
    const std::int32_t* anchors;   // [span]: which of the centers is its own
    float* radii;                  // [span]
};

// How the components have moved: in the last step, and since the first. Gains of a component on an anchor are those at
// the anchor's center; elsewhere they may be more, by the radius times how far apart the steps of the two were.
struct Step {
    const float* change;        // [anchor][width]: of the scores of the anchor's center, in the last step
    const float* apart;         // [component][width]: how far apart the last steps of two are, times the scale
    float rounding;             // of the difference of two changes, for any row
    const float* gained;        // [component][width]: by each on this one, since the first step
    const float* reached;       // [component][width]: how far apart steps were, summed over all steps
    const double* most_gained;  // [component]: the largest gain in each step, summed over all steps
    const double* most_apart;   // [component]: the largest distance in each step, likewise
};

// A step of all components, and where to put what follows from it (those of the same names in Step).
struct Moves {
    std::size_t components, n_statistics, width;
    const double* moved;    // [statistic][component]: of natural parameters
    const double* lifted;   // [component]: of biases
    const double* centers;  // [anchor][statistic]
    const double* scale;    // [statistic]: the unit of radii
    double rounding;
    float *change, *apart;    // written
    float *gained, *reached;  // added to
    double *most_gained, *most_apart;
};

// An upper bound on the drift since the first step: by how much any component may have gained on the anchor of a span.
static inline double largest_drift(const Spans& spans, const Step& step, std::size_t s) {
    const std::size_t z = static_cast<std::size_t>(spans.anchors[s]);
    return step.most_gained[z] + static_cast<double>(spans.radii[s]) * step.most_apart[z];
}

}  // namespace kmle
