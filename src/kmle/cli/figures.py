"""The figures of merit of a mixture on data, for tables and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.criteria import CRITERIA, Criteria
from ..estimators.notes import named_columns

if TYPE_CHECKING:
    from ..mixture import Mixture
    from .learning import Outcome


# How the library's notes name its arguments and classes, and what these are called on the command line.
OPTIONS = {
    "another random_state may": "another --seed may",
    "raise n_init.": "raise --restarts.",
    "raise max_iter above": "raise --max-iter above",
    "prior_strength is not": "--prior is not",
    "ExponentialFamilyMixture removes that bias.": "A fit without --hard or --algorithm removes that bias.",
    "the negative binomial family, kmle.families.NegativeBinomial.": "--family negative-binomial.",
    "the negative binomial family for this column, kmle.families.NegativeBinomial.": (
        "negative-binomial for this column (--family takes one family per column, as in gamma+negative-binomial)."
    ),
    "predict computes them batch by batch": "`kmle predict --stream` writes them",
    "cluster_share=0 takes": "--cluster-share 0 takes",
    "The sample weights": "The weights",
    "is the largest that was tried: try more.": "is the largest that was tried: try more with `kmle select -k 1-20`.",
}


def option_words(notes: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The library's notes with the names of the table's columns and of the command's options.

    >>> option_words(["Values are rounded, column 1 to steps of 0.5."], ["a", "b"])
    ["Values are rounded, 'b' to steps of 0.5."]
    """
    message = named_columns(notes, columns)
    for words, ours in OPTIONS.items():
        message = [note.replace(words, ours) for note in message]
    return message


def merits(criteria: Criteria) -> dict[str, Any]:
    """Both likelihoods and the criteria as plain values; None for a criterion too few rows leave without a value."""
    values = {name: getattr(criteria, name) for name in ("log_likelihood", "complete_log_likelihood", *CRITERIA)}
    return {name: value if isfinite(value) else None for name, value in values.items()}


def shown(figures: dict[str, Any]) -> dict[str, str]:
    """The same as words.

    >>> shown(merits(Criteria(-100.0, -101.0, n_parameters=5, n=50)))["AIC, BIC, ICL"]
    '210.000, 219.560, 221.560 (lower is better)'
    """
    three = ", ".join(f"{figures[name]:.3f}" for name in ("aic", "bic", "icl"))
    return {
        "log-likelihood": f"{figures['log_likelihood']:.3f}, complete {figures['complete_log_likelihood']:.3f}",
        "AIC, BIC, ICL": f"{three} (lower is better)",
    }


def fit_figures(outcome: Outcome) -> dict[str, Any]:
    """What is worth knowing about a fit, as plain values."""
    fit = outcome.fit
    return {
        **merits(fit.criteria),
        "stop_reason": fit.stop_reason,
        "iterations": fit.n_iter,
        "starts": str(fit.starts),
        "notes": option_words(outcome.fit.notes, outcome.columns),
        "algorithm": fit.algorithm,
        "engine": fit.engine,
        "work": asdict(fit.work),
        "seconds": outcome.seconds,
    }


def fit_details(figures: dict[str, Any]) -> dict[str, str]:
    """The figures of a fit as lines of a table."""
    steps = "1 iteration" if figures["iterations"] == 1 else f"{figures['iterations']} iterations"
    engine, _, rows = figures["engine"].partition(" on ")
    # A stream that is read once names no engine.
    engine += ("" if engine.startswith("stream") else " engine") + (f" on {rows}" if rows else "")
    return {
        **shown(figures),
        "stopped": f"{figures['stop_reason']}, after {steps}",
        "starts": figures["starts"],
        "learned by": f"{figures['algorithm']}, {engine}, {figures['seconds']:.3f} s",
    }


def shape_dict(mixture: Mixture) -> dict[str, Any]:
    """Standard deviations and correlations of full covariances, which the table shows in their place."""
    covariance = mixture.source.get("covariance")
    if covariance is None:
        return {}
    deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    correlation = covariance / (deviation[:, :, None] * deviation[:, None, :])
    return {"std_dev": deviation.tolist(), "correlation": correlation.tolist()}


def errors_dict(mixture: Mixture, errors: Any) -> dict[str, Any]:
    """Standard errors of weights, parameters and standard deviations; None where one has no value."""
    content: dict[str, Any] = {"weights": _finite(errors.weights), "source": {}}
    for name, value in errors.source.items():
        content["source"][name] = _finite(value)
    if "covariance" in errors.source and "covariance" in mixture.source:
        deviation = np.sqrt(np.diagonal(mixture.source["covariance"], axis1=-2, axis2=-1))
        spread = np.asarray(errors.source["covariance"]).reshape(mixture.source["covariance"].shape)
        content["std_dev"] = _finite(np.diagonal(spread, axis1=-2, axis2=-1) / (2 * deviation))
    return content


def _finite(values: Any) -> Any:
    """Nested lists of numbers, None for those that JSON does not know."""
    array = np.asarray(values, dtype=float)
    known: Any = array.astype(object)
    known[~np.isfinite(array)] = None
    return known.tolist()
