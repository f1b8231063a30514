// The passes of one instruction set, in one table; which one runs is chosen at import (see chosen.hpp).

#pragma once

#include <type_traits>

#include "bounds/spans.hpp"
#include "boxes/tree.hpp"
#include "columns/pack.hpp"
#include "columns/summary.hpp"
#include "columns/table.hpp"
#include "core/packed.hpp"
#include "dense/tasks.hpp"
#include "gaussian/gaussian_step.hpp"
#include "panels/panels.hpp"
#include "patterns/patterns.hpp"
#include "sparse/sparse.hpp"
#include "tails/tails.hpp"

namespace kmle {

// Over rows in single or double precision.
template <class T>
struct PackedPasses {
    // The model in single precision, in which rows are scored first, and in double for those that leaves uncertain.
    void (*hard)(const Packed<T>&, const Model<float>&, const Model<double>&, HardTask&);
    void (*soft)(const Packed<T>&, const Model<double>&, SoftTask&);
    void (*own_scores)(const Packed<T>&, const Centered&, std::size_t components, OwnTask&);
    void (*label_sums)(const Packed<T>&, SumsTask&);
    void (*boxes)(const Packed<T>&, const Model<double>&, const Tree&, BoxesTask&);
    void (*bounds)(const Packed<T>&, const Model<float>&, const Model<double>&, const Spans&, const Step&, HardTask&);
    // The log-likelihood, after a bounds pass with the same components.
    void (*bounds_log_likelihood)(const Packed<T>&, const Model<double>&, const Spans&, const Step&,
                                  const std::int32_t* labels, SoftTask&);
    // Measures balls around spans from `first` on; squares about their centers are added up unless null.
    void (*balls)(const Packed<T>&, const Balls&, std::size_t first, std::size_t last, double* squares);
    // Of a table whose rows lie one after the other.
    void (*summarize)(const T*, std::size_t rows, std::size_t columns, Summary&);
    // Scores rows of a table where they lie.
    void (*score_table)(const Table<T>&, TableTask&);
    // Packs rows of a table in either precision.
    void (*pack_doubles)(const PackSource<double>&, PackTask<T>&);
    void (*pack_singles)(const PackSource<float>&, PackTask<T>&);

    void pack(const PackSource<double>& source, PackTask<T>& task) const { pack_doubles(source, task); }
    void pack(const PackSource<float>& source, PackTask<T>& task) const { pack_singles(source, task); }
};

// Over compressed sparse rows.
template <class Value, class Index>
struct SparsePasses {
    using Rows = SparseRows<Value, Index>;
    // The best component of each row from `first` to `last`, the lowest index on a tie; its score too unless null.
    void (*label)(const Rows&, const SparseModel&, std::size_t first, std::size_t last, std::int32_t* labels,
                  double* best);
    void (*soften)(const Rows&, const SparseModel&, SoftRows&);
    // Adds rows, times the shares of the components from `low` to `high`, to sums of [column][width].
    void (*spread)(const Rows&, std::size_t first, std::size_t last, const double* shares, std::size_t width,
                   std::size_t low, std::size_t high, double* sums);
};

// Over the rows of one chunk, with triangular factors. A label says which component to try first; negative: none.
struct PanelsPasses {
    // Gives rows their best components; returns how many labels changed.
    std::int64_t (*hard)(const PanelsData&, const PanelsModel&, std::size_t chunk, std::int32_t* labels);
    // What is reported of each row, and the entropies of responsibilities unless null. Components that add nothing to a
    // row's sum are given up, unless their scores are wanted: they have no share.
    void (*row_scores)(const PanelsData&, const PanelsModel&, std::size_t chunk, const std::int32_t* labels,
                       const RowScores& out, double* entropies);
    // Responsibilities times weights: of component j those from edges[j] to edges[j + 1]. At most `kept` of each row
    // count. Returns the weighted sum of the log-likelihood; labels become the best components.
    double (*shares)(const PanelsData&, const PanelsModel&, std::size_t chunk, std::int32_t* labels,
                     const double* weights, std::size_t kept, Member* members, std::uint32_t* edges);
};

struct Passes {
    const char* name;
    PackedPasses<double> doubles;
    PackedPasses<float> singles;
    SparsePasses<double, std::int32_t> sparse_doubles;
    SparsePasses<double, std::int64_t> sparse_doubles_long;
    SparsePasses<float, std::int32_t> sparse_singles;
    SparsePasses<float, std::int64_t> sparse_singles_long;
    PanelsPasses panels;
    // Adds the products of members to the bands of one task, from band task * bands_at_once on. `sums` are the
    // component's.
    void (*products)(const CenteredRows& rows, const Member* members, std::size_t count, std::size_t task,
                     double* sums);
    // Adds the drift of the components from `first` to `last`.
    void (*add_drift)(const Moves&, std::size_t first, std::size_t last);
    // A step of the Gaussians from `first` to `last`.
    void (*gaussian_step)(const GaussianStep&, std::size_t first, std::size_t last);
    // Over rows with heavy-tailed components, and their scores with those of their labels.
    void (*tails)(const Packed<double>&, const Tailed&, TailsTask&);
    void (*tails_own_scores)(const Packed<double>&, const Tailed&, TailsOwnTask&);
    // Gaussians as rows of a pattern see them, and what such rows add up to once completed.
    void (*see_pattern)(const LaneGaussians&, const Pattern&, const Marginals&);
    void (*complete_pattern)(const LaneGaussians&, const Pattern&, const Marginals&, const Completion&);
    // How many of the cuts, in increasing order, lie at or below each value.
    void (*locate)(const double* values, std::size_t count, const double* cuts, std::size_t cut_count,
                   std::int32_t* places);

    template <class T>
    const PackedPasses<T>& packed() const {
        if constexpr (std::is_same_v<T, double>)
            return doubles;
        else
            return singles;
    }

    template <class Value, class Index>
    const SparsePasses<Value, Index>& sparse() const {
        constexpr bool is_double = std::is_same_v<Value, double>, is_long = std::is_same_v<Index, std::int64_t>;
        if constexpr (is_double && is_long)
            return sparse_doubles_long;
        else if constexpr (is_double)
            return sparse_doubles;
        else if constexpr (is_long)
            return sparse_singles_long;
        else
            return sparse_singles;
    }
};

// One for each instruction set that was compiled (see passes.cpp).
const Passes& baseline_passes();
const Passes& avx2_passes();
const Passes& avx512_passes();

}  // namespace kmle
