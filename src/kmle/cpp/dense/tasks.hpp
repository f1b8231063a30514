// Blocks of packed rows to score or to add up, and where to put the results.

#pragma once

#include "core/packed.hpp"

namespace kmle {

// A range of blocks (in bounds passes: of visits), and where to put what they add up to. Counts and sums start at zero.
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
    // Memory that is needed after the pass and fetched while it works, the same share with every block; null: none.
    const char* ahead = nullptr;
    std::size_t ahead_bytes = 0;
};

// Rows to add up by their labels. Counts and sums start at zero.
struct SumsTask {
    std::size_t first_block, last_block, components;
    const std::int32_t* labels;  // [row]; negative: in no component; null: all are in the first
    double* counts;
    double* sums;
};

// Rows to add up with their own components, by differences to means. Totals start at zero.
struct OwnTask {
    std::size_t first_block, last_block;
    const std::int32_t* labels;  // [row]; rows with negative labels are skipped
    double* totals;              // [component]: weighted sums of scores
    std::int64_t scored;
};

struct SoftTask {
    std::size_t first_block, last_block;
    std::size_t kept;  // how many responsibilities per row count
    double* counts;    // null: neither counts nor sums are wanted
    double* sums;
    double score;           // sum of weight * log sum exp(scores kept)
    double entropy;         // sum of weight * entropy of the responsibilities; only where counts are not wanted
    std::int64_t rescored;  // scores that were computed by differences to means
    const RowScores* rows = nullptr;  // where rows are reported one by one, and nothing is added up
    // The components are those of several mixtures of equal size, one after the other, each with a score of its own.
    std::size_t mixtures = 1;
    double* scores = nullptr;  // [mixture]; null where there is one mixture
};

}  // namespace kmle
