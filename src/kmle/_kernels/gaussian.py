"""Many small full Gaussians at once, compiled; where the module is missing the callers' NumPy formulas serve."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backend import selected
from .mixture_step import Mixtures, MixtureStep, Pace, Progress, StepSetting
from .packed import PackedRows

Floats = NDArray[np.float64]

# With more columns LAPACK is quicker.
MOST_COLUMNS = 24
# As mclust names them, in the order that the kernel numbers them.
COVARIANCE_MODELS = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")


def gaussian_natural(
    moments: NDArray[Any], spread: NDArray[Any], smallest: float, rounding: float
) -> tuple[Floats, NDArray[np.bool_]] | None:
    """Natural parameters (m, D) of moments (m, D), and which of them are safe; None where there is no such kernel.

    Covariances narrower than a positive spread are widened to it. Not safe, and not computed, is one close to singular:
    it minus diag(spread^2) is not positive definite and a spread is zero, the square of a diagonal entry of its
    Cholesky factor is at most `smallest` times the variance, or a variance at most `rounding` times the second moment.
    """
    n_columns = len(spread)
    compiled = selected.module
    if compiled is None or n_columns > MOST_COLUMNS or moments.ndim != 2:
        return None
    natural, safe = np.empty(moments.shape), np.empty(len(moments), dtype=np.uint8)
    given = np.ascontiguousarray(moments, dtype=float), np.ascontiguousarray(spread, dtype=float)
    compiled.gaussian_natural(*given, smallest, rounding, natural, safe)
    return natural, safe.view(bool)


def gaussian_has_spread(natural: NDArray[Any], spread: NDArray[Any], rounding: float) -> NDArray[np.bool_] | None:
    """Which natural parameters (m, D) have covariances no narrower than a spread; None without the kernel."""
    compiled = selected.module
    if compiled is None or len(spread) > MOST_COLUMNS or natural.ndim != 2:
        return None
    wide = np.empty(len(natural), dtype=np.uint8)
    given = np.ascontiguousarray(natural, dtype=float), np.ascontiguousarray(spread, dtype=float)
    compiled.gaussian_has_spread(*given, rounding, wide)
    return wide.view(bool)


def gaussian_log_normalizer(natural: NDArray[Any], n_columns: int) -> Floats | None:
    """F(theta) of natural parameters (..., D), NaN outside their space; None where there is no such kernel."""
    compiled = selected.module
    if compiled is None or n_columns > MOST_COLUMNS or natural.ndim < 2:
        return None
    values = np.empty(natural.shape[:-1])
    flat = np.ascontiguousarray(natural, dtype=float).reshape(-1, natural.shape[-1])
    compiled.gaussian_log_normalizer(flat, n_columns, values.reshape(-1))
    return values


def structured_natural(
    models: NDArray[np.int32],
    counts: NDArray[Any],
    moments: NDArray[Any],
    before: NDArray[Any] | None,
    spread: NDArray[Any],
    *,
    smallest: float,
    rounding: float,
    n_threads: int = 1,
) -> tuple[Floats, NDArray[np.bool_]] | None:
    """Natural parameters (S, k, D) of mixtures under covariance models, numbered as `COVARIANCE_MODELS`, and which
    mixtures (S,) are safe; None where there is no such kernel.

    Counts are (S, k), moments and the parameters `before`, from which turns begin, (S, k, D). A mixture is not safe,
    and not computed, if a covariance is close to singular or narrower than the spread.
    """
    compiled = selected.module
    mixtures, k, order = moments.shape
    if compiled is None or len(spread) > MOST_COLUMNS:
        return None
    natural, safe = np.empty((mixtures * k, order)), np.empty(mixtures, dtype=np.uint8)
    start = np.empty((0, order)) if before is None else _flat(before)
    given = np.ascontiguousarray(counts, dtype=float), _flat(moments), start
    compiled.structured_natural(models, *given, spread, smallest, rounding, n_threads, natural, safe)
    return natural.reshape(mixtures, k, order), safe.view(bool)


def _flat(table: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(table, dtype=float).reshape(-1, table.shape[-1])


@dataclass(frozen=True)
class GaussianLimits:
    """Where estimates of Gaussians are left to other formulas."""

    smallest: float
    rounding: float
    """Both as in `gaussian_natural`."""
    spread_rounding: float
    """As in `gaussian_has_spread`."""
    far: float
    """What the distance of the center, in standard deviations, times the trace of the inverse correlation must not
    reach."""

    def compiled(self, module: Any, setting: StepSetting) -> Any:
        """These and a setting for compiled steps."""
        limits = self.smallest, self.rounding, self.spread_rounding, self.far
        return _compiled_setting(module, setting, limits, np.zeros(0))


def _compiled_setting(
    module: Any, setting: StepSetting, limits: tuple[float, float, float, float], variances: Floats
) -> Any:
    given = setting.prior_moment, setting.largest, setting.spread, setting.center
    strengths = setting.prior_strength, setting.prior_top
    return module.StepSetting(*given, *strengths, *limits, setting.n_threads, variances, setting.log_weights)


def gaussian_step(
    counts: NDArray[Any],
    sums: NDArray[Any],
    before: NDArray[Any],
    weights_before: NDArray[Any],
    factors: NDArray[Any],
    setting: StepSetting,
    limits: GaussianLimits,
) -> MixtureStep | None:
    """The step of mixtures with counts (S, k) and sums (S, k, D), and points by `factors` (S,) of its change beyond it.

    `before` and `weights_before` are the estimates that the change is measured from. None where there is no such
    kernel, or where an estimate is not within the limits.
    """
    compiled = selected.module
    mixtures, k, order = sums.shape
    if compiled is None or len(setting.spread) > MOST_COLUMNS or mixtures == 0:
        return None
    natural, beyond = np.empty((mixtures * k, order)), np.empty((mixtures * k, order))
    log_weights, weights_beyond, bias = np.empty((3, mixtures, k))
    penalty, size = np.empty((2, mixtures))
    every = compiled.gaussian_step(
        np.ascontiguousarray(counts),
        _flat(sums),
        _flat(before),
        np.ascontiguousarray(weights_before),
        factors,
        limits.compiled(compiled, setting),
        compiled.MixtureStep(natural, log_weights, beyond, weights_beyond, bias, penalty, size),
    )
    if not every:
        return None
    shape = mixtures, k, order
    return MixtureStep(natural.reshape(shape), log_weights, beyond.reshape(shape), weights_beyond, bias, penalty, size)


def gaussian_steps(
    rows: PackedRows, mixtures: Mixtures, setting: StepSetting, limits: GaussianLimits, pace: Pace, work: float
) -> Progress | None:
    """Several steps of mixtures, which change in place, in one call; None where there is no such kernel.

    `work` is what was spent before.
    """
    compiled = selected.module
    if compiled is None or len(setting.spread) > MOST_COLUMNS or len(mixtures.objective) == 0:
        return None
    return rows.gaussian_steps(mixtures, limits.compiled(compiled, setting), pace, work)


def location_steps(
    rows: PackedRows, mixtures: Mixtures, setting: StepSetting, variances: NDArray[Any], pace: Pace, work: float
) -> Progress | None:
    """The same for Gaussians of known variances (d,), whose statistics are the columns of the rows."""
    compiled = selected.module
    if compiled is None or len(mixtures.objective) == 0 or setting.spread.any():
        return None
    given = _compiled_setting(compiled, setting, (0.0, 0.0, 0.0, 0.0), np.ascontiguousarray(variances, dtype=float))
    return rows.gaussian_steps(mixtures, given, pace, work)
