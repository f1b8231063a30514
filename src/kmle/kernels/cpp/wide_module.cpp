// The Python face of the wide pass, beside module.cpp and under its rules.

#include "wide_module.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "pool.hpp"
#include "wide.hpp"

namespace nb = nanobind;

namespace kmle {
namespace {

template <class T, std::size_t dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::device::cpu>;

const Passes* const* chosen = nullptr;

struct WidePasses {
    WidePass* hard;
    WideEvidence* evidence;
};

WidePasses chosen_wide() {
#ifdef KMLE_X86
    if (!std::strcmp((*chosen)->name, "avx2")) return {&avx2_wide, &avx2_wide_evidence};
    if (!std::strcmp((*chosen)->name, "avx512")) return {&avx512_wide, &avx512_wide_evidence};
#endif
    return {&baseline_wide, &baseline_wide_evidence};
}

struct AlignedDelete {
    void operator()(double* data) const { ::operator delete(data, std::align_val_t(64)); }
};
using Aligned = std::unique_ptr<double[], AlignedDelete>;

Aligned zeros(std::size_t size) {
    const std::size_t bytes = std::max<std::size_t>(size, 1) * sizeof(double);
    Aligned data(static_cast<double*>(::operator new(bytes, std::align_val_t(64))));
    std::fill_n(data.get(), size, 0.0);
    return data;
}

// Factors, shifts and constants in the form the pass wants.
class PanelledModel {
public:
    PanelledModel(const Array<const double, 3>& factors, const Array<const double, 2>& shifts,
                  const Array<const double, 1>& constants, std::size_t threads)
        : components_(constants.shape(0)), columns_(shifts.shape(1)) {
        const WideModel empty = view();
        factors_ = zeros(components_ * empty.factor_size());
        shifts_ = zeros(components_ * empty.panels() * panel);
        for (std::vector<double>* each : {&constants_, &guesses_, &norms_, &shift_norms_})
            each->assign(components_, 0.0);
        Pool::run(components_, threads, [&](std::size_t j) { place(j, factors, shifts, constants); });
    }

    WideModel view() const {
        return {factors_.get(), shifts_.get(),       constants_.data(), guesses_.data(),
                norms_.data(),  shift_norms_.data(), components_,       columns_};
    }

private:
    void place(std::size_t j, const Array<const double, 3>& factors, const Array<const double, 2>& shifts,
               const Array<const double, 1>& constants) {
        const WideModel model = view();
        constants_[j] = guesses_[j] = constants.data()[static_cast<std::int64_t>(j) * constants.stride(0)];
        if (!model.alive(j)) return;  // its factor may be anything and stays zero
        const double* factor = factors.data() + static_cast<std::int64_t>(j) * factors.stride(0);
        const double* shift = shifts.data() + static_cast<std::int64_t>(j) * shifts.stride(0);
        double square = 0.0, shift_square = 0.0;
        for (std::size_t r = 0; r < columns_; ++r) {
            const double* from = factor + static_cast<std::int64_t>(r) * factors.stride(1);
            double* to = factors_.get() + (model.factor(j, r / panel) - model.factors) + r % panel;
            for (std::size_t c = 0; c <= r; ++c) {
                const double value = from[static_cast<std::int64_t>(c) * factors.stride(2)];
                to[c * panel] = value;
                square += value * value;
            }
            const double value = shift[static_cast<std::int64_t>(r) * shifts.stride(1)];
            shifts_[j * model.panels() * panel + r] = value;
            shift_square += value * value;
            if (r >= panel) guesses_[j] -= std::log(std::abs(to[r * panel]));
        }
        norms_[j] = std::sqrt(square);
        shift_norms_[j] = std::sqrt(shift_square);
    }

    std::size_t components_, columns_;
    Aligned factors_, shifts_;
    std::vector<double> constants_, guesses_, norms_, shift_norms_;
};

class WideRows {
public:
    WideRows(std::size_t rows, std::size_t columns, std::size_t threads)
        : rows_(rows),
          columns_(columns),
          threads_(threads),
          values_(zeros(rows * columns)),
          leading_(zeros(padded() * view().lead())),
          norms_(padded(), 0.0) {}

    // Copies rows into their places, from row `first` on.
    void load(std::size_t first, const Array<const double, 2>& rows) {
        const nb::gil_scoped_release unlocked;
        const std::size_t lead = view().lead();
        for (std::size_t i = first; i < first + rows.shape(0); ++i) {
            const double* from = rows.data() + static_cast<std::int64_t>(i - first) * rows.stride(0);
            double* row = values_.get() + i * columns_;
            double square = 0.0;
            for (std::size_t c = 0; c < columns_; ++c) {
                row[c] = from[static_cast<std::int64_t>(c) * rows.stride(1)];
                square += row[c] * row[c];
            }
            norms_[i] = std::sqrt(square);
            double* block = leading_.get() + i / wide_block * wide_block * lead + i % wide_block;
            for (std::size_t c = 0; c < lead; ++c) block[c * wide_block] = row[c];
        }
    }

    std::int64_t hard_pass(const Array<const double, 3>& factors, const Array<const double, 2>& shifts,
                           const Array<const double, 1>& constants, const Array<std::int32_t, 1>& labels) {
        const nb::gil_scoped_release unlocked;
        const PanelledModel model(factors, shifts, constants, threads_);
        std::vector<std::int64_t> changed(view().chunks());
        Pool::run(changed.size(), threads_, [&](std::size_t chunk) {
            changed[chunk] = chosen_wide().hard(view(), model.view(), chunk, labels.data());
        });
        std::int64_t total = 0;
        for (const std::int64_t part : changed) total += part;
        return total;
    }

    void evidence(const Array<const double, 3>& factors, const Array<const double, 2>& shifts,
                  const Array<const double, 1>& constants, const Array<const std::int32_t, 1>& labels,
                  const Array<double, 1>& evidence, const Array<double, 1>& entropies) {
        const nb::gil_scoped_release unlocked;
        const PanelledModel model(factors, shifts, constants, threads_);
        Pool::run(view().chunks(), threads_, [&](std::size_t chunk) {
            chosen_wide().evidence(view(), model.view(), chunk, labels.data(), evidence.data(), entropies.data());
        });
    }

private:
    std::size_t padded() const { return rounded_up(rows_, wide_block); }
    WideData view() const { return {values_.get(), leading_.get(), norms_.data(), rows_, columns_}; }

    std::size_t rows_, columns_, threads_;
    Aligned values_, leading_;
    std::vector<double> norms_;
};

}  // namespace

void define_wide(nb::module_& module, const Passes* const& passes) {
    chosen = &passes;
    nb::class_<WideRows>(module, "WideRows")
        .def(nb::init<std::size_t, std::size_t, std::size_t>(), nb::arg("rows"), nb::arg("columns"), nb::arg("threads"))
        .def("load", &WideRows::load, nb::arg("first"), nb::arg("rows").noconvert())
        .def("hard_pass", &WideRows::hard_pass, nb::arg("factors").noconvert(), nb::arg("shifts").noconvert(),
             nb::arg("constants").noconvert(), nb::arg("labels").noconvert())
        .def("evidence", &WideRows::evidence, nb::arg("factors").noconvert(), nb::arg("shifts").noconvert(),
             nb::arg("constants").noconvert(), nb::arg("labels").noconvert(), nb::arg("evidence").noconvert(),
             nb::arg("entropies").noconvert());
}

}  // namespace kmle
