"""Images as point sets and mixtures (the extra `image`)."""

from .amplitude import AmplitudeSegmentation, segment_amplitude
from .compression import Rate, plot_rate_distortion, rate_distortion
from .drawing import contact_sheet, ellipses, figure, panels, with_boundaries
from .image import ImageData, read_image, save_image
from .model import ImageMixture
from .quality import psnr, ssim
from .rendering import mosaic, patch_sheet, reconstructed, sampled, segmentation, voronoi, voronoi_labels
from .run import Outcome, run
from .superpixels import Superpixels, superpixels

__all__ = [
    "AmplitudeSegmentation",
    "ImageData",
    "ImageMixture",
    "Outcome",
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
    "read_image",
    "reconstructed",
    "run",
    "sampled",
    "save_image",
    "segment_amplitude",
    "segmentation",
    "ssim",
    "superpixels",
    "voronoi",
    "voronoi_labels",
    "with_boundaries",
]
