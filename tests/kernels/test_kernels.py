"""Each kernel, in every version that is installed, against loops too plain to be wrong."""

import importlib.util
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmle import kernels
from kmle.kernels import reference

VERSIONS = {"numpy": reference}
if importlib.util.find_spec("kmle.kernels._compiled") is not None:
    VERSIONS["compiled"] = importlib.import_module("kmle.kernels._compiled")

INF = np.inf


@pytest.fixture(params=VERSIONS)
def version(request, monkeypatch):
    """Each installed version in turn serves the public functions."""
    monkeypatch.setattr(kernels, "_serving", VERSIONS[request.param])
    return request.param


def plain_score(row, theta, bias):
    score = float(bias)
    if score == -INF:
        return score
    for t, p in zip(row, theta, strict=True):
        score += float(t) * float(p)  # not sum(), which compensates rounding from Python 3.12 on
    return score


def plain_scores(statistics, natural, bias):
    return [[plain_score(row, *component) for component in zip(natural, bias, strict=True)] for row in statistics]


def plain_assign(statistics, natural, bias):
    scores = plain_scores(statistics, natural, bias)
    labels = [row.index(max(row)) for row in scores]
    return np.array(labels, dtype=np.int32), np.array([max(row) for row in scores])


def plain_label_sums(statistics, labels, n_labels, weights=None):
    counts, sums = np.zeros(n_labels), np.zeros((n_labels, statistics.shape[1]))
    weights = np.ones(len(statistics)) if weights is None else weights
    for row, label, weight in zip(statistics.astype(float), labels, weights, strict=True):
        counts[label] += weight
        sums[label] += weight * row
    return counts, sums


def plain_posterior_sums(statistics, natural, bias, weights=None):
    counts, sums, evidence = np.zeros(len(natural)), np.zeros(natural.shape), []
    weights = np.ones(len(statistics)) if weights is None else weights
    for row, scores, weight in zip(
        statistics.astype(float), plain_scores(statistics, natural, bias), weights, strict=True
    ):
        top = max(scores)
        if top == -INF:
            evidence.append(-INF)
            continue
        shares = np.exp(np.array(scores) - top)
        evidence.append(top + np.log(shares.sum()))
        shares *= weight / shares.sum()
        counts += shares
        sums += shares[:, np.newaxis] * row
    return counts, sums, np.array(evidence)


def draw(n, order, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, order)), rng.normal(size=(k, order)), rng.normal(size=k)


def tied():
    """Few distinct values, every component there twice: ties in every row."""
    rng = np.random.default_rng(1)
    natural, bias = rng.integers(-1, 2, size=(4, 3)).astype(float), rng.integers(-1, 2, size=4).astype(float)
    return rng.integers(-2, 3, size=(200, 3)).astype(float), np.tile(natural, (2, 1)), np.tile(bias, 2)


def equal_components():
    statistics, natural, bias = draw(300, 37, 1, seed=2)
    return statistics, np.tile(natural, (29, 1)), np.tile(bias, 29)


def near_ties():
    """Components a few roundings apart: who wins depends on the order of summation, so it is fixed."""
    statistics, natural, bias = equal_components()
    noise = np.random.default_rng(5).integers(-2, 3, size=natural.shape)
    return statistics, natural * (1 + noise * np.finfo(float).eps), bias


def huge_offset():
    statistics, natural, bias = draw(150, 3, 4)
    return statistics + 1e9, natural, bias


def steep():
    """Scores so far apart that all but one exponential vanish."""
    statistics, natural, bias = draw(150, 3, 4)
    return 1e4 * statistics, natural, bias


def some_dead():
    statistics, natural, bias = draw(150, 3, 5)
    bias[[0, 3]] = -INF
    natural[0], natural[3] = np.nan, INF
    return statistics, natural, bias


def all_dead():
    statistics, natural, bias = draw(40, 3, 2)
    return statistics, natural, np.full_like(bias, -INF)


def single_precision():
    statistics, natural, bias = draw(500, 6, 5)
    return (1000 + statistics).astype(np.float32), natural, bias


def not_contiguous():
    statistics, natural, bias = draw(200, 12, 10)
    return statistics[::-2, ::3], natural.T[:4, 1::2].T, bias[::-2]


def by_column():
    statistics, natural, bias = draw(100, 5, 4)
    return np.asfortranarray(statistics), np.asfortranarray(natural), bias


def read_only():
    arrays = draw(20, 2, 3)
    for array in arrays:
        array.flags.writeable = False
    return arrays


CASES = {
    "random": draw(1000, 5, 7),
    "tied": tied(),
    "equal components": equal_components(),
    "near ties": near_ties(),
    "one row": draw(1, 4, 3),
    "no row": draw(0, 4, 3),
    "one component": draw(50, 2, 1),
    "one statistic": draw(333, 1, 6),
    "no statistic": draw(10, 0, 3),
    "many components": draw(40, 3, 300),
    "huge offset": huge_offset(),
    "steep": steep(),
    "some dead": some_dead(),
    "all dead": all_dead(),
    "float32": single_precision(),
    "not contiguous": not_contiguous(),
    "by column": by_column(),
    "read only": read_only(),
    "rows of two compiled partial sums": draw(4096 + 33, 2, 2),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def weights_for(statistics, weighted):
    """Weights that are not contiguous, some zero; or none."""
    if not weighted:
        return None
    return np.random.default_rng(3).integers(0, 4, size=(len(statistics), 2))[:, 0] / 3


def assert_same_sums(found, expected, statistics):
    """Equal to 1e-12 of the largest sum there could be, the only fair measure where terms cancel."""
    counts, sums = found
    scale = np.abs(statistics, dtype=np.float64).sum(axis=0)
    assert counts.dtype == sums.dtype == np.float64
    np.testing.assert_allclose(counts, expected[0], rtol=1e-12, atol=1e-12)
    assert np.all(np.abs(sums - expected[1]) <= 1e-12 * np.broadcast_to(scale, sums.shape))


def test_assign_is_the_plain_argmax(version, case):
    labels, best = kernels.assign(*case)
    expected_labels, expected_best = plain_assign(*case)
    assert labels.dtype == np.int32
    assert best.dtype == np.float64
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(best, expected_best, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_label_sums_are_the_plain_sums(version, case, weighted):
    statistics = case[0]
    labels = np.random.default_rng(4).integers(0, 3, size=2 * len(statistics)).astype(np.int32)[::2]
    weights = weights_for(statistics, weighted)
    found = kernels.label_sums(statistics, labels, 5, weights)
    assert_same_sums(found, plain_label_sums(statistics, labels, 5, weights), statistics)
    assert np.all(found[0][3:] == 0)
    assert np.all(found[1][3:] == 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_posterior_sums_are_the_plain_sums(version, case, weighted):
    statistics, weights = case[0], weights_for(case[0], weighted)
    *found, log_evidence = kernels.posterior_sums(*case, weights)
    *expected, expected_evidence = plain_posterior_sums(*case, weights)
    np.testing.assert_allclose(log_evidence, expected_evidence, rtol=1e-12, atol=1e-12)
    # A score is known to its own rounding only, and that is what the responsibilities inherit.
    uncertain = 1e-6 if np.abs(statistics).max(initial=0) > 1e6 else 1e-12
    np.testing.assert_allclose(found[0], expected[0], rtol=uncertain, atol=uncertain * len(statistics))
    scale = np.abs(statistics, dtype=np.float64).sum(axis=0)
    assert np.all(np.abs(found[1] - expected[1]) <= uncertain * np.broadcast_to(scale, found[1].shape))
    if len(statistics) and not np.all(np.isneginf(case[2])):
        total = len(statistics) if weights is None else weights.sum()
        assert found[0].sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("values_per_block", [1, 64, 1000])
def test_blocks_of_the_numpy_version_change_nothing(monkeypatch, values_per_block):
    statistics, natural, bias = CASES["random"]
    labels, best = reference.assign(statistics, natural, bias)
    sums = reference.label_sums(statistics, labels, len(natural))
    *soft, log_evidence = reference.posterior_sums(statistics, natural, bias)
    monkeypatch.setattr(reference, "VALUES_PER_BLOCK", values_per_block)
    blocked_labels, blocked_best = reference.assign(statistics, natural, bias)
    *blocked_soft, blocked_evidence = reference.posterior_sums(statistics, natural, bias)
    np.testing.assert_array_equal(blocked_labels, labels)
    np.testing.assert_allclose(blocked_best, best, rtol=1e-12)
    assert_same_sums(reference.label_sums(statistics, labels, len(natural)), sums, statistics)
    assert_same_sums(blocked_soft, soft, statistics)
    np.testing.assert_allclose(blocked_evidence, log_evidence, rtol=1e-12)


@given(
    n=st.integers(0, 70),
    order=st.integers(0, 6),
    k=st.integers(1, 9),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32 - 1),
    coarse=st.booleans(),
)
def test_all_versions_give_the_same_labels(n, order, k, dtype, seed, coarse):
    statistics, natural, bias = draw(n, order, k, seed)
    if coarse:
        statistics, natural, bias = statistics.round(), natural.round(), bias.round()
    statistics = statistics.astype(dtype)
    expected, _ = plain_assign(statistics, natural, bias)
    for version in VERSIONS.values():
        np.testing.assert_array_equal(version.assign(statistics, natural, bias)[0], expected)


def test_large_single_precision_sums_keep_double_precision(version):
    statistics = np.full((200_000, 1), 0.1, dtype=np.float32)
    counts, sums = kernels.label_sums(statistics, np.zeros(len(statistics), dtype=np.int32), 1)
    assert counts[0] == 200_000
    assert sums[0, 0] == pytest.approx(200_000 * float(np.float32(0.1)), rel=1e-13)


def test_results_do_not_depend_on_threads(version):
    statistics, natural, bias = draw(20_000, 4, 6)
    expected = kernels.assign(statistics, natural, bias)[0]
    results = [None] * 4

    def work(slot):
        results[slot] = kernels.assign(statistics, natural, bias)[0]

    workers = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for labels in results:
        np.testing.assert_array_equal(labels, expected)


T, NATURAL, BIAS = np.zeros((4, 3)), np.zeros((2, 3)), np.zeros(2)
LABELS, WEIGHTS = np.zeros(4, dtype=np.int32), np.ones(4)


@pytest.mark.parametrize(
    ("kernel", "arguments", "error", "message"),
    [
        ("assign", (T[0], NATURAL, BIAS), ValueError, r"statistics .*\(n, D\), got \(3,\)"),
        ("assign", (T.astype(int), NATURAL, BIAS), TypeError, r"statistics .*astype"),
        ("assign", (T, NATURAL[:, :2], BIAS), ValueError, r"natural .*\(k, 3\)"),
        ("assign", (T, NATURAL[:0], BIAS[:0]), ValueError, r"natural .*\(k, 3\)"),
        ("assign", (T, NATURAL, BIAS[:1]), ValueError, r"bias .*\(2,\)"),
        ("label_sums", (T, LABELS[:2], 2), ValueError, r"labels .*\(4,\)"),
        ("label_sums", (T, LABELS + 2, 2), ValueError, r"0\.\.1, got 2\.\.2"),
        ("label_sums", (T, LABELS - 1, 2), ValueError, r"0\.\.1, got -1\.\.-1"),
        ("label_sums", (T, LABELS.astype(float), 2), TypeError, "labels must be integers"),
        ("label_sums", (T, LABELS, 2, WEIGHTS[:1]), ValueError, r"weights .*\(4,\)"),
        ("posterior_sums", (T, NATURAL, BIAS, WEIGHTS[:, np.newaxis]), ValueError, r"weights .*\(4,\)"),
    ],
)
def test_wrong_arguments_are_named(version, kernel, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(kernels, kernel)(*arguments)


def test_no_labels_for_no_rows(version):
    counts, sums = kernels.label_sums(np.zeros((0, 3)), np.zeros(0, dtype=np.int32), 0)
    assert counts.shape == (0,)
    assert sums.shape == (0, 3)


def test_backend_names_the_serving_version(version):
    assert kernels.backend() == version


def test_compiled_kernels_serve_when_they_are_there():
    assert kernels.backend() == list(VERSIONS)[-1]


def test_missing_kernels_warn_once(monkeypatch):
    monkeypatch.setattr(kernels, "_serving", reference)
    kernels._warn_once.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            kernels.assign(*CASES["one row"])
    assert [warning.category for warning in caught] == [RuntimeWarning]
    assert "C++ compiler" in str(caught[0].message)


def test_importing_never_warns():
    subprocess.run([sys.executable, "-W", "error", "-c", "import kmle.kernels"], check=True)
