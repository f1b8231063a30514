// Panels passes, and sums of products of columns, as part of the Python module.

#include "bindings/modules.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "bindings/totals.hpp"
#include "core/chosen.hpp"
#include "core/pool.hpp"
#include "panels/panels.hpp"
#include "panels/product_totals.hpp"

namespace kmle {
namespace {

using Factors = Strided<const double, 3>;
using Shifts = Strided<const double, 2>;
using Constants = Strided<const double, 1>;
using Labels = Vector<std::int32_t>;

using Numbers = Vector<double>;
using ConstNumbers = Vector<const double>;
template <class T>
using Table = Strided<const T, 2>;

// Rows as they are, of any stride but with the columns of a row side by side, and the center they are seen from.
class CenteredTable {
public:
    using Rows = std::variant<Table<double>, Table<float>>;

    CenteredTable(const Rows& rows, const ConstNumbers& center) : rows_(rows), center_(center) {
        std::visit(
            [&](const auto& table) {
                require(table.shape(1) > 0 && table.shape(1) < 1u << 31, "rows must have at least one column.");
                require(table.shape(1) == 1 || table.stride(1) == 1, "the columns of a row must lie side by side.");
                require(table.shape(0) < 2 || table.stride(0) >= 0, "rows must lie in increasing order.");
                require_shape("center", center, {table.shape(1)});
            },
            rows);
    }

    std::size_t rows() const {
        return std::visit([](const auto& table) { return table.shape(0); }, rows_);
    }

    void require_fit(std::size_t rows, std::size_t columns) const {
        std::visit([&](const auto& table) { require_shape("rows", table, {rows, columns}); }, rows_);
    }

    CenteredRows view() const {
        return std::visit(
            [&](const auto& table) {
                CenteredRows view{nullptr, nullptr, center_.data(), static_cast<std::size_t>(table.stride(0)),
                                  table.shape(1)};
                if constexpr (std::is_same_v<std::decay_t<decltype(table)>, Table<double>>)
                    view.doubles = table.data();
                else
                    view.singles = table.data();
                return view;
            },
            rows_);
    }

private:
    Rows rows_;
    ConstNumbers center_;
};

// Shares of rows in components: row `places[i]` belongs to `components[i]` by `shares[i]`.
struct Members {
    Vector<const std::int32_t> places, components;
    ConstNumbers shares;

    Members(const Vector<const std::int32_t>& places, const Vector<const std::int32_t>& components,
            const ConstNumbers& shares)
        : places(places), components(components), shares(shares) {
        require(count() < std::numeric_limits<std::uint32_t>::max(), "shares must be fewer than 2**32.");
        require_shape("places", places, {count()});
        require_shape("components", components, {count()});
    }

    std::size_t count() const { return shares.shape(0); }

    void require_fit(std::size_t rows, std::size_t n_components) const {
        require_below("places", places, rows, false);
        require_below("components", components, n_components, false);
    }
};

// Sums of products over the members of all components, by a stable sort of the components of many rows.
void product_sums(const CenteredTable& table, const Members& members, const given::Totals& out, std::size_t threads) {
    const nb::gil_scoped_release unlocked;
    const std::size_t k = out.components(), n = members.count();
    const CenteredRows rows = table.view();
    members.require_fit(table.rows(), k);
    out.require_fit(k, n_statistics_of(Features::quadratic, rows.columns));
    std::vector<std::uint32_t> edges(k + 1, 0), next;
    for (std::size_t i = 0; i < n; ++i) ++edges[members.components.data()[i] + 1];
    for (std::size_t j = 0; j < k; ++j) edges[j + 1] += edges[j];
    next = edges;
    std::vector<Member> grouped(n);
    for (std::size_t i = 0; i < n; ++i)
        grouped[next[members.components.data()[i]]++] = {static_cast<std::uint32_t>(members.places.data()[i]),
                                                         members.shares.data()[i]};
    ProductTotals totals(rows, k, threads, chosen->products);
    totals.add({{grouped.data(), edges.data()}});
    totals.write(out.counts.data(), out.sums.data());
}

// Factors, shifts and constants of the components, copied into panels.
class PanelledModel {
public:
    PanelledModel(const Factors& factors, const Shifts& shifts, const Constants& constants, std::size_t threads)
        : components_(constants.shape(0)), columns_(shifts.shape(1)) {
        require(components_ > 0, "constants must have at least one component.");
        require(columns_ > 0, "shifts must have at least one column.");
        require_shape("factors", factors, {components_, columns_, columns_});
        require_shape("shifts", shifts, {components_, columns_});
        const nb::gil_scoped_release unlocked;
        const PanelsModel empty = view();
        factors_ = zeros<double>(components_ * empty.factor_size());
        shifts_ = zeros<double>(components_ * empty.panels() * panel);
        for (std::vector<double>* each : {&constants_, &guesses_, &norms_, &shift_norms_})
            each->assign(components_, 0.0);
        Pool::run(components_, threads, [&](std::size_t j) { place(j, factors, shifts, constants); });
    }

    std::size_t components() const { return components_; }
    std::size_t columns() const { return columns_; }

    PanelsModel view() const {
        return {factors_.get(), shifts_.get(),       constants_.data(), guesses_.data(),
                norms_.data(),  shift_norms_.data(), components_,       columns_};
    }

private:
    void place(std::size_t j, const Factors& factors, const Shifts& shifts, const Constants& constants) {
        const PanelsModel model = view();
        constants_[j] = guesses_[j] = constants.data()[static_cast<std::int64_t>(j) * constants.stride(0)];
        if (!model.active(j)) return;  // its factor may be anything and stays zero
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
    Aligned<double> factors_, shifts_;
    std::vector<double> constants_, guesses_, norms_, shift_norms_;
};

class PanelsRows {
public:
    PanelsRows(std::size_t rows, std::size_t columns, std::size_t threads)
        : rows_(rows), columns_(columns), threads_(threads), values_(zeros<double>(table_size(rows, columns))),
          leading_(zeros<double>(padded() * view().leading_columns())), norms_(padded(), 0.0) {
        require(columns > 0 && columns < 1u << 31, "columns must be at least one, and below 2**31.");
    }

    // Copies rows into their places, from row `first` on.
    void load(std::size_t first, const Strided<const double, 2>& rows) {
        const nb::gil_scoped_release unlocked;
        require_shape("rows", rows, {rows.shape(0), columns_});
        require_room(first, rows.shape(0), rows_);
        const std::size_t leading_columns = view().leading_columns();
        for (std::size_t i = first; i < first + rows.shape(0); ++i) {
            const double* from = rows.data() + static_cast<std::int64_t>(i - first) * rows.stride(0);
            double* row = values_.get() + i * columns_;
            double square = 0.0;
            for (std::size_t c = 0; c < columns_; ++c) {
                row[c] = from[static_cast<std::int64_t>(c) * rows.stride(1)];
                square += row[c] * row[c];
            }
            norms_[i] = std::sqrt(square);
            double* block = leading_.get() + i / panels_block * panels_block * leading_columns + i % panels_block;
            for (std::size_t c = 0; c < leading_columns; ++c) block[c * panels_block] = row[c];
        }
    }

    // Returns how many labels changed.
    std::int64_t hard_pass(const PanelledModel& model, const Labels& labels) {
        const nb::gil_scoped_release unlocked;
        check(model, labels);
        std::vector<std::int64_t> changed(view().chunks());
        Pool::run(changed.size(), threads_, [&](std::size_t chunk) {
            changed[chunk] = chosen->panels.hard(view(), model.view(), chunk, labels.data());
        });
        std::int64_t total = 0;
        for (const std::int64_t part : changed) total += part;
        return total;
    }

    // What is reported of each row by itself, and the entropies of its responsibilities where wanted.
    void row_scores(const PanelledModel& model, const Vector<const std::int32_t>& labels, const given::RowScores& out,
                    const std::optional<Numbers>& entropies) {
        const nb::gil_scoped_release unlocked;
        check(model, labels);
        out.require_fit(rows_, model.components());
        if (entropies) require_shape("entropies", *entropies, {rows_});
        const RowScores wanted = out.view(false);
        Pool::run(view().chunks(), threads_, [&](std::size_t chunk) {
            chosen->panels.row_scores(view(), model.view(), chunk, labels.data(), wanted,
                                      entropies ? entropies->data() : nullptr);
        });
    }

    // Statistics by responsibility of rows given as they are; returns the weighted sum of the log-likelihood. The rows
    // are treated in blocks, so that the responsibilities of few rows are held at a time.
    double soft_pass(const PanelledModel& model, const Labels& labels, const CenteredTable& table,
                     const std::optional<ConstNumbers>& weights, std::size_t kept, const given::Totals& out) {
        const nb::gil_scoped_release unlocked;
        const std::size_t k = model.components();
        check(model, labels);
        if (weights) require_shape("weights", *weights, {rows_});
        table.require_fit(rows_, columns_);
        require_kept(kept, k);
        out.require_fit(k, n_statistics_of(Features::quadratic, columns_));
        const std::size_t chunks = view().chunks(), at_once = std::min(chunks, chunks_at_once);
        const CenteredRows rows = table.view();
        ProductTotals totals(rows, k, threads_, chosen->products);
        // Not initialised, nor in large pages: pages that no member needs are never touched.
        const std::unique_ptr<Member[]> members(new Member[at_once * panels_chunk * k]);
        std::vector<std::uint32_t> edges(at_once * (k + 1));
        std::vector<double> log_likelihood(chunks);
        for (std::size_t first = 0; first < chunks; first += at_once) {
            std::vector<MemberLists> parts(std::min(at_once, chunks - first));
            Pool::run(parts.size(), threads_, [&](std::size_t c) {
                Member* own = members.get() + c * panels_chunk * k;
                std::uint32_t* own_edges = edges.data() + c * (k + 1);
                log_likelihood[first + c] =
                    chosen->panels.shares(view(), model.view(), first + c, labels.data(),
                                          weights ? weights->data() : nullptr, kept, own, own_edges);
                parts[c] = {own, own_edges};
            });
            totals.add(parts);
        }
        totals.write(out.counts.data(), out.sums.data());
        double total = 0.0;
        for (const double part : log_likelihood) total += part;
        return total;
    }

private:
    // Chunks whose responsibilities are held together: enough for the threads of a large machine.
    static constexpr std::size_t chunks_at_once = 32;

    template <class GivenLabels>
    void check(const PanelledModel& model, const GivenLabels& labels) const {
        require(model.columns() == columns_, "the model must have as many columns as the rows.");
        require_shape("labels", labels, {rows_});
        require_below("labels", labels, model.components(), true);
    }

    std::size_t padded() const { return rounded_up(rows_, panels_block); }
    PanelsData view() const { return {values_.get(), leading_.get(), norms_.data(), rows_, columns_}; }

    std::size_t rows_, columns_, threads_;
    Aligned<double> values_, leading_;
    std::vector<double> norms_;
};

}  // namespace

void define_panels(nb::module_& module) {
    nb::class_<PanelledModel>(module, "PanelsModel")
        .def(nb::init<const Factors&, const Shifts&, const Constants&, std::size_t>(), nb::arg("factors").noconvert(),
             nb::arg("shifts").noconvert(), nb::arg("constants").noconvert(), nb::arg("threads"));
    nb::class_<CenteredTable>(module, "CenteredTable")
        .def(nb::init<const CenteredTable::Rows&, const ConstNumbers&>(), nb::arg("rows").noconvert(),
             nb::arg("center").noconvert());
    nb::class_<Members>(module, "Members")
        .def(nb::init<const Vector<const std::int32_t>&, const Vector<const std::int32_t>&, const ConstNumbers&>(),
             nb::arg("places").noconvert(), nb::arg("components").noconvert(), nb::arg("shares").noconvert());
    nb::class_<PanelsRows>(module, "PanelsRows")
        .def(nb::init<std::size_t, std::size_t, std::size_t>(), nb::arg("rows"), nb::arg("columns"), nb::arg("threads"))
        .def("load", &PanelsRows::load, nb::arg("first"), nb::arg("rows").noconvert())
        .def("hard_pass", &PanelsRows::hard_pass, nb::arg("model"), nb::arg("labels").noconvert())
        .def("row_scores", &PanelsRows::row_scores, nb::arg("model"), nb::arg("labels").noconvert(), nb::arg("out"),
             nb::arg("entropies").noconvert().none())
        .def("soft_pass", &PanelsRows::soft_pass, nb::arg("model"), nb::arg("labels").noconvert(), nb::arg("table"),
             nb::arg("weights").noconvert().none(), nb::arg("kept"), nb::arg("totals"));
    module.def("product_sums", &product_sums, nb::arg("table"), nb::arg("members"), nb::arg("totals"),
               nb::arg("threads"));
}

}  // namespace kmle
