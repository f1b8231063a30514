"""Pictures as point sets and mixtures (the extra `image`)."""

from .amplitude import AmplitudeSegmentation, segment_amplitude
from .compression import Rate, plot_rate_distortion, rate_distortion
from .drawing import contact_sheet, ellipses, figure, panels, with_boundaries
from .model import ImageMixture
from .picture import Picture, read_picture, save_picture
from .quality import psnr, ssim
from .rendering import mosaic, patch_sheet, reconstructed, sampled, segmentation, voronoi, voronoi_labels
from .run import Outcome, run
from .superpixels import Superpixels, superpixels

__all__ = [
    "AmplitudeSegmentation",
    "ImageMixture",
    "Outcome",
    "Picture",
    "Rate",
    "Superpixels",
    "contact_sheet",
    "ellipses",
    "figure",
    "mosaic",
    "panels",
    "patch_sheet",
    "plot_rate_distortion",
    "psnr",
    "rate_distortion",
    "read_picture",
    "reconstructed",
    "run",
    "sampled",
    "save_picture",
    "segment_amplitude",
    "segmentation",
    "ssim",
    "superpixels",
    "voronoi",
    "voronoi_labels",
    "with_boundaries",
]
