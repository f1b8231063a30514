"""`select(X, families="gaussians")`: mclust's fourteen models and all numbers of components in one table."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from kmle import Mixture, select
from kmle.families import Gaussian
from kmle.families.structured_gaussian import MODELS, structure_of
from kmle.problem.problem import Problem
from kmle.search.batch import Learner
from kmle.search.climbing import Climber
from kmle.search.models import FEW, MANY, contains, exchanged, on_sample, search_models
from kmle.seeding.model_based import agglomeration
from published.datasets import FAITHFUL, GALAXIES, IRIS

# mclust 6.0.0: mclustBIC(iris[, 1:4], G = 1:9), with the sign turned; NaN where it has none.
IRIS_BIC = np.array(
    [
        [1804.0854, 1804.0854, 1522.1202, 1522.1202, 1522.1202, 1522.1202, 829.9782,
         829.9782, 829.9782, 829.9782, 829.9782, 829.9782, 829.9782, 829.9782],
        [1123.4117, 1012.2352, 1042.9679, 956.2823, 1007.3082, 857.5515, 688.0972,
         656.3270, 657.2263, 605.1841, 644.5997, 561.7285, 658.3306, 574.0178],
        [878.7650, 853.8144, 813.0504, 779.1566, 797.8342, 744.6382, 632.9647,
         605.3982, 666.5491, 636.4259, 644.7810, 562.5522, 656.0359, 580.8396],
        [893.6140, 812.6048, 827.4036, 748.4529, 837.5452, 751.0198, 646.0258,
         604.8371, 705.5435, 639.7078, 699.8684, 602.0104, 725.2925, 630.6000],
        [782.6441, 742.6083, 741.9185, 688.3463, 766.8158, 711.4502, 604.8131,
         np.nan, 723.7199, 632.2056, 652.2959, 634.2890, np.nan, 676.6061],
        [715.7136, 705.7811, 693.7908, 676.1697, 774.0673, 707.2901, 609.8543,
         609.5584, 661.9497, 664.8224, 664.4537, 679.5116, np.nan, 754.7938],
        [731.8821, 698.5413, 713.1823, 680.7377, 813.5220, 766.6500, 632.4947,
         np.nan, 699.5102, 690.6108, 709.9530, 704.7699, 809.8276, 806.9277],
        [725.0805, 701.4806, 691.4133, 679.4640, 740.4068, 764.1969, 639.2640,
         654.8237, 700.4277, 709.9392, 735.4463, 712.8788, 831.7520, 830.6373],
        [694.5205, 700.0276, 696.2607, 702.0143, 767.8044, 755.8290, 653.0878,
         np.nan, 729.6651, 734.2997, 758.9348, 748.8237, 882.4391, 883.6931],
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def iris():
    """Without prior and resolution, as mclust has neither."""
    return select(IRIS, "gaussians", range(1, 10), prior_strength=0, resolution=None, random_state=0)


def values(selection, structure):
    name = selection.models[structure]
    return {c.n_components: c.value("bic") for c in selection.candidates if c.name == name}


def test_no_candidate_is_behind_mclusts(iris):
    ours = np.array([[values(iris, structure)[k] for structure in MODELS] for k in range(1, 10)])
    assert np.isfinite(ours).all()
    known = np.isfinite(IRIS_BIC)
    assert (ours[known] <= IRIS_BIC[known] + 0.01).all()


def test_mclusts_winners_are_found(iris):
    assert (structure_of(iris.best.family), iris.best.n_components) == ("VEV", 2)
    assert iris.best.value("bic") == pytest.approx(561.7285, abs=1e-3)
    assert values(iris, "VEV")[3] <= 562.5522 + 1e-3
    faithful = select(FAITHFUL, "gaussians", range(1, 6), prior_strength=0, resolution=None, random_state=0)
    assert (structure_of(faithful.best.family), faithful.best.n_components) == ("EEE", 3)
    assert faithful.best.value("bic") <= 2314.316 + 1e-3


def test_one_column_has_the_models_e_and_v():
    """mclust's V with 4 components is met; V with 3 has a better optimum than mclust finds (1592.299)."""
    found = select(1000 * GALAXIES, "gaussians", range(1, 6), prior_strength=0, resolution=None, random_state=0)
    assert list(found.models) == ["E", "V"]
    assert values(found, "V")[4] <= 1579.862 + 0.01
    assert values(found, "E")[3] <= 1584.016 + 0.01
    assert (found.models["V"], 3) == (found.best.name, found.best.n_components)


def test_likelihoods_grow_with_the_model(iris):
    of = {(structure_of(c.family), c.n_components): c.criteria.log_likelihood for c in iris.candidates}
    names = list(MODELS)
    for wide, wider in enumerate(names):
        for narrow, narrower in enumerate(names):
            if contains(wide, narrow):
                for k in range(1, 5):
                    assert of[wider, k] >= of[narrower, k] - 0.01, (wider, narrower, k)


def test_what_is_reported_is_true_of_the_mixture(iris):
    for candidate in iris.candidates[::7]:
        mixture = candidate.fit.mixture
        assert mixture.family == candidate.family
        assert mixture.log_density(IRIS).sum() == pytest.approx(candidate.criteria.log_likelihood, abs=1e-6)
        assert candidate.criteria.n_parameters == mixture.n_parameters
        assert np.all(np.diff(candidate.fit.objectives) >= -1e-9)
    labels = iris.best.fit.labels
    np.testing.assert_array_equal(labels, iris.best.fit.mixture.predict(IRIS))


def test_the_table_is_printed_as_mclust_prints_it(iris):
    lines = str(iris).splitlines()
    assert lines[0] == "bic of covariance models (lower is better)"
    assert lines[1].split() == ["k", "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE"]
    assert lines[2].split() == ["1", "1804.09", "1804.09", "1522.12", "1522.12", "1522.12", "1522.12", "829.98"]
    assert lines[11].split() == ["k", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]
    assert "By bic the best is gaussian-vev with 2 components" in str(iris)


def test_the_plot_has_a_line_for_each_model(iris):
    ax = iris.plot()
    labels = [text.get_text().split()[0] for text in ax.get_legend().get_texts()]
    assert set(MODELS) <= set(labels)


def test_icl_and_weights():
    found = select(IRIS, "gaussians", (2, 3), "icl", algorithm="k-mle", random_state=0)
    assert found.best.fit.algorithm == "k-mle"
    twice = select(IRIS, "gaussians", (2, 3), random_state=0, sample_weight=np.full(len(IRIS), 2.0))
    assert np.isfinite(twice.best.value("bic"))


def test_agglomeration_is_that_of_mclust():
    """hclass(hc(iris[, 1:4], modelName = "VVV", use = "SVD"), 2:4): sizes of the clusters."""
    found = agglomeration(Problem(Gaussian(n_features=4), IRIS), np.random.default_rng(0))
    sizes = {k: sorted(np.bincount(found.labels(k)).tolist()) for k in (2, 3, 4)}
    assert sizes == {2: [49, 101], 3: [39, 49, 62], 4: [16, 33, 39, 62]}


def test_agglomeration_is_that_of_mclust_in_many_columns():
    """The same for the 13 columns of the wines."""
    found = agglomeration(Problem(Gaussian(n_features=13), load_wine().data), np.random.default_rng(0))
    sizes = {k: sorted(np.bincount(found.labels(k)).tolist()) for k in (3, 5, 9)}
    assert sizes == {3: [51, 59, 68], 5: [15, 32, 36, 36, 59], 9: [3, 11, 15, 15, 16, 20, 32, 33, 33]}


def test_what_mclust_finds_with_many_components_is_found():
    """Log-likelihoods of mclust 6.0.0: EM's way from its agglomeration, without momentum, is among the starts."""
    models = {"EEI": (9, -3139.7498), "VEI": (5, -3264.7600), "EEE": (7, -2997.6258)}
    names = ["spherical-gaussian", *(f"gaussian-{name.lower()}" for name in models)]
    found = select(load_wine().data, names, (5, 7, 9), prior_strength=0, resolution=None, random_state=0)
    of = {(structure_of(c.family), c.n_components): c.criteria.log_likelihood for c in found.candidates}
    for model, (k, value) in models.items():
        assert of[model, k] >= value - 0.01, model


@pytest.mark.slow
@pytest.mark.parametrize("structure", MODELS)
def test_the_truth_is_found(structure):
    """In all of five samples the true model is chosen, or one nested in it with a lower criterion."""
    names = list(MODELS)
    for seed in range(5):
        X, truth = drawn(structure, seed)
        found = select(X, "gaussians", range(1, 5), random_state=seed)
        chosen = structure_of(found.best.family)
        value = min(values(found, structure).values())
        nested = contains(names.index(structure), names.index(chosen)) and found.best.value("bic") < value
        assert chosen == structure or nested, (seed, chosen)
        assert adjusted_rand_score(truth, found.best.fit.mixture.predict(X)) > 0.5


def drawn(structure, seed):
    """A thousand rows of three components under a model, and the components they are from."""
    rng = np.random.default_rng(100 + seed)
    d, k = 3, 3
    sizes = {"E": np.ones(k), "V": np.array([0.4, 1.0, 2.2])}[structure[0]]
    shape = np.array([2.6, 1.0, 1 / 2.6])
    shapes = {"I": np.ones((k, d)), "E": np.tile(shape, (k, 1)), "V": np.array([np.roll(shape, j) for j in range(k)])}
    turns = np.linalg.qr(rng.standard_normal((k, d, d)))[0]
    axes = {"I": np.tile(np.eye(d), (k, 1, 1)), "E": np.tile(turns[:1], (k, 1, 1)), "V": turns}[structure[2]]
    own = shapes[structure[1]]
    covariance = np.einsum("k,kia,ka,kja->kij", sizes, axes, own, axes)
    mean = 5.0 * np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1.2]])
    mixture = Mixture.from_source("gaussian", [0.3, 0.4, 0.3], mean=mean, covariance=covariance)
    return mixture.sample_joint(1000, random_state=seed)


def test_affine_maps_change_nothing_where_models_have_no_axes():
    """EEE, VEE, EVV and VVV do not depend on the coordinates: BIC falls by 2 n log |A|."""
    turn = np.array([[1.0, 0.4], [-0.3, 0.8]])
    names = [f"gaussian-{name}" for name in ("eee", "vee", "evv", "vvv")]
    options = {"prior_strength": 0, "resolution": None, "random_state": 0}
    plain = select(FAITHFUL, names, (1, 2), **options)
    turned = select(FAITHFUL @ turn.T, names, (1, 2), **options)
    shift = 2 * len(FAITHFUL) * np.log(np.abs(np.linalg.det(turn)))
    for one, other in zip(plain.candidates, turned.candidates, strict=True):
        assert other.value("bic") - one.value("bic") == pytest.approx(shift, abs=0.05), one.name


def test_singular_covariances_are_given_up_without_a_bound():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((4, 2)), 10, axis=0)
    problem = Problem(Gaussian(n_features=2), X)
    found = search_models(problem, ["EEE", "VVV"], [1, 4], np.random.default_rng(0))
    assert ("VVV", 1) in found
    assert ("VVV", 4) not in found


def test_models_of_many_columns_are_learned_without_a_bound():
    """With more columns than compiled estimates have."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 26)) + 6 * rng.integers(2, size=(150, 1))
    problem = Problem(Gaussian(n_features=26), X)
    found = search_models(problem, ["EEE", "VVV"], [1, 2], np.random.default_rng(0))
    assert found["VVV", 1].history[-1] == pytest.approx(found["EEE", 1].history[-1])
    assert found["VVV", 2].history[-1] > found["EEE", 2].history[-1] > found["EEE", 1].history[-1] + 100
    few = Problem(Gaussian(n_features=26), X[:20])
    assert search_models(few, ["EEE", "VVV"], [1, 2], np.random.default_rng(0)) == {}


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("sizes", [[1, 2, 3], [1, 4], [3, 4]])
@pytest.mark.parametrize("distinct", [1, 2])
def test_data_that_no_model_fits_without_a_bound_give_nothing(distinct, sizes, hard):
    X = np.repeat(np.random.default_rng(0).standard_normal((distinct, 2)), 20, axis=0)
    problem = Problem(Gaussian(n_features=2), X)
    assert search_models(problem, ["VVV"], sizes, np.random.default_rng(0), hard=hard) == {}


@pytest.mark.parametrize("hard", [False, True])
def test_steps_of_no_mixtures_at_all_give_none(hard):
    X = np.random.default_rng(0).standard_normal((40, 2))
    climber = Climber(Learner(Problem(Gaussian(n_features=2), X), hard))
    none = climber.begun(np.zeros(0, np.int32), np.zeros((0, 3)), np.zeros((0, 3, 5)))
    for climb in (none, climber.climbed(none, 5), none.best(), none.distinct(), none.joined(none)):
        assert len(climb.models) == len(climb.batch) == 0


def test_a_thorough_exchange_loses_nothing_and_finds_more():
    """From poor starts of every model and a good one of VVV."""
    rng = np.random.default_rng(0)
    which = np.arange(400) % 4
    X = rng.standard_normal((400, 2)) * np.array([[1, 1], [3, 0.3], [0.3, 3], [1, 1]])[which]
    X += np.array([[0, 0], [4, 4], [-4, 4], [0, -5]])[which]
    problem = Problem(Gaussian(n_features=2), X)
    climber = Climber(Learner(problem))
    poor, good = problem.gather(rng.integers(4, size=400), 4), problem.gather(which.astype(np.int32), 4)
    models = np.arange(len(MODELS), dtype=np.int32)
    counts, sums = (np.repeat(one[None], len(models), axis=0) for one in (poor.counts, poor.sums))
    counts[-1], sums[-1] = good.counts, good.sums
    begun = climber.climbed(climber.begun(models, counts, sums), 20)
    plain, thorough = (exchanged(climber, begun, 100, effort).batch.objective for effort in (FEW, MANY))
    assert (thorough >= begun.batch.objective).all()
    assert thorough.sum() > plain.sum() + 1


@pytest.mark.parametrize(
    ("n", "d", "races", "expected"), [(2000, 2, True, False), (2001, 2, True, True), (2001, 2, False, False)]
)
def test_a_sample_is_searched_in_races_and_of_many_rows(n, d, races, expected):
    X = np.random.default_rng(0).standard_normal((n, d))
    assert on_sample(Problem(Gaussian(n_features=d), np.tile(X, (40, 1))), races)
    assert on_sample(Problem(Gaussian(n_features=d), X), races) is expected


@pytest.mark.parametrize("kind", ["constant", "collinear", "rounded", "few rows", "heavy tails"])
def test_messy_data_gives_a_table(kind):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 3)) + 5 * rng.integers(2, size=(120, 1))
    if kind == "constant":
        X[:, 1] = 4.0
    elif kind == "collinear":
        X[:, 2] = X[:, 0] + X[:, 1]
    elif kind == "rounded":
        X = np.round(X)
    elif kind == "few rows":
        X = X[:7]
    else:
        X[0] = 1e6
    found = select(X, "gaussians", range(1, 5), random_state=0)
    assert np.isfinite(found.best.value("bic"))
    assert np.isfinite(found.best_estimator.predict_proba(X)).all()
    said = {"constant": "Column 1 is excluded", "collinear": "Column 2 is excluded", "few rows": "free parameters for"}
    assert said.get(kind, "") in str(found)


@pytest.mark.parametrize("algorithm", ["em", "k-mle"])
def test_a_candidate_does_not_depend_on_the_range(algorithm):
    X, models = load_iris().data, ["gaussian-eii", "gaussian-vii", "gaussian-eee", "gaussian-vvv"]

    def values(sizes):
        selection = select(X, models, sizes, algorithm=algorithm, random_state=0)
        return {(one.name, one.n_components): one.value("bic") for one in selection.candidates}

    everything = values(range(1, 6))
    for sizes in ([3], [4, 2]):
        for candidate, value in values(sizes).items():
            assert value == pytest.approx(everything[candidate], abs=1e-4), candidate
