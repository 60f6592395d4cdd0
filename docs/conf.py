"""How the documentation is built: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``.

Nothing is downloaded, when the pages are built or when they are read. What Sphinx does not do by itself is in ``_ext``,
one file per idea.
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
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "external_names",
    "llms_txt",
    "math_punctuation",
    "notebooks",
    "offline",
    "pictures",
    "plain_notation",
    "reference_pages",
    "related_names",
    "solutions",
    "source_pages",
]

# Pages
exclude_patterns = ["_build", "_ext", "_templates", "gallery/*.ipynb"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nitpicky = True
copybutton_exclude = ".linenos, .gp, .go"  # prompts and output are not copied
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

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "within_subsection_order": "gallery_sources.LectureOrder",
    "reset_modules": ("matplotlib",),
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "doc_module": ("maxmargin",),
    "backreferences_dir": None,
    "remove_config_comments": True,
}

# HTML
REPOSITORY = "https://github.com/maxmargin/maxmargin"
html_theme = "pydata_sphinx_theme"
html_title = f"maxmargin {release}"
html_static_path = ["_static"]
html_css_files = ["maxmargin.css"]
html_js_files = [("search.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_context = {
    "default_mode": "auto",  # light or dark as the reader's system is
    "github_user": "maxmargin",
    "github_repo": "maxmargin",
    "github_version": "main",
    "doc_path": "docs",
}
html_theme_options = {
    "logo": {"text": "maxmargin"},
    "use_edit_page_button": True,
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc", "notebook-link", "edit-this-page"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "icon_links": [{"name": "Source code", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
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
