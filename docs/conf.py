"""Settings of the documentation site: `sphinx-build -W --keep-going docs docs/_build/html`."""

import sys
import warnings
from pathlib import Path

import kmle

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from reference import is_family, write_pages  # noqa: E402

write_pages(HERE / "api")

project = "kmle"
author = "The kmle developers"
copyright = author
version = release = kmle.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "balance",
    "docstrings",
    "mathml",
    "repository_links",
]
exclude_patterns = ["_build", "_ext", "_templates", "pictures", "gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "py:obj"
suppress_warnings = ["config.cache"]  # the function that templates call cannot be pickled

# Markdown and notebooks ----------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_timeout = 600  # also on a machine that is busy with other work
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
html_math_renderer = "mathml"

# Reference ------------------------------------------------------------------------------------------------------------

autosummary_generate = True
autosummary_context = {"is_family": is_family}
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

# Gallery --------------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "min_reported_time": 10,
    "ignore_repr_types": r"matplotlib|numpy\.ndarray",
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# Pages ----------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "kmle"
html_static_path = ["_static"]
html_css_files = ["kmle.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "kmle"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "faq": [], "changelog": []}
copybutton_exclude = ".linenos, .gp, .go"
