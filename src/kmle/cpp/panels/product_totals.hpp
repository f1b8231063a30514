// Sums of products of all components, gathered on the pool; see products.hpp.

#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/memory.hpp"
#include "core/pool.hpp"
#include "panels/products.hpp"

namespace kmle {

// Members of each component in some part of the rows: of component j those from edges[j] to edges[j + 1].
struct MemberLists {
    const Member* members;
    const std::uint32_t* edges;
};

class ProductTotals {
public:
    using ProductSums = decltype(Passes::products);

    ProductTotals(const CenteredRows& rows, std::size_t components, std::size_t threads, ProductSums sum)
        : rows_(rows), bands_{rows.columns}, components_(components), threads_(threads), sum_(sum),
          sums_(zeros<double>(components * bands_.size())) {}

    // Adds the members of some parts, in their order.
    void add(const std::vector<MemberLists>& parts) {
        Pool::run(components_ * bands_.tasks(), threads_, [&](std::size_t task) {
            const std::size_t j = task / bands_.tasks(), band = task % bands_.tasks();
            for (const MemberLists& part : parts)
                if (part.edges[j + 1] > part.edges[j])
                    sum_(rows_, part.members + part.edges[j], part.edges[j + 1] - part.edges[j], band, component(j));
        });
    }

    // Counts [component], and sums [component][statistic]: of the columns, then of their products, packed.
    void write(double* counts, double* sums) const {
        const std::size_t d = rows_.columns, n_statistics = n_statistics_of(Features::quadratic, d);
        for (std::size_t j = 0; j < components_; ++j) {
            double *linear = sums + j * n_statistics, *packed = linear + d;
            for (std::size_t i = 0; i < d; ++i) {
                const double* row = at(j, i, i);
                linear[i] = row[d - i];
                packed = std::copy_n(row, d - i, packed);
            }
            counts[j] = *at(j, d, d);
        }
    }

private:
    double* component(std::size_t j) const { return sums_.get() + j * bands_.size(); }

    const double* at(std::size_t j, std::size_t row, std::size_t column) const {
        const std::size_t band = row / band_rows;
        return component(j) + bands_.offset(band) + row % band_rows * bands_.width(band) + column - band * band_rows;
    }

    const CenteredRows& rows_;
    Bands bands_;
    std::size_t components_, threads_;
    ProductSums sum_;
    Aligned<double> sums_;
};

}  // namespace kmle
