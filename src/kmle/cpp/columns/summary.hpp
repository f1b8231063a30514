// The summary of the columns of a table.

#pragma once

namespace kmle {

// Found in one pass; the columns of a row lie together.
struct Summary {
    double *lowest, *highest, *totals;  // [column]
    bool finite, whole;                 // whole: every value is a whole number below 2^51
};

}  // namespace kmle
