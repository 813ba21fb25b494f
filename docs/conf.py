"""How the site is built: `make docs`. Needs no network, neither to build nor to read."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT)]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two scripts run at a time

import _api  # noqa: E402
import _copied  # noqa: E402
import _gallery  # noqa: E402
import _paper  # noqa: E402

import pinnsig  # noqa: E402

project = "pinnsig"
author = "the pinnsig authors"
copyright = f"2026, {author}"
version = release = pinnsig.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
exclude_patterns = [
    "_build",
    "tutorials",
    "generated/sources",
    "generated/tables.md",  # included by pages
    "generated/paper/claims.md",
]
suppress_warnings = [
    "ref.python",  # a name that several packages export: the first is linked to
    "config.cache",  # sphinx-gallery's settings hold functions
]

html_theme = "furo"
html_title = f"pinnsig {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
default_role = "py:obj"  # `name` in a docstring is a link where there is such a name
copybutton_prompt_text = "$ "

# Text files that say where the pages of other packages are: links without asking the network.
intersphinx_mapping = {
    "torch": ("https://docs.pytorch.org/docs/stable", "inventories/torch.txt"),
    "numpy": ("https://numpy.org/doc/stable", "inventories/numpy.txt"),
    "scipy": ("https://docs.scipy.org/doc/scipy", "inventories/scipy.txt"),
    "matplotlib": ("https://matplotlib.org/stable", "inventories/matplotlib.txt"),
    "python": ("https://docs.python.org/3", "inventories/python.txt"),
}

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": ["tutorials", "generated/sources/problems"],
    "gallery_dirs": ["generated/tutorials", "generated/problems"],
    "filename_pattern": os.environ.get("PINNSIG_DOCS_ONLY", r"\.py$"),
    "ignore_pattern": r"runs/",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", "_gallery.scrape_run"),
    "reset_modules": ("matplotlib", "_gallery.one_thread"),
    "parallel": 2,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": os.environ.get("PINNSIG_DOCS_EXECUTE", "1") != "0",
    "write_computation_times": False,  # its page would load scripts from elsewhere
    "copyfile_regex": r"^$",
}


def write_generated(_app: Any) -> None:
    """Write what is not written by hand: the problems' scripts, the API's pages, the paper's."""
    for runs in (DOCS / "tutorials" / "runs", DOCS / "generated" / "sources" / "problems" / "runs"):
        shutil.rmtree(runs, ignore_errors=True)
    generated = DOCS / "generated"
    _gallery.write_scripts(generated / "sources" / "problems", ROOT)
    _copied.write_tables(generated / "tables.md", ROOT)
    _copied.write_documents(generated / "documents", ROOT)
    _api.write_pages(generated / "api")
    _paper.write_pages(generated / "paper", ROOT)


def setup(app: Any) -> None:
    """Connect what is written at build time, before sphinx-gallery looks for it."""
    app.connect("builder-inited", write_generated, priority=100)
    app.connect("autodoc-process-docstring", _api.plain_docstring, priority=100)
    app.connect("html-page-context", _api.right_anchors)
