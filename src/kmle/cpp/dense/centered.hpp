// Scores by differences to means (see Centered), lane by lane.
//
// Products of columns lose the digits of a component that is narrow for its distance from the center, or of rows far
// away; differences keep them. Every operation is rounded by itself and the order of operations is fixed (see
// centered.cpp), so that these scores are the same to the last bit on every instruction set and in centered.py.

#pragma once

#include "dense/tile.hpp"

namespace kmle {
namespace KMLE_INSTRUCTION_SET {

// Rows scored at a time: a block of rows in double precision.
constexpr std::size_t centered_rows = block_rows<double>;

// Scores of rows, whose columns lie as in a block, with component j. `space` holds a block of the columns. No score is
// below the lowest number or not a number.
void centered_scores(const Centered& centered, std::size_t j, const double* columns, double* space, double* scores);

// Half the sum of squares of the carried entries of L_j^T x, of the same rows.
void half_squares(const Centered& centered, std::size_t j, const double* columns, double* space, double* squares);

}  // namespace KMLE_INSTRUCTION_SET
}  // namespace kmle
