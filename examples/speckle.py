"""Draws docs/pictures/speckle.png: a simulated ultrasound picture, segmented by mixtures of amplitudes.

No patient, no scanner: three tissues are drawn by hand and given Rayleigh speckle at random.

Needs the extra `image`: pip install '.[image]' && python examples/speckle.py [another-file.png]
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kmle.images import contact_sheet, save_image, segment_amplitude

HERE = Path(__file__).parent
SIDE = 256
SCALES = np.array([0.03, 0.11, 0.30])


def tissues() -> NDArray[np.intp]:
    """0 in a dark cyst, 2 in a bright lesion, 1 around them."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    cyst = ((x - 0.33) / 0.2) ** 2 + ((y - 0.4) / 0.14) ** 2 < 1
    lesion = (x - 0.68) ** 2 + (y - 0.65) ** 2 < 0.15**2
    return np.where(cyst, 0, np.where(lesion, 2, 1))


def main() -> None:
    truth = tissues()
    amplitudes = np.clip(np.random.default_rng(0).rayleigh(SCALES[truth]), 0, 1)
    image = np.rint(amplitudes * 255).astype(np.uint8)
    shown = {"simulated speckle": np.stack([image] * 3, axis=2)}
    for family, window in (("rayleigh", 1), ("rayleigh", 7), ("gamma", 7), ("weibull", 7)):
        found = segment_amplitude(image, 3, family=family, window=window)
        right = (found.labels == truth).mean()
        shown[f"{family}, window {window}: {right:.0%} right"] = found.segments()
        if family == "rayleigh" and window == 1:
            print("true scales", SCALES.tolist(), "learned", found.mixture.source["scale"].ravel().round(3).tolist())
    shown["tissues"] = np.stack([(SCALES[truth] / SCALES[2] * 255).astype(np.uint8)] * 3, axis=2)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "docs" / "pictures" / "speckle.png"
    save_image(target, contact_sheet(shown))
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
