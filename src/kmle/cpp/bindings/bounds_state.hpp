// What bounds passes know of spans of rows and of the steps of components, as Python holds it (see totals.hpp). The
// structures of the same names in bounds/spans.hpp say what each array is.

#pragma once

#include "bindings/arrays.hpp"
#include "bounds/spans.hpp"

namespace kmle {

// Spans are whole blocks of rows.
inline std::size_t span_count(std::size_t rows, std::size_t rows_each) {
    require(rows_each > 0 && rows_each % batch_rows == 0, "rows_each must be a multiple of 64.");
    return rows / rows_each + (rows % rows_each > 0);
}

namespace given {

// Balls around spans of `rows_each` rows: anchors and radii (m,), centers (k, D), scale (D,).
struct Balls {
    std::size_t rows_each;
    Matrix<const double> centers;
    Vector<const std::int32_t> anchors;
    Vector<float> radii;
    Vector<const double> scale;

    Balls(std::size_t rows_each, const Matrix<const double>& centers, const Vector<const std::int32_t>& anchors,
          const Vector<float>& radii, const Vector<const double>& scale)
        : rows_each(rows_each), centers(centers), anchors(anchors), radii(radii), scale(scale) {
        span_count(0, rows_each);
        require_shape("radii", radii, {anchors.shape(0)});
        require_shape("scale", scale, {centers.shape(1)});
    }

    // Anchors lie below a number of components, for each of which there is a center.
    void require_fit(std::size_t rows, std::size_t components, std::size_t n_statistics) const {
        require_shape("anchors", anchors, {span_count(rows, rows_each)});
        require_shape("centers", centers, {components, n_statistics});
        require_below("anchors", anchors, components, false);
    }

    kmle::Balls view(std::size_t every) const {
        return {rows_each, every, scale.data(), centers.data(), anchors.data(), radii.data()};
    }
};

// Margin bounds (m, width) and limits (m,) of the spans of some balls.
struct MarginBounds {
    Matrix<float> margin_bounds;
    Vector<double> limits;
    Balls balls;

    MarginBounds(const Matrix<float>& margin_bounds, const Vector<double>& limits, const Balls& balls)
        : margin_bounds(margin_bounds), limits(limits), balls(balls) {
        const std::size_t spans = balls.anchors.shape(0);
        require(width() % 16 == 0, "lines of margin_bounds must be a multiple of 16 long.");
        require_shape("margin_bounds", margin_bounds, {spans, width()});
        require_shape("limits", limits, {spans});
    }

    std::size_t width() const { return margin_bounds.shape(1); }

    void require_fit(std::size_t rows, std::size_t components, std::size_t n_statistics) const {
        balls.require_fit(rows, components, n_statistics);
        require(width() >= components, "lines of margin_bounds must not be shorter than the components.");
    }

    Spans view() const {
        return {balls.rows_each,    width(), margin_bounds.data(), limits.data(), balls.anchors.data(),
                balls.radii.data(), nullptr};
    }
};

// How components have moved, in the last step and since the first: lines (k, width), and numbers (k,).
struct Step {
    Matrix<float> change, apart;
    double rounding;
    Matrix<float> gained, reached;
    Vector<double> most_gained, most_apart;

    Step(const Matrix<float>& change, const Matrix<float>& apart, double rounding, const Matrix<float>& gained,
         const Matrix<float>& reached, const Vector<double>& most_gained, const Vector<double>& most_apart)
        : change(change), apart(apart), rounding(rounding), gained(gained), reached(reached), most_gained(most_gained),
          most_apart(most_apart) {
        const std::size_t k = components();
        require_shape("apart", apart, {k, width()});
        require_shape("gained", gained, {k, width()});
        require_shape("reached", reached, {k, width()});
        require_shape("most_gained", most_gained, {k});
        require_shape("most_apart", most_apart, {k});
    }

    std::size_t components() const { return change.shape(0); }
    std::size_t width() const { return change.shape(1); }

    void require_fit(std::size_t components, std::size_t width) const {
        require_shape("change", change, {components, width});
    }

    // The bound on rounding is increased, so that single precision does not round it down.
    kmle::Step view() const {
        return {change.data(),    apart.data(),   static_cast<float>(1.000001 * rounding),
                gained.data(),    reached.data(), most_gained.data(),
                most_apart.data()};
    }
};

}  // namespace given
}  // namespace kmle
