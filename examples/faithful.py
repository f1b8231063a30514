"""Two kinds of eruptions of the Old Faithful geyser, as a mixture of two Gaussians: hard (k-MLE), then soft (EM).

Run it from anywhere: python examples/faithful.py
"""

from pathlib import Path

import numpy as np

from kmle import KMLE, ExponentialFamilyMixture


def main() -> None:
    X = np.loadtxt(Path(__file__).parent / "data" / "faithful.csv", delimiter=",", skiprows=1)
    hard = KMLE(n_components=2, family="gaussian", random_state=0).fit(X)
    soft = ExponentialFamilyMixture(n_components=2, family="gaussian", init=hard.mixture_).fit(X)
    print(f"{len(X)} eruptions of Old Faithful: minutes of eruption, minutes of waiting\n")
    for title, model in (("k-MLE", hard), ("EM", soft)):
        fit = model.result_
        print(f"{title}: {fit.n_iter} iterations, {fit.stop_reason}")
        likelihoods = f"log-likelihood {fit.log_likelihood:.3f}, complete {fit.complete_log_likelihood:.3f}"
        print(f"  {likelihoods}, BIC {model.bic(X):.1f}")
        for j in np.argsort(model.mixture_.source["mean"][:, 0]):
            eruption, waiting = model.mixture_.source["mean"][j]
            rows = np.count_nonzero(model.labels_ == j)
            print(f"  weight {model.weights_[j]:.3f}, {rows} rows, mean ({eruption:.3f}, {waiting:.3f})")


if __name__ == "__main__":
    main()
