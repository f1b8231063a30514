"""Proximity structures for many components: a hard pass of each against the dense one, and where none pays."""

import time
from functools import partial
from typing import Any

import numpy as np

from kmle.data.table import Rows
from kmle.engines.choose import ENGINES
from kmle.families import ExponentialFamily, FixedCovarianceGaussian, Gaussian

from .harness import PAUSE, quietly
from .limits import median_seconds

STRUCTURES = ("dense", "boxes", "ball-tree", "vp-tree")
COMPONENTS = (256, 1024, 4096)
CASES: dict[str, tuple[ExponentialFamily, int]] = {
    "known covariance, 2 columns": (FixedCovarianceGaussian(0.01), 2),
    "known covariance, 3 columns": (FixedCovarianceGaussian(0.01), 3),
    "known covariance, 5 columns": (FixedCovarianceGaussian(0.01), 5),
    "full Gaussians, 2 columns": (Gaussian(), 2),
}


def structures(quick: bool, n_threads: int) -> list[dict[str, Any]]:
    """Seconds of a hard pass by structure, of components scattered over normal rows."""
    entries = []
    n = 60_000 if quick else 1_000_000
    for case, (family, d) in CASES.items():
        X = np.random.default_rng(0).standard_normal((n, d))
        rows = Rows(family.for_data(X), X, n_threads=n_threads)
        engines = {name: ENGINES[name](rows) for name in STRUCTURES}
        for k in COMPONENTS:
            natural, bias = scattered(rows, k)
            seconds = {}
            for name, engine in engines.items():
                time.sleep(PAUSE)
                with quietly(n_threads):
                    seconds[name] = median_seconds(partial(engine.hard_pass, natural, bias), 3)
            entries.append({"case": case, "rows": n, "components": k, "seconds": seconds, "quick": quick})
    return entries


def scattered(rows: Rows, k: int) -> tuple[Any, Any]:
    """Components around k of the rows, about as wide as they are far apart, of equal weight."""
    chosen = np.random.default_rng(1).choice(len(rows), k, replace=False)
    d = rows.X.shape[1]
    centers = rows.centered_rows(chosen)
    if isinstance(rows.family, Gaussian):
        width = k ** (-1 / d)
        covariance = width**2 * np.eye(d) * np.random.default_rng(2).uniform(0.5, 2.0, (k, 1, 1))
        natural = rows.family.natural_from_source(mean=centers, covariance=covariance)
    else:
        natural = rows.family.natural_from_moment(centers)
    return natural, -rows.family.log_normalizer(natural) - np.log(k)
