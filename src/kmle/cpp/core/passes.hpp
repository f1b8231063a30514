// What the passes over packed rows work on, and the table through which one version of them is chosen at import.
//
// Rows are packed in blocks: of one column, `block_rows` values lie together, so that a vector register holds the same
// column of neighbouring rows. Scores, the best component and exponentials are then computed lane by lane, without any
// operation across lanes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace kmle {

// 256 bytes of each column: four registers of AVX-512, eight of AVX2, sixteen of SSE or NEON.
template <class T>
constexpr std::size_t block_rows = 256 / sizeof(T);

// Components are scored in groups of this many, so that each loaded value of a row is used that often.
constexpr std::size_t group = 4;

constexpr std::size_t rounded_up(std::size_t size, std::size_t step) { return (size + step - 1) / step * step; }

// How the statistics t(x) follow from the packed columns: as they are, with their squares, or with all their products.
enum class Features : int { identity, diagonal, quadratic };

constexpr std::size_t n_statistics_of(Features features, std::size_t columns) {
    switch (features) {
        case Features::diagonal: return 2 * columns;
        case Features::quadratic: return columns + columns * (columns + 1) / 2;
        default: return columns;
    }
}

template <class T>
struct Packed {
    const T* values;        // [block][column][row of the block]; rows past the last are zero
    const double* largest;  // [block][column]: the largest |value|, which bounds the rounding of scores
    const double* weights;  // one for each row, or null
    std::size_t rows, columns, n_statistics;
    Features features;

    std::size_t blocks() const { return rounded_up(rows, block_rows<T>) / block_rows<T>; }
    const T* block(std::size_t b) const { return values + b * columns * block_rows<T>; }
    double weight(std::size_t i) const { return weights ? weights[i] : 1.0; }
};

// Scores with packed statistics whose rounding may exceed so many nats are not good enough where there are others: in
// sums over rows, and where each row's scores are reported.
constexpr double score_error = 1e-6, row_score_error = 1e-9;

// Components as c_j - |L_j^T (x - m_j)|^2 / 2 + <y, l_j>, x being some of the packed columns and y others: scores
// without products of columns.
struct Centered {
    const std::size_t* places;         // [column]: where x is among the packed columns
    const std::size_t* linear_places;  // [linear]: and y
    const double* mean;                // [component][column]
    const double* linear;              // [component][linear]
    const double* factor;              // [component]: the diagonal of L, or its lower triangle, column after column
    const double* constant;            // [component]; -inf where inactive
    const double* magnitudes;          // [1 + statistic][component], padded: |bias| and |natural|, zero where inactive
    // [1 + column][component], padded: lengths of the lines of L, the first their products with |mean| added up.
    const float* reach;
    std::size_t columns, length, linear_columns;
    bool triangular;
    bool carried;  // scores with statistics are higher by half the squares of some entries of L^T x, with the same L
    const std::uint8_t* carried_columns;  // [column]: of these; for them L has no entries in other columns

    const double* mean_of(std::size_t j) const { return mean + j * columns; }
    const double* linear_of(std::size_t j) const { return linear + j * linear_columns; }
    const double* factor_of(std::size_t j) const { return factor + j * length; }
    bool active(std::size_t j) const { return constant[j] >= std::numeric_limits<double>::lowest(); }
};

// Natural parameters and biases, both exactly as given and grouped for the passes. A inactive component has a bias of
// -inf and natural parameters of zero.
template <class T>
struct Model {
    const T* grouped;       // [group of components][statistic][component of the group], padded with inactive components
    const T* grouped_bias;  // [component], padded likewise
    const double* natural;  // [component][statistic]
    const double* bias;     // [component]
    const double* largest;  // [statistic]: the largest |natural| of any component
    double largest_bias;
    std::size_t components, n_statistics;
    // [1 + statistic][component], padded: |bias| and |natural|, zero where inactive; only in single precision, else null.
    const float* magnitudes = nullptr;
    // Only in double precision, where components have such a form and scores with statistics are not good enough.
    const Centered* centered = nullptr;

    std::size_t padded() const { return rounded_up(components, group); }
};

// A span of blocks (in bounds passes: of visits), and where to put what they add up to. Counts and sums start at
// zero.
struct HardTask {
    std::size_t first_block, last_block;
    std::int32_t* labels;  // read and written; negative: no label yet
    bool fresh;            // no row has a label yet: labels are written, and counts, sums and sizes left to others
    float* margins;        // best score minus second best of each row, or null
    double* counts;        // [component]: weight gained minus lost
    double* sums;          // [component][statistic]: gained minus lost
    std::int64_t* sizes;   // [component]: rows gained minus lost
    std::int64_t changed;
    // Of bounds passes: scores that were computed, and rows examined where several components have rows.
    std::int64_t scored, strayed;
    std::int64_t rescored;  // scores that were computed once more, in better precision
};

// Rows lie in the order of their places in space, so that neighbours share a box. Spans of `blocks_each` blocks:
// the boxes around their columns, and what their rows add up to.
struct Level {
    std::size_t blocks_each;
    const double* centers;  // [span][column]
    const double* halves;   // [span][column]: half the width of the box
    const double* totals;   // [span][1 + statistic]: weight and weighted statistics
};

// Levels from the coarsest to the finest, whose spans are called groups; those of one level are whole numbers of
// those of the next. The coarsest may have lists of the components to try.
struct Tree {
    const Level* levels;
    std::size_t depth;
    const std::int64_t* starts;      // [span + 1]: where the candidates of each coarsest span start; or null
    const std::int32_t* candidates;  // in increasing order within a span

    const Level& finest() const { return levels[depth - 1]; }
};

// Coarsest spans to label, and where to put what they add up to. Counts and sums start at zero. A group whose rows
// all have one label has that as its owner and no labels of rows; the others have an owner of -1.
struct BoxesTask {
    std::size_t first, last;
    const std::int32_t *owners_before, *labels_before;  // null: no row has a label yet
    std::int32_t *owners, *labels;
    double* counts;
    double* sums;
    std::int64_t changed;  // rows with another label than before
};

// What is certain of spans of rows that belong together: by how much, at least, the component of each row margins
// over every other one; and balls that hold the statistics of their rows, around the center of the component they
// started in, their anchor. A span all of whose rows are at its anchor is pure. Its margins are written as if none had been
// used up since the beginning, and there is a limit up to which none can be gone; the margins of others are as the last
// pass left them.
struct Spans {
    std::size_t rows_each;  // a multiple of `batch_rows`, the last span perhaps excepted
    std::size_t width;  // of a line of margins: components, rounded up; margins over those that do not exist are endless
    float* margin_bounds;       // [span][width]; -inf or NaN: nothing is known
    double* limits;     // [span]; -inf: not pure
    const std::int32_t* anchors;  // [span]
    const float* radii;         // [span]: in units of a scale for each statistic
    const std::size_t* visits;  // those that a pass has to visit, as their limits are reached
};

// Balls that hold the statistics of spans, around centers that are given.
struct Balls {
    std::size_t rows_each, every;  // the ball of one span in so many
    const double* scale;           // [statistic]: the unit of distances
    const double* centers;         // [center][statistic]
    const std::int32_t* anchors;     // [span]: which of them is its own
    float* radii;                  // [span]
};

// How the components have moved: in the last step, and since the beginning. What they gain on a component is at its
// center; elsewhere it may be more by the radius times how far apart their steps were.
struct Step {
    const float* change;        // [anchor][width]: of the scores of the anchor's center, in the last step
    const float* apart;         // [component][width]: how far apart the last steps of two are, times the scale
    float rounding;             // of the difference of two changes, for any row
    const float* gained;        // [component][width]: by each on this one, since the beginning
    const float* reached;       // [component][width]: how far apart steps were, all added up
    const double* most_gained;  // [component]: the sum over all steps of what any has gained at most
    const double* most_apart;   // [component]: and of how far apart steps were at most
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

// By how much any component may have gained on the anchor of a span since the beginning.
static inline double largest_drift(const Spans& spans, const Step& step, std::size_t s) {
    const std::size_t z = static_cast<std::size_t>(spans.anchors[s]);
    return step.most_gained[z] + static_cast<double>(spans.radii[s]) * step.most_apart[z];
}

// Rows that are examined together.
constexpr std::size_t batch_rows = 64;

// Rows to add up by their labels. Counts and sums start at zero.
struct SumsTask {
    std::size_t first_block, last_block, components;
    const std::int32_t* labels;  // one for each row, negative: no one's; null: all belong to the first component
    double* counts;
    double* sums;
};

// What is reported of each row, by itself and without its weight; null where not wanted.
struct RowScores {
    double* log_sums;  // [row]: log sum exp(scores)
    double* tops;      // [row]: the highest score
    double* shares;    // [row][component]: responsibilities
    double* scores;    // [row][component]
    bool centered;  // all scores are those of `Centred`, and what those of packed statistics exceed them by is left out
};

// Rows to add up with their own components, by differences to means. Totals start at zero.
struct OwnTask {
    std::size_t first_block, last_block;
    const std::int32_t* labels;  // one for each row; those of negative labels are passed over
    double* totals;              // [component]: weighted sums of scores
    std::int64_t scored;
};

struct SoftTask {
    std::size_t first_block, last_block;
    std::size_t kept;  // how many responsibilities of a row count
    double* counts;    // null: neither counts nor sums are wanted
    double* sums;
    double score;           // sum of weight * log sum exp(scores kept)
    double entropy;         // sum of weight * entropy of the responsibilities; only where counts are not wanted
    std::int64_t rescored;  // scores that were computed by differences to means
    const RowScores* rows = nullptr;  // where rows are reported one by one, and nothing is added up
    // The components are those of so many mixtures of equal size, one after the other, each with a score of its own.
    std::size_t mixtures = 1;
    double* scores = nullptr;  // [mixture]; null where there is one mixture
};

// What one pass over a table finds; all columns of a row lie together.
struct Summary {
    double *lowest, *highest, *totals;  // [column]
    bool finite, whole;                 // whole: every value is a whole number below 2^51
};

struct CentredRows;  // see products.hpp
struct Member;
struct SparsePasses;  // see sparse.hpp
struct GaussianStep;  // see gaussian_step.hpp
struct PanelsPasses;    // see wide.hpp
template <class T>
struct Table;  // see table.hpp
struct TableTask;

struct Passes {
    const char* name;
    // The model in single precision, in which rows are scored first, and in double for those that leaves uncertain.
    void (*hard64)(const Packed<double>&, const Model<float>&, const Model<double>&, HardTask&);
    void (*hard32)(const Packed<float>&, const Model<float>&, const Model<double>&, HardTask&);
    void (*pruned64)(const Packed<double>&, const Model<double>&, const Tree&, BoxesTask&);
    void (*pruned32)(const Packed<float>&, const Model<double>&, const Tree&, BoxesTask&);
    void (*skipping64)(const Packed<double>&, const Model<float>&, const Model<double>&, const Spans&, const Step&,
                       HardTask&);
    void (*skipping32)(const Packed<float>&, const Model<float>&, const Model<double>&, const Spans&, const Step&,
                       HardTask&);
    // The log-likelihood, after a bounds pass with the same components.
    void (*bounds_log_likelihood64)(const Packed<double>&, const Model<double>&, const Spans&, const Step&,
                                const std::int32_t* labels, SoftTask&);
    void (*bounds_log_likelihood32)(const Packed<float>&, const Model<double>&, const Spans&, const Step&,
                                const std::int32_t* labels, SoftTask&);
    // For the components from one to another.
    void (*add_drift)(const Moves&, std::size_t first, std::size_t last);
    // Balls around some of the spans from one to another; squares about their centers are added up unless null.
    void (*balls64)(const Packed<double>&, const Balls&, std::size_t first, std::size_t last, double* squares);
    void (*balls32)(const Packed<float>&, const Balls&, std::size_t first, std::size_t last, double* squares);
    void (*sums64)(const Packed<double>&, SumsTask&);
    void (*sums32)(const Packed<float>&, SumsTask&);
    void (*soft64)(const Packed<double>&, const Model<double>&, SoftTask&);
    void (*soft32)(const Packed<float>&, const Model<double>&, SoftTask&);
    void (*own64)(const Packed<double>&, const Centered&, std::size_t components, OwnTask&);
    void (*own32)(const Packed<float>&, const Centered&, std::size_t components, OwnTask&);
    void (*survey64)(const double*, std::size_t rows, std::size_t columns, Summary&);
    void (*survey32)(const float*, std::size_t rows, std::size_t columns, Summary&);
    // How many of the cuts, in increasing order, lie at or below each value.
    void (*locate)(const double* values, std::size_t count, const double* cuts, std::size_t cut_count,
                   std::int32_t* places);
    // Adds the products of members to the bands of one task, from band task * bands_at_once on. `sums` are the
    // component's.
    void (*products)(const CentredRows& rows, const Member* members, std::size_t count, std::size_t task, double* sums);
    void (*table64)(const Table<double>&, TableTask&);
    void (*table32)(const Table<float>&, TableTask&);
    // For the components from one to another.
    void (*gaussian_step)(const GaussianStep&, std::size_t first, std::size_t last);
    const SparsePasses* sparse;
    const PanelsPasses* wide;
};

// One for each instruction set that was compiled (see passes.cpp).
const Passes& baseline_passes();
const Passes& avx2_passes();
const Passes& avx512_passes();

// Statistics of one row in double, whatever T is; its columns lie `stride` apart.
template <class T>
static void expand(Features features, std::size_t columns, const T* values, std::size_t stride, double* out) {
    for (std::size_t a = 0; a < columns; ++a) out[a] = values[a * stride];
    if (features == Features::diagonal)
        for (std::size_t a = 0; a < columns; ++a) out[columns + a] = out[a] * out[a];
    if (features == Features::quadratic) {
        double* product = out + columns;
        for (std::size_t a = 0; a < columns; ++a)
            for (std::size_t b = a; b < columns; ++b) *product++ = out[a] * out[b];
    }
}

// Statistics of a packed row.
template <class T>
static void row_statistics(const Packed<T>& packed, std::size_t i, double* out) {
    expand(packed.features, packed.columns, packed.block(i / block_rows<T>) + i % block_rows<T>, block_rows<T>, out);
}

// The label of a row whose best scores nearly tie: scores summed in the order of the statistics, rounded at every
// operation (no fused multiply-add), the lowest index on a tie. reference.py does the same, so labels never depend on
// the instruction set, the precision of the pass or the language. Compiled once, in exact.cpp.
std::int32_t exact_label(const double* statistics, const double* natural, const double* bias, std::size_t components,
                         std::size_t n_statistics);

}  // namespace kmle
