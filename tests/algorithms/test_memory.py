"""A fit holds its input, at most one copy of it, and 200 MB."""

import subprocess
import sys

MEGABYTE = 1 << 20
PROGRAM = """
import resource, sys
import numpy as np
from kmle import KMLE, ExponentialFamilyMixture

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

rng = np.random.default_rng(0)
n, d, k = 1_000_000, 10, 20
X = rng.standard_normal((n, d))
X += rng.integers(0, 8, n)[:, None]
before = peak()
for Model in (KMLE, ExponentialFamilyMixture):
    model = Model(k, family="gaussian", init="k-mle++", random_state=0, max_iter=1, tol=0.0, n_jobs=2).fit(X)
    assert model.n_iter_ == 1 and len(model.labels_) == n
print(X.nbytes, peak() - before)
"""


def test_a_million_rows_of_full_gaussians():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    size, grown = map(int, done.stdout.split())
    # The statistics of all rows, 65 numbers each, would be 500 MB.
    assert grown <= size + 200 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB on top of {size / MEGABYTE:.0f} MB of input"
