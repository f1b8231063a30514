"""Low-rank Gaussians as products of matrices: P_j = s_j I - B_j B_j', so a score is

    bias_j + <x, theta_j> - s_j |x|^2 / 2 + |B_j' x|^2 / 2,

and one product of a block of rows with all theta_j and B_j side by side gives the scores of all components.
"""

from collections.abc import Callable

import numpy as np

from ...families.low_rank_gaussian import LowRankGaussian, precision_parts
from ...numerics.arrays import Array
from ...numerics.threads import for_each

# Numbers of a product at a time: a block of rows and what comes of it stay in the cache.
BLOCK_NUMBERS, FEWEST_ROWS = 1 << 18, 64


class LowRankForm:
    """Components (k, D) with biases (k,), ready to score rows; a bias of -inf is an inactive component."""

    def __init__(self, family: LowRankGaussian, natural: Array, bias: Array) -> None:
        k, d, q = len(natural), family.n_features or 1, family.rank
        self.active = np.flatnonzero(np.isfinite(bias))
        directions, precision = precision_parts(natural[self.active], q)
        self.linear = np.ascontiguousarray(natural[self.active, :d].T)
        self.directions = np.ascontiguousarray(np.moveaxis(directions, 0, 1).reshape(d, len(self.active) * q))
        self.precision, self.bias = precision, bias[self.active]
        self.n_components, self.rank = k, q

    def rounding(self, largest_square: float) -> float:
        """A bound on the rounding errors of scores, in nats, of rows up to this squared length."""
        length = np.sqrt(largest_square)
        size = self.precision * largest_square + np.linalg.norm(self.linear, axis=0) * length + np.abs(self.bias)
        return float(np.finfo(float).eps * size.max(initial=0.0))

    def scores(self, X: Array) -> Array:
        """The scores (n, k) of a block of rows, relative to the center; those of inactive components are -inf."""
        squares = np.einsum("nd,nd->n", X, X)
        along = X @ self.directions
        along *= along
        own = along.reshape(len(X), len(self.active), self.rank).sum(axis=2)
        own -= squares[:, None] * self.precision
        own *= 0.5
        own += X @ self.linear
        own += self.bias
        if len(self.active) == self.n_components:
            return own
        scores = np.full((len(X), self.n_components), -np.inf)
        scores[:, self.active] = own
        return scores

    def for_blocks(
        self, n_rows: int, rows: Callable[[slice], Array], work: Callable[[slice, Array], None], n_threads: int
    ) -> None:
        """Calls work(block, scores) for all rows, block by block; rows(block) gives those relative to the center."""
        each = self.directions.shape[1] + 2 * self.n_components + len(self.linear)
        size = max(FEWEST_ROWS, BLOCK_NUMBERS // each)

        def one(start: int) -> None:
            block = slice(start, min(start + size, n_rows))
            work(block, self.scores(rows(block)))

        for_each(one, range(0, n_rows, size), n_threads)


def shares_of(scores: Array) -> tuple[Array, Array]:
    """log sum_j exp(score_j) of every row, and the responsibilities, in place of the scores."""
    top = scores.max(axis=1)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    total = scores.sum(axis=1)
    scores /= total[:, None]
    return top + np.log(total), scores
