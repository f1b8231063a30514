"""Sparse text: default fits of documents with Zipf-like words, each contestant in a process of its own.

Counts are learned as multinomials, their unit tf-idf rows as directions and by k-means; scikit-learn's KMeans learns
from the same tf-idf rows. Peak memory is what a fit takes beside the data.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse

from kmle import KMLE, ExponentialFamilyMixture
from kmle.families import FixedCovarianceGaussian

from .harness import quietly
from .memory import forget_peak, peak

DOCUMENTS, WORDS, LENGTH, TOPICS = 20_000, 20_000, 100, 20
QUICK_DOCUMENTS, QUICK_WORDS = 2_500, 5_000
# The share of words that are common to all topics.
COMMON = 0.3


def documents(n: int, n_words: int, seed: int = 0) -> sparse.csr_array:
    """Counts of words: frequencies fall off as in Zipf's law, and each topic has favourites."""
    rng = np.random.default_rng(seed)
    zipf = 1 / (np.arange(n_words) + 10.0)
    topics = zipf * rng.gamma(0.3, 1.0, (TOPICS, n_words))
    topics = (1 - COMMON) * topics / topics.sum(axis=1, keepdims=True) + COMMON * zipf / zipf.sum()
    which = np.sort(rng.integers(TOPICS, size=n))
    drawn = [rng.choice(n_words, (np.sum(which == j), LENGTH), p=topic) for j, topic in enumerate(topics)]
    words = rng.permutation(np.concatenate(drawn)).ravel().astype(np.int32)
    places = np.repeat(np.arange(n, dtype=np.int32), LENGTH)
    counts = sparse.csr_array((np.ones(len(words)), (places, words)), shape=(n, n_words))
    counts.sum_duplicates()
    return counts


def tf_idf(counts: sparse.csr_array) -> sparse.csr_array:
    """Rows of length one: logarithms of counts by the rarity of words."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))


def scikit_learn_k_means() -> Any:
    from sklearn.cluster import KMeans

    return KMeans(TOPICS, random_state=0)


CONTESTANTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "kmle hard, multinomial": ("counts", lambda: KMLE(TOPICS, family="multinomial", random_state=0)),
    "kmle soft, multinomial": (
        "counts",
        lambda: ExponentialFamilyMixture(TOPICS, family="multinomial", random_state=0),
    ),
    "kmle hard, von Mises-Fisher": ("tf-idf", lambda: KMLE(TOPICS, family="von-mises-fisher", random_state=0)),
    "kmle k-means": (
        "tf-idf",
        lambda: KMLE(TOPICS, family=FixedCovarianceGaussian(), weights="uniform", random_state=0),
    ),
    "scikit-learn k-means": ("tf-idf", scikit_learn_k_means),
}


def text(quick: bool, n_threads: int, repeats: int) -> list[dict[str, Any]]:
    """What each contestant takes, and the inertia of those that learn by k-means."""
    counts = documents(QUICK_DOCUMENTS, QUICK_WORDS) if quick else documents(DOCUMENTS, WORDS)
    with TemporaryDirectory() as folder:
        for kind, rows in (("counts", counts), ("tf-idf", tf_idf(counts))):
            sparse.save_npz(Path(folder) / f"{kind}.npz", rows, compressed=False)
        return [_measured_apart(name, folder, n_threads, repeats) | {"quick": quick} for name in CONTESTANTS]


def _measured_apart(name: str, folder: str, n_threads: int, repeats: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.text", name, folder, str(n_threads), str(repeats)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def measured(name: str, folder: str, n_threads: int, repeats: int) -> dict[str, Any]:
    """Median seconds of default fits, the iterations of the last, peak memory of the first, and inertia."""
    kind, make = CONTESTANTS[name]
    few = documents(500, 300)
    X = sparse.load_npz(Path(folder) / f"{kind}.npz")
    seconds, megabytes = [], 0.0
    with quietly(n_threads):
        make().fit(few if kind == "counts" else tf_idf(few))
        for place in range(repeats):
            model = make()
            if "n_jobs" in model.get_params():
                model.set_params(n_jobs=n_threads)
            forget_peak()
            before, began = peak(), time.perf_counter()
            model.fit(X)
            seconds.append(time.perf_counter() - began)
            megabytes = megabytes if place else (peak() - before) / 1e6
    return {
        "contestant": name,
        "rows": kind,
        "shape": X.shape,
        "stored": int(X.nnz),
        "seconds": float(np.median(seconds)),
        "iterations": int(model.n_iter_),
        "megabytes": megabytes,
        "inertia": inertia(model, X) if "k-means" in name else None,
    }


def inertia(model: Any, X: sparse.csr_array) -> float:
    """The sum of squared distances to the nearest centre, by one formula for all."""
    centers = model.mixture_.source["mean"] if hasattr(model, "mixture_") else model.cluster_centers_
    products = np.asarray(X @ centers.T) - 0.5 * (centers**2).sum(axis=1)
    return float((X.data**2).sum() - 2 * products.max(axis=1).sum())


if __name__ == "__main__":
    chosen, data, threads, runs = sys.argv[1:]
    print(json.dumps(measured(chosen, data, int(threads), int(runs))))
