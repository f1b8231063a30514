"""Superpixels: a picture cut into many small connected pieces of one colour each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .. import KMLE
from .picture import Picture, Pixels, as_picture, in_colour, save_picture, to_bytes
from .points import anchors, points

Labels = NDArray[np.int32]
