"""Checkpoints of an estimator: where a fit begins, and what it writes on the way."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..learning.checkpoint import Keeper, Saved, generator_of, read
from .arguments import entropy_of

if TYPE_CHECKING:
    from .shared import AnyPrepared, MixtureEstimator

# Settings that two fits must share for one to go on where the other was.
SHARED = ("n_components", "n_init", "prior_strength", "empty")


def opening(model: "MixtureEstimator") -> tuple[Saved | None, np.random.Generator]:
    """The checkpoint to go on from, if there is one, and the generator of all draws."""
    if model.checkpoint is None:
        if model.resume:
            raise ValueError("resume needs to know from where: give checkpoint a path as well")
        return None, np.random.default_rng(entropy_of(model.random_state))
    path = Path(model.checkpoint)
    if not path.parent.is_dir():
        raise ValueError(f"checkpoint is {str(path)!r}: the directory {str(path.parent)!r} does not exist")
    saved = read(path) if model.resume else None
    if saved is None:
        return None, np.random.default_rng(entropy_of(model.random_state))
    return saved, generator_of(saved.seed)


def keeper_of(
    model: "MixtureEstimator", saved: Saved | None, seed: Mapping[str, Any], prepared: "AnyPrepared"
) -> Keeper | None:
    """What writes checkpoints, if they are asked for; one of another fit is refused."""
    if model.checkpoint is None:
        return None
    path = Path(model.checkpoint)
    about = {
        "family": repr(model.family_),
        "algorithm": model._algorithm_name,
        "weights": None if model.weights is None else str(model.weights),
        **{name: getattr(model, name) for name in SHARED},
    }
    content = prepared.content
    if saved is not None:
        saved.check(about, content, prepared.problem, path)
    return Keeper(path, seed, about, content, prepared.problem, saved)
