// Means, factors and constants as Python gives them, and the bounds that the passes need beside them.

#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "boxes/grouped_model.hpp"

namespace kmle {

// Components by means, factors of precisions and constants (see Centered), one after the other.
class CenteredForm {
public:
    CenteredForm(const Matrix<const double>& mean, const Matrix<const double>& factor,
                 const Vector<const double>& constant, const Matrix<const double>& linear,
                 const std::vector<std::size_t>& places, const std::vector<std::size_t>& linear_places,
                 const std::vector<bool>& carried)
        : mean_(copied(mean)), factor_(copied(factor)), constant_(copied(constant)), linear_(copied(linear)),
          places_(places), linear_places_(linear_places), carried_(carried.begin(), carried.end()),
          length_(factor.shape(1)), any_carried_(std::count(carried.begin(), carried.end(), true) > 0) {
        const std::size_t k = constant.shape(0), c = places.size();
        require_shape("mean", mean, {k, c});
        require(carried.size() == c, "carried must have one truth for each column of mean.");
        require_shape("factor", factor, {k, length_ == c ? c : c * (c + 1) / 2});
        require_shape("linear", linear, {k, linear_places.size()});
    }

    // Of triangular factors, without linear terms.
    CenteredForm(std::vector<double> mean, std::vector<double> factor, std::vector<double> constant,
                 std::vector<std::size_t> places)
        : mean_(std::move(mean)), factor_(std::move(factor)), constant_(std::move(constant)),
          places_(std::move(places)), carried_(places_.size()), length_(places_.size() * (places_.size() + 1) / 2),
          any_carried_(false) {}

    // Whether the form has these components, on rows with that many columns.
    void require_fit(std::size_t components, std::size_t columns) const {
        const auto is_column = [&](std::size_t place) { return place < columns; };
        require(constant_.size() == components, "centered must have as many components as natural.");
        require(std::all_of(places_.begin(), places_.end(), is_column) &&
                    std::all_of(linear_places_.begin(), linear_places_.end(), is_column),
                "the places of centered must be columns of the rows.");
    }

    Centered view(std::size_t first) const {
        const std::size_t columns = places_.size(), others = linear_places_.size();
        return {places_.data(),
                linear_places_.data(),
                mean_.data() + first * columns,
                linear_.data() + first * others,
                factor_.data() + first * length_,
                constant_.data() + first,
                nullptr,
                nullptr,
                columns,
                length_,
                others,
                length_ > columns,
                any_carried_,
                carried_.data()};
    }

private:
    template <class Given>
    static std::vector<double> copied(const Given& given) {
        return {given.data(), given.data() + given.size()};
    }

    std::vector<double> mean_, factor_, constant_, linear_;
    std::vector<std::size_t> places_, linear_places_;
    std::vector<std::uint8_t> carried_;
    std::size_t length_;
    bool any_carried_;
};

// The form of some of the components with bounds on their scores; empty where no form is given.
class BoundedForm {
public:
    BoundedForm(const CenteredForm* form, std::size_t first, const Model<double>& model) {
        if (!form) return;
        const std::size_t padded = model.padded();
        view_ = form->view(first);
        magnitudes_.assign((model.n_statistics + 1) * padded, 0.0);
        reach_.assign((view_.columns + 1) * padded, 0.0f);
        for (std::size_t j = 0; j < model.components; ++j) {
            if (!view_.active(j)) continue;
            magnitudes_[j] = std::abs(model.bias[j]);
            for (std::size_t f = 0; f < model.n_statistics; ++f)
                magnitudes_[(f + 1) * padded + j] = std::abs(model.natural[j * model.n_statistics + f]);
            find_reach(j, padded);
        }
        view_.magnitudes = magnitudes_.data();
        view_.reach = reach_.data();
        given_ = true;
    }

    const Centered* view() const { return given_ ? &view_ : nullptr; }

private:
    // The norms of the rows of the factor, which are the square roots of the diagonal of the precision.
    void find_reach(std::size_t j, std::size_t padded) {
        std::vector<double> squares(view_.columns, 0.0);
        const double* factor = view_.factor_of(j);
        for (std::size_t b = 0; b < view_.columns; ++b)
            for (std::size_t a = b; a < (view_.triangular ? view_.columns : b + 1); ++a, ++factor)
                squares[a] += *factor * *factor;
        double at_mean = 0.0;
        for (std::size_t a = 0; a < view_.columns; ++a) {
            reach_[(a + 1) * padded + j] = static_cast<float>(std::sqrt(squares[a]));
            at_mean += std::sqrt(squares[a]) * std::abs(view_.mean_of(j)[a]);
        }
        reach_[j] = static_cast<float>(at_mean);
    }

    Centered view_{};
    std::vector<double> magnitudes_;
    std::vector<float> reach_;
    bool given_ = false;
};

}  // namespace kmle
