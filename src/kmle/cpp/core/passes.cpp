// The table of the passes of one instruction set. Compiled once for each: KMLE_INSTRUCTION_SET names it,
// KMLE_VECTOR_BYTES is the width of its registers, and module.cpp chooses among the tables at import.

#include "core/passes.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// In the folders of the engines.
template <class T>
void hard(const Packed<T>&, const Model<float>&, const Model<double>&, HardTask&);
template <class T>
void soft(const Packed<T>&, const Model<double>&, SoftTask&);
template <class T>
void own_scores(const Packed<T>&, const Centered&, std::size_t, OwnTask&);
template <class T>
void label_sums(const Packed<T>&, SumsTask&);
template <class T>
void boxes_pass(const Packed<T>&, const Model<double>&, const Tree&, BoxesTask&);
template <class T>
void bounds_pass(const Packed<T>&, const Model<float>&, const Model<double>&, const Spans&, const Step&, HardTask&);
template <class T>
void bounds_log_likelihood(const Packed<T>&, const Model<double>&, const Spans&, const Step&, const std::int32_t*,
                           SoftTask&);
template <class T>
void balls(const Packed<T>&, const Balls&, std::size_t, std::size_t, double*);
void add_drift(const Moves&, std::size_t, std::size_t);
template <class T>
void summarize(const T*, std::size_t, std::size_t, Summary&);
template <class T>
void score_table(const Table<T>&, TableTask&);
template <class From, class To>
void pack(const PackSource<From>&, PackTask<To>&);
void locate(const double*, std::size_t, const double*, std::size_t, std::int32_t*);
template <class Value, class Index>
void label_sparse(const SparseRows<Value, Index>&, const SparseModel&, std::size_t, std::size_t, std::int32_t*,
                  double*);
template <class Value, class Index>
void soften_sparse(const SparseRows<Value, Index>&, const SparseModel&, SoftRows&);
template <class Value, class Index>
void spread_sparse(const SparseRows<Value, Index>&, std::size_t, std::size_t, const double*, std::size_t, std::size_t,
                   std::size_t, double*);
std::int64_t label_panels(const PanelsData&, const PanelsModel&, std::size_t, std::int32_t*);
void score_panels(const PanelsData&, const PanelsModel&, std::size_t, const std::int32_t*, const RowScores&, double*);
double share_panels(const PanelsData&, const PanelsModel&, std::size_t, std::int32_t*, const double*, std::size_t,
                    Member*, std::uint32_t*);
void gaussian_step(const GaussianStep&, std::size_t, std::size_t);
void products(const CenteredRows&, const Member*, std::size_t, std::size_t, double*);
void tails(const Packed<double>&, const Tailed&, TailsTask&);
void tails_own_scores(const Packed<double>&, const Tailed&, TailsOwnTask&);
void see_pattern(const LaneGaussians&, const Pattern&, const Marginals&);
void complete_pattern(const LaneGaussians&, const Pattern&, const Marginals&, const Completion&);

namespace {

template <class T>
constexpr PackedPasses<T> packed_passes = {&hard<T>,
                                           &soft<T>,
                                           &own_scores<T>,
                                           &label_sums<T>,
                                           &boxes_pass<T>,
                                           &bounds_pass<T>,
                                           &bounds_log_likelihood<T>,
                                           &balls<T>,
                                           &summarize<T>,
                                           &score_table<T>,
                                           &pack<double, T>,
                                           &pack<float, T>};

template <class Value, class Index>
constexpr SparsePasses<Value, Index> sparse_passes = {&label_sparse<Value, Index>, &soften_sparse<Value, Index>,
                                                      &spread_sparse<Value, Index>};

}  // namespace
}  // namespace KMLE_INSTRUCTION_SET

const Passes& KMLE_TABLE_FUNCTION() {
    using namespace KMLE_INSTRUCTION_SET;
    static const Passes table = {
        KMLE_INSTRUCTION_SET_NAME,
        packed_passes<double>,
        packed_passes<float>,
        sparse_passes<double, std::int32_t>,
        sparse_passes<double, std::int64_t>,
        sparse_passes<float, std::int32_t>,
        sparse_passes<float, std::int64_t>,
        {&label_panels, &score_panels, &share_panels},
        &products,
        &add_drift,
        &gaussian_step,
        &tails,
        &tails_own_scores,
        &see_pattern,
        &complete_pattern,
        &locate,
    };
    return table;
}

}  // namespace kmle
