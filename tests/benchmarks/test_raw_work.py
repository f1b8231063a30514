"""No iteration of a default fit of the benchmark's raw data, at a sixteenth of its size, scores rows in NumPy."""

import sys
from pathlib import Path

import pytest

from kmle import KMLE, ExponentialFamilyMixture
from kmle._kernels import backend

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.workloads import WORKLOADS


@pytest.mark.filterwarnings("ignore:The fit reached")
@pytest.mark.skipif(backend() == "numpy", reason="the kernels were not compiled")
@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("name", ["W1raw", "W1out", "W2int", "W3heavy", "W4round", "Wadult"])
def test_raw_data_stay_in_the_kernels(name, estimator):
    workload = WORKLOADS[name]
    model = estimator(workload.n_components, family=workload.family, max_iter=10, random_state=0)
    model.fit(workload.data(True))
    work = model.result_.work
    assert work.in_numpy == 0
    assert work.passes > 0
    assert work.scored > 0
