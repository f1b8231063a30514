// The table of the passes of one instruction set. Compiled once for each: KMLE_INSTRUCTION_SET names it,
// KMLE_VECTOR_BYTES is the width of its registers, and module.cpp chooses among the tables at import.

#include "passes.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// In hard.cpp, label_sums.cpp, pruned.cpp, skipping.cpp, skipping_evidence.cpp, soft.cpp, stretches.cpp, survey.cpp and
// used.cpp.
template <class T>
void hard(const Packed<T>&, const Model<float>&, const Model<double>&, HardTask&);
template <class T>
void skipping(const Packed<T>&, const Model<float>&, const Model<double>&, const Stretches&, const Step&, HardTask&);
template <class T>
void skipping_evidence(const Packed<T>&, const Model<double>&, const Stretches&, const Step&, const std::int32_t*,
                       SoftTask&);
void use_up(const Moves&, std::size_t, std::size_t);
template <class T>
void balls(const Packed<T>&, const Balls&, std::size_t, std::size_t, double*);
template <class T>
void pruned(const Packed<T>&, const Model<double>&, const Tree&, PrunedTask&);
template <class T>
void label_sums(const Packed<T>&, SumsTask&);
template <class T>
void soft(const Packed<T>&, const Model<double>&, SoftTask&);
template <class T>
void survey(const T*, std::size_t, std::size_t, Survey&);
void locate(const double*, std::size_t, const double*, std::size_t, std::int32_t*);
// In products.cpp, sparse.cpp and wide.cpp.
void products(const CentredRows&, const Member*, std::size_t, std::size_t, double*);
extern const SparsePasses sparse_passes;
extern const WidePasses wide_passes;

}  // namespace KMLE_INSTRUCTION_SET

const Passes& KMLE_TABLE_FUNCTION() {
    using namespace KMLE_INSTRUCTION_SET;
    static const Passes table = {
        KMLE_INSTRUCTION_SET_NAME,
        &hard<double>,
        &hard<float>,
        &pruned<double>,
        &pruned<float>,
        &skipping<double>,
        &skipping<float>,
        &skipping_evidence<double>,
        &skipping_evidence<float>,
        &use_up,
        &balls<double>,
        &balls<float>,
        &label_sums<double>,
        &label_sums<float>,
        &soft<double>,
        &soft<float>,
        &survey<double>,
        &survey<float>,
        &locate,
        &products,
        &sparse_passes,
        &wide_passes,
    };
    return table;
}

}  // namespace kmle
