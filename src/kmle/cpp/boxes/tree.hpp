// A tree of boxes around rows, for pruning components (filtering: Kanungo et al. 2002, Pelleg and Moore 1999).

#pragma once

#include <cstddef>
#include <cstdint>

namespace kmle {

// Rows lie in the order of their places in space, so that neighbours share a box. For spans of
// `blocks_each` blocks: boxes around their columns, and what their rows add up to.
struct Level {
    std::size_t blocks_each;
    const double* centers;  // [span][column]
    const double* halves;   // [span][column]: half the width of the box
    const double* totals;   // [span][1 + statistic]: weight and weighted statistics
};

// Levels from the coarsest to the finest, whose spans are called groups; each span of a level is a whole number
// of those of the next. The coarsest level may have lists of the components to try.
struct Tree {
    const Level* levels;
    std::size_t depth;
    const std::int64_t* starts;      // [span + 1]: where the candidates of each coarsest span start; or null
    const std::int32_t* candidates;  // in increasing order within a span

    const Level& finest() const { return levels[depth - 1]; }
};

// Coarsest spans to label, and where to put what they add up to. Counts and sums start at zero. A group whose rows
// all have one label has it as its owner, and its rows have none written; other groups have an owner of -1.
struct BoxesTask {
    std::size_t first, last;
    const std::int32_t *owners_before, *labels_before;  // null: no row has a label yet
    std::int32_t *owners, *labels;
    double* counts;
    double* sums;
    std::int64_t changed;  // rows with another label than before
};

}  // namespace kmle
