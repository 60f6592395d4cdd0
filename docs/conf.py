"""How the documentation is built: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``.

Nothing is downloaded. What Sphinx does not do by itself is in ``_ext``, one file an idea.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import maxmargin  # noqa: E402

project = "maxmargin"
author = "The maxmargin developers"
copyright = author
version = release = maxmargin.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "gallery_sources",
    "pictures",
    "plain_notation",
    "reference_pages",
    "source_pages",
]

# Pages
exclude_patterns = ["_build", "_ext", "_gallery", "_templates"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(numpy|scipy|sklearn|matplotlib|pandas|polars)\..*")]  # no inventory is downloaded
highlight_language = "text"
default_role = "literal"
smartquotes = False  # w'x is a product

# Reference
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_validation_checks: set[str] = set()

# Gallery: the scripts write their pictures themselves; see _ext/gallery_sources.py.
sphinx_gallery_conf = {
    "examples_dirs": ["_gallery"],
    "gallery_dirs": ["gallery"],
    "image_scrapers": ("gallery_sources.collect_picture",),
    "reset_argv": "gallery_sources.argument",
    "reset_modules": (),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "doc_module": ("maxmargin",),
    "backreferences_dir": None,
    "remove_config_comments": True,
}

# HTML
html_theme = "alabaster"
html_title = f"maxmargin {release}"
html_static_path = ["_static"]
html_css_files = ["maxmargin.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_theme_options = {
    "description": "Support vector machines and kernel methods: exact, certified, fast",
    "fixed_sidebar": True,
    "page_width": "1180px",
    "sidebar_width": "250px",
    "sidebar_collapse": True,
    "show_powered_by": False,
    "font_family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "head_font_family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "font_size": "16px",
}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """The source of a documented name, among the pages of ``_ext/source_pages.py``."""
    from source_pages import address_of

    return address_of(info["module"], info["fullname"], up=2) if domain == "py" else None


def inside(app: object, docname: str, source: list[str]) -> None:
    """Links of a page to files that are not pages, as they work in the repository, lead to the page that has them."""
    source[0] = source[0].replace("(../benchmarks/README.md)", "(benchmarks-method.md)")


def setup(app: object) -> None:
    app.connect("source-read", inside)  # type: ignore[attr-defined]
