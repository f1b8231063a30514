// The table of the passes of one instruction set. Compiled once for each: KMLE_INSTRUCTION_SET names it,
// KMLE_VECTOR_BYTES is the width of its registers, and module.cpp chooses among the tables at import.

#include "core/passes.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// In hard.cpp, label_sums.cpp, own_scores.cpp, boxes.cpp, bounds.cpp, bounds_log_likelihood.cpp, soft.cpp,
// spans.cpp, summary.cpp and drift.cpp.
template <class T>
void hard(const Packed<T>&, const Model<float>&, const Model<double>&, HardTask&);
template <class T>
void bounds_pass(const Packed<T>&, const Model<float>&, const Model<double>&, const Spans&, const Step&, HardTask&);
template <class T>
void bounds_log_likelihood(const Packed<T>&, const Model<double>&, const Spans&, const Step&, const std::int32_t*,
                       SoftTask&);
void add_drift(const Moves&, std::size_t, std::size_t);
template <class T>
void balls(const Packed<T>&, const Balls&, std::size_t, std::size_t, double*);
template <class T>
void boxes_pass(const Packed<T>&, const Model<double>&, const Tree&, BoxesTask&);
template <class T>
void label_sums(const Packed<T>&, SumsTask&);
template <class T>
void soft(const Packed<T>&, const Model<double>&, SoftTask&);
template <class T>
void own_scores(const Packed<T>&, const Centered&, std::size_t, OwnTask&);
template <class T>
void summarize(const T*, std::size_t, std::size_t, Summary&);
void locate(const double*, std::size_t, const double*, std::size_t, std::int32_t*);
// In products.cpp, gaussian_step.cpp, sparse.cpp, table.cpp and panels.cpp.
void products(const CentredRows&, const Member*, std::size_t, std::size_t, double*);
template <class T>
void score_table(const Table<T>&, TableTask&);
void gaussian_step(const GaussianStep&, std::size_t, std::size_t);
extern const SparsePasses sparse_passes;
extern const PanelsPasses panels_passes;

}  // namespace KMLE_INSTRUCTION_SET

const Passes& KMLE_TABLE_FUNCTION() {
    using namespace KMLE_INSTRUCTION_SET;
    static const Passes table = {
        KMLE_INSTRUCTION_SET_NAME,
        &hard<double>,
        &hard<float>,
        &boxes_pass<double>,
        &boxes_pass<float>,
        &bounds_pass<double>,
        &bounds_pass<float>,
        &bounds_log_likelihood<double>,
        &bounds_log_likelihood<float>,
        &add_drift,
        &balls<double>,
        &balls<float>,
        &label_sums<double>,
        &label_sums<float>,
        &soft<double>,
        &soft<float>,
        &own_scores<double>,
        &own_scores<float>,
        &summarize<double>,
        &summarize<float>,
        &locate,
        &products,
        &score_table<double>,
        &score_table<float>,
        &gaussian_step,
        &sparse_passes,
        &panels_passes,
    };
    return table;
}

}  // namespace kmle
