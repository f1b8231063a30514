"""The covariance models of mixtures of Gaussians, by volume, shape and orientation (Celeux and Govaert, 1995).

Sigma_j = lambda_j D_j A_j D_j' with |A_j| = 1, each part equal for all components (E), variable (V) or the identity
(I): the fourteen names of mclust (Scrucca et al., 2016). Estimates are functions of the shares pi_j of the components
and of their own covariances S_j (..., k, d, d), or variances (..., k, d) where axes are those of the columns. They
maximise -sum_j pi_j (log|Sigma_j| + tr(S_j Sigma_j^-1)) / 2, in closed form or in turns from the present volumes or
axes, so that they never fall behind. Common axes are turned pair by pair, each time by the best angle (Flury and
Gautschi, 1986, and Browne and McNicholas, 2014, turn them in other ways).
"""

from collections.abc import Callable

import numpy as np

from ..numerics.arrays import Array

# Turns of volumes end when these change by less, relatively, or at a limit; those of axes by the sine of an angle.
SETTLED, TURNS = 1e-9, 100
AXES_SETTLED, AXES_TURNS = 1e-6, 15
SMALLEST = 1e-300


def n_covariance_parameters(structure: str, n_features: int, n_components: int) -> int:
    """Free parameters of all covariances together.

    >>> n_covariance_parameters("VEV", 4, 3)
    24
    """
    volume, shape, orientation = (n_components if letter == "V" else 1 for letter in structure)
    d = n_features
    shapes = 0 if structure[1] == "I" else shape * (d - 1)
    turns = 0 if structure[2] == "I" else orientation * (d * (d - 1) // 2)
    return volume + shapes + turns


def pooled(shares: Array, own: Array) -> Array:
    """The mean over components, sum_j pi_j S_j; their axis stays, of length one."""
    extra = (None,) * (own.ndim - shares.ndim)
    return (shares[(..., *extra)] * own).sum(axis=shares.ndim - 1, keepdims=True)


# Variances of columns (..., k, d) ----------------------------------------------------------------------------------


def equal_volumes(shares: Array, own: Array) -> Array:
    """EVI: shapes of their own, and the mean volume."""
    volumes = geometric_mean(own)
    return own * (pooled(shares, volumes) / volumes)[..., None]


def equal_shapes(shares: Array, own: Array, volumes: Array) -> Array:
    """VEI, in turns from these volumes (..., k): the shape of sum_j pi_j S_j / lambda_j, then the volumes in it."""

    def turn(volumes: Array) -> tuple[Array, Array]:
        shape = pooled(shares, own / volumes[..., None])
        shape = shape / geometric_mean(shape)[..., None]
        return (own / shape).mean(axis=-1), shape

    volumes, shape = _in_turns(turn, volumes)
    return volumes[..., None] * shape


def geometric_mean(variances: Array) -> Array:
    """The volume: the determinant's d-th root."""
    return np.exp(np.log(np.maximum(variances, SMALLEST)).mean(axis=-1))


def _in_turns(turn: Callable[[Array], tuple[Array, Array]], volumes: Array) -> tuple[Array, Array]:
    """Volumes that no longer change, and what else a turn finds with them."""
    for _ in range(TURNS):
        before = volumes
        volumes, found = turn(before)
        volumes = np.maximum(volumes, SMALLEST)
        if np.all(np.abs(volumes - before) <= SETTLED * volumes):
            break
    return volumes, found


# Covariances (..., k, d, d) ------------------------------------------------------------------------------------------


def equal_up_to_volume(shares: Array, own: Array, volumes: Array) -> Array:
    """VEE, in turns from these volumes (..., k): C from sum_j pi_j S_j / lambda_j, then the volumes in it."""
    d = own.shape[-1]

    def turn(volumes: Array) -> tuple[Array, Array]:
        common = pooled(shares, own / volumes[..., None, None])
        common = common / determinant_root(common)[..., None, None]
        inverse = np.linalg.inv(common)
        return np.einsum("...ij,...ij->...", own, np.broadcast_to(inverse, own.shape)) / d, common

    volumes, common = _in_turns(turn, volumes)
    return volumes[..., None, None] * common


def own_axes(shares: Array, own: Array, volumes: Array | None) -> Array:
    """EEV, or VEV in turns from these volumes: eigenvectors of each S_j, and eigenvalues of one shape."""
    values, vectors = np.linalg.eigh(own)
    values = np.maximum(values, SMALLEST)
    if volumes is None:
        values = np.broadcast_to(pooled(shares, values), values.shape)
    else:
        values = equal_shapes(shares, values, volumes)
    return with_axes(values, vectors)


def equal_volume_matrices(shares: Array, own: Array) -> Array:
    """EVV: C_j = S_j / |S_j|^(1/d), and the mean volume."""
    volumes = determinant_root(own)
    return own * (pooled(shares, volumes) / volumes)[..., None, None]


def common_axes(shares: Array, own: Array, axes: Array, equal_volume: bool) -> Array:
    """EVE and VVE, in turns from these axes (..., 1, d, d): variances along them, then better axes for those."""
    for _ in range(AXES_TURNS):
        along = np.maximum(np.einsum("...ia,...ij,...ja->...a", axes, own, axes), SMALLEST)
        variances = equal_volumes(shares, along) if equal_volume else along
        axes, turned = turned_axes(shares, own, axes, variances)
        if turned <= AXES_SETTLED:
            break
    along = np.maximum(np.einsum("...ia,...ij,...ja->...a", axes, own, axes), SMALLEST)
    return with_axes(equal_volumes(shares, along) if equal_volume else along, axes)


def turned_axes(shares: Array, own: Array, axes: Array, variances: Array) -> tuple[Array, float]:
    """Axes after each pair was turned by its best angle, and the largest angle.

    With S_j = [[a, b], [b, c]] in two axes and u_j the difference of their precisions, pi_j tr(S_j D A_j^-1 D') depends
    on the angle by u_j ((a - c) cos(2 angle) / 2 + b sin(2 angle)).
    """
    axes, largest = axes.copy(), 0.0
    precision = shares[..., None] / variances
    d = own.shape[-1]
    for one in range(d):
        for other in range(one + 1, d):
            p, q = axes[..., one], axes[..., other]
            u = precision[..., one] - precision[..., other]
            a, b, c = (np.einsum("...i,...ij,...j->...", x, own, y) for x, y in ((p, p), (p, q), (q, q)))
            cosine = (u * (a - c)).sum(axis=-1, keepdims=True) / 2
            sine = (u * b).sum(axis=-1, keepdims=True)
            angle = 0.5 * np.arctan2(-sine, -cosine)[..., None]
            angle = np.where((sine == 0) & (cosine == 0), 0.0, angle[..., 0])[..., None]
            largest = max(largest, float(np.abs(np.sin(2 * angle)).max()))
            axes[..., one], axes[..., other] = (
                np.cos(angle) * p + np.sin(angle) * q,
                np.cos(angle) * q - np.sin(angle) * p,
            )
    return axes, largest


def axes_of(shares: Array, matrices: Array) -> Array:
    """The axes (..., 1, d, d) that covariances or precisions share, or of an uneven mean: so no two axes have equal
    lengths by chance.
    """
    volumes = determinant_root(matrices)[..., None, None]
    uneven = shares * (1 + np.arange(shares.shape[-1]) / (2 * shares.shape[-1]))
    return np.linalg.eigh(pooled(uneven, matrices / volumes))[1]


def determinant_root(matrices: Array) -> Array:
    """|S|^(1/d) of positive definite matrices."""
    return np.exp(np.linalg.slogdet(matrices)[1] / matrices.shape[-1])


def with_axes(values: Array, vectors: Array) -> Array:
    """Matrices with these eigenvalues and eigenvectors."""
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
