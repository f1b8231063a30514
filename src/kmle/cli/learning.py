"""From options to a fitted estimator: what `fit`, `select` and `demo` share."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .interruption import Interruption
from .naming import family_from_words, words_from_family
from .options import SOFT, AlgorithmName, InitName
from .terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..estimator.shared import MixtureEstimator
    from ..families import ExponentialFamily
    from ..io import Table

# A file from this size on takes longer to read than the estimators to load.
BIG_BYTES = 32 << 20


@dataclass(frozen=True)
class Wish:
    """How to learn, as the options say it."""

    algorithm: AlgorithmName | None = None
    init: InitName | None = None
    prior: float = 1e-3
    restarts: int = 1
    max_iter: int | None = None
    seed: int = 0
    jobs: int | None = None
    scikit_learn: bool = False
    """Whether the estimator is to be scikit-learn's, which is slow to load: a report shows its settings."""

    def estimator(self, n_components: int, family: ExponentialFamily) -> MixtureEstimator:
        """The estimator these options describe."""
        arguments: dict[str, Any] = {
            "family": family,
            "algorithm": str(self.algorithm or AlgorithmName.K_MLE),
            "prior_strength": self.prior,
            "n_init": self.restarts,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }
        if self.init is not None:
            arguments["init"] = str(self.init)
        if self.max_iter is not None:
            arguments["max_iter"] = self.max_iter
        return self._kind()(n_components, **arguments)

    def _kind(self) -> type[Any]:
        soft = self.algorithm in SOFT
        if self.scikit_learn:
            from ..estimator import KMLE, ExponentialFamilyMixture

            return ExponentialFamilyMixture if soft else KMLE
        from ..estimator.plain import PlainKMLE, PlainMixture

        return PlainMixture if soft else PlainKMLE


@dataclass(frozen=True)
class Outcome:
    """A fitted estimator, and whether Ctrl-C cut it short."""

    estimator: MixtureEstimator
    seconds: float
    interrupted: bool = False

    @property
    def hard(self) -> bool:
        """Whether labels, not responsibilities, made the parameters."""
        return self.estimator.fit_.algorithm not in SOFT

    def sizes(self) -> NDArray[np.float64]:
        """How many rows each component has."""
        import numpy as np

        labels, k = self.estimator.labels_, self.estimator.mixture_.n_components
        # By blocks, as bincount widens what it counts.
        blocks = (labels[start : start + (1 << 20)] for start in range(0, len(labels), 1 << 20))
        return np.sum([np.bincount(block, minlength=k) for block in blocks], axis=0, dtype=float)


def read(
    terminal: Terminal,
    path: str,
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    drop_missing: bool,
    *,
    selects: bool = False,
) -> Table:
    """The table, with what was noticed on the way told; what learning (or selecting) needs is loaded meanwhile."""
    # Loaded before anything is loaded meanwhile: NumPy must not be loaded by two threads at once.
    from ..io.reading import read_table

    needed = "kmle.estimator.selecting" if selects else "kmle.estimator.plain"
    with terminal.working(f"reading {path}"), _meanwhile(needed, path):
        table = read_table(path, columns, weights, ignore_text=ignore_text, drop_missing=drop_missing)
    for note in table.notes:
        terminal.note(f"note: {note}")
    terminal.detail(f"{table.source}: {len(table)} rows of {', '.join(table.columns)}")
    return table


@contextmanager
def _meanwhile(module: str, path: str) -> Iterator[None]:
    """Loads a module while a big file is read: parsing needs no Python, loading hardly anything else."""
    place = Path(path)
    if not place.is_file() or place.stat().st_size < BIG_BYTES:
        yield
        return
    loading = threading.Thread(target=import_module, args=(module,))
    loading.start()
    try:
        yield
    finally:
        loading.join()


def settled_family(terminal: Terminal, words: str | None, table: Table) -> ExponentialFamily:
    """The family named, or the one the columns suggest, and why."""
    if words is not None:
        return family_from_words(words)
    from ..io.guess import guess_family

    guess = guess_family(table.rows, table.columns)
    terminal.note(f"family: {words_from_family(guess.family)}, as {guess.reason} (--family chooses another)")
    return guess.family


def learn(terminal: Terminal, table: Table, family: ExponentialFamily, n_components: int, wish: Wish) -> Outcome:
    """Fits; the first Ctrl-C ends the fit after its current step."""
    from ..learning.loop import watched

    estimator = wish.estimator(n_components, family)
    began = time.perf_counter()
    with (
        Interruption(terminal) as interruption,
        terminal.working(f"fitting {n_components} components") as tell,
    ):

        def progress(iteration: int, objective: float) -> bool:
            tell(f"iteration {iteration}, objective {objective:.6g}")
            terminal.detail(f"iteration {iteration}: objective {objective:.6f}")
            return not interruption.requested

        with watched(progress):
            try:
                estimator.fit(table.rows, sample_weight=table.weights)
            except ValueError as error:
                raise ValueError(in_words_of(table, family, error)) from None
    return Outcome(estimator, time.perf_counter() - began, interruption.requested)


def in_words_of(table: Table, family: ExponentialFamily, error: ValueError) -> str:
    """The library's sentence with the table's column names and line numbers, and the options' names."""
    sentence = str(error)
    if sentence.startswith("row "):
        try:
            family.for_data(table.rows).check(table.rows, list(table.columns))
        except ValueError as named:
            sentence = str(named)
    sentence = re.sub(r"^row (\d+)", lambda match: table.row_name(int(match[1])), sentence)
    return sentence.replace("n_components is", "-k is").replace("n_samples = ", "").replace("sample_weight", "weight")
