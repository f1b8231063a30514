"""Pictures as point sets and mixtures (the extra `image`)."""

from .drawing import contact_sheet, ellipses, panels, with_boundaries
from .model import ImageMixture
from .picture import Picture, read_picture, save_picture
from .rendering import mosaic, patch_sheet, reconstructed, sampled, segmentation, voronoi, voronoi_labels

__all__ = [
    "ImageMixture",
    "Picture",
    "contact_sheet",
    "ellipses",
    "mosaic",
    "panels",
    "patch_sheet",
    "read_picture",
    "reconstructed",
    "sampled",
    "save_picture",
    "segmentation",
    "voronoi",
    "voronoi_labels",
    "with_boundaries",
]
