"""Colours of components, the same on every plot and page, told apart by every kind of colour vision.

The first eight follow Okabe and Ito (2008). Each further one is the colour farthest from all before it, by its least
distance as seen with normal vision and without one kind of cone (Machado, Oliveira and Fernandes, 2009), in Oklab.
"""

from functools import lru_cache

import numpy as np

from .numerics.arrays import Array

# Without the yellow of Okabe and Ito, which is too light on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#4d4d4d")
# The same hues, light enough on black.
BRIGHT = ("#3d9be0", "#f0813c", "#2cc79a", "#eaa3cd", "#f7c552", "#a5dcfa", "#b5705f", "#8f8f8f")
# Levels of red, green and blue that further colours are made of.
LEVELS = 15
# Lightness in Oklab of what can be seen on white, and on black.
ON_WHITE, ON_BLACK = (0.28, 0.83), (0.55, 0.95)
# On black, this distance is enough; beyond it the hue of the colour on white decides.
ENOUGH, HUE = 0.06, 0.2
# Least contrast of a colour with white, as WCAG defines it.
LEAST_CONTRAST = 1.7
# What linear light becomes without the cones for long, middle and short waves.
VISIONS = np.array(
    [
        np.eye(3),
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
)
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def colours(n_components: int) -> list[str]:
    """One colour per component, on white: the first ones stay the same however many there are.

    >>> colours(2)
    ['#0072b2', '#d55e00']
    """
    return list(_sequence(_rounded_up(n_components))[:n_components])


def dark_colours(n_components: int) -> list[str]:
    """The same hues in the same order, light enough on black.

    >>> dark_colours(1)
    ['#3d9be0']
    """
    return list(_dark_sequence(_rounded_up(n_components))[:n_components])


def oklab(colours: Array) -> Array:
    """Colours (..., 3) from 0 to 1 as they are seen: distances are differences."""
    return _seen(_linear(colours))


def visible_distances(colours: list[str]) -> Array:
    """The distance of every two colours to the eye that tells them apart worst, (m, m)."""
    points = _visions(np.array([_parts(colour) for colour in colours]))
    return np.linalg.norm(points[:, :, None] - points[:, None], axis=-1).min(axis=0)


def _rounded_up(count: int) -> int:
    return max(len(PALETTE), 1 << (count - 1).bit_length()) if count > 1 else len(PALETTE)


@lru_cache(maxsize=8)
def _sequence(count: int) -> tuple[str, ...]:
    """At least that many colours, each the farthest from those before it."""
    chosen = list(PALETTE)
    candidates = _candidates(ON_WHITE)
    candidates = candidates[1.05 / (_linear(candidates) @ LUMINANCE + 0.05) >= LEAST_CONTRAST]
    flat = np.zeros(len(candidates))
    return _farthest(chosen, candidates, [flat] * (count - len(chosen)), np.inf)


@lru_cache(maxsize=8)
def _dark_sequence(count: int) -> tuple[str, ...]:
    """For each colour on white one on black, as far from those before it as is enough, and of the nearest hue."""
    candidates = _candidates(ON_BLACK)
    hues = oklab(candidates)[:, 1:]
    further = [oklab(np.array(_parts(colour)))[1:] for colour in _sequence(count)[len(BRIGHT) :]]
    return _farthest(list(BRIGHT), candidates, [HUE * np.linalg.norm(hues - hue, axis=1) for hue in further], ENOUGH)


def _farthest(chosen: list[str], candidates: Array, penalties: list[Array], enough: float) -> tuple[str, ...]:
    """The colours chosen, and one more for each list of penalties: the farthest from all before, less its penalty."""
    points = _visions(candidates)
    nearest = np.full(len(candidates), np.inf)
    for colour in chosen:
        nearest = np.minimum(nearest, _distances(points, np.array(_parts(colour))))
    for place, penalty in enumerate(penalties):
        if place >= len(candidates):
            chosen.append(chosen[place])
            continue
        best = int(np.argmax(np.minimum(nearest, enough) - np.where(nearest < 0, np.inf, penalty)))
        chosen.append(_hex(candidates[best]))
        nearest = np.minimum(nearest, _distances(points, candidates[best]))
        nearest[best] = -1.0
    return tuple(chosen)


def _candidates(lightness: tuple[float, float]) -> Array:
    steps = np.round(np.linspace(0, 255, LEVELS)) / 255
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    seen = oklab(grid)[:, 0]
    return grid[(seen >= lightness[0]) & (seen <= lightness[1])]


def _visions(colours: Array) -> Array:
    """Colours (m, 3) in Oklab as each kind of eye sees them, (4, m, 3)."""
    return _seen(np.clip(np.einsum("vij,mj->vmi", VISIONS, _linear(colours)), 0.0, 1.0))


def _distances(points: Array, colour: Array) -> Array:
    return np.linalg.norm(points - _visions(colour[None]), axis=-1).min(axis=0)


def _linear(colours: Array) -> Array:
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def _seen(linear: Array) -> Array:
    return np.asarray(np.cbrt(linear @ _CONES.T) @ _OKLAB.T)


def _parts(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def _hex(parts: Array) -> str:
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in parts)
