"""Figures that a page draws itself: a directive whose content is the code, run when the page is built.

    ```{picture} What the figure shows.
    from matplotlib.figure import Figure
    figure = Figure()
    ...
    ```

The code stands alone, and leaves a matplotlib figure named ``figure``. The page shows the figure, its caption and,
folded, the code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from maxmargin.displays._figure import CLASSES

FOLDER = "_pictures"
STYLE = {"axes.prop_cycle": cycler(color=CLASSES), "font.size": 11}  # the colours of the displays


def draw(code: str, name: str, file: Path) -> None:
    """Write the figure that the code draws, whatever style other pages have left behind."""
    scope: dict[str, Any] = {"__name__": name}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        exec(compile(code, name, "exec"), scope)
        scope["figure"].savefig(file, dpi=110)


class Picture(SphinxDirective):
    """The directive ``picture``; its argument is the caption."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        page = self.env.docname
        number = self.env.new_serialno("picture")
        file = Path(self.env.srcdir) / FOLDER / f"{page.replace('/', '-')}-{number}.png"
        file.parent.mkdir(exist_ok=True)
        draw(code, f"picture {number} of {page}", file)

        caption = self.arguments[0]
        inline, messages = self.parse_inline(caption)
        figure = nodes.figure("", nodes.image(uri=f"/{FOLDER}/{file.name}", alt=nodes.Text(caption).astext()))
        figure += nodes.caption(caption, "", *inline)
        block = nodes.literal_block(code, code, language="python")
        fold = nodes.raw("", '<details class="picture-code"><summary>the code</summary>', format="html")
        return [figure, fold, block, nodes.raw("", "</details>", format="html"), *messages]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
