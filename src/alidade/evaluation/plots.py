"""Pictures of attention, like the paper's figure 1: source words over target words, one panel a system.

Attention is summed over layers and heads (paper, section 5) and folded from pieces to words. Shades are shares of a
target word's attention; a ring marks the strongest source word of each target word, a frame what a dictionary fixed.
Fonts are looked for among those that are installed, for matplotlib's own lacks Chinese and many other scripts.

Dimensions: T target pieces, S source pieces, both with the boundaries that the matrix has; words the same.
"""

from __future__ import annotations

import functools
import io
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from alidade.alignment.links import Link
from alidade.errors import AlidadeError, require_package
from alidade.io import write_aside
from alidade.text.subwords import Encoding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from alidade.translation import Translation
    from alidade.translator import Translator


STANDARD = "DejaVu Sans"
"""Comes with matplotlib: Latin, Greek, Cyrillic and more."""
BOXES = "Last Resort"
"""Comes with matplotlib too: has every character, but draws boxes."""


@dataclass(frozen=True, slots=True)
class Fonts:
    """Font families in the order in which a character is looked for, and what none of them has."""

    families: list[str]
    missing: str

    @property
    def hint(self) -> str | None:
        """What to do about missing characters."""
        if not self.missing:
            return None
        shown = self.missing if len(self.missing) <= 12 else f"{self.missing[:12]}…"
        return (
            f"no installed font has the characters {shown}, so the picture shows boxes in their place (an SVG shows "
            "them wherever a font is installed): install a font, on Debian `apt install fonts-noto-cjk` for Chinese, "
            "or name a font file"
        )


def choose_fonts(text: str, font_file: Path | None = None) -> Fonts:
    """The standard font and, for what it lacks, the given font file or the installed fonts that have most of it."""
    families = [STANDARD]
    missing = {character for character in text if not character.isspace()} - _characters_of_family(STANDARD)
    if font_file is not None:
        family = _register(font_file)
        families.append(family)
        missing -= _characters(str(font_file))
    while missing:
        best = max(_installed(), key=lambda font: len(missing & font[1]), default=None)
        if best is None or not missing & best[1]:
            break
        families.append(best[0])
        missing -= best[1]
    return Fonts(families, "".join(sorted(missing)))


def _register(font_file: Path) -> str:
    """Make a font file known to matplotlib; the name of its family."""
    from matplotlib.font_manager import FontProperties, fontManager

    if not font_file.is_file():
        raise AlidadeError(f"{font_file}: no such font file")
    try:
        fontManager.addfont(font_file)
        return FontProperties(fname=font_file).get_name()
    except RuntimeError:
        raise AlidadeError(f"{font_file}: not a font file that can be read (TrueType or OpenType)") from None


@functools.cache
def _installed() -> tuple[tuple[str, frozenset[str]], ...]:
    """Family and characters of every regular font that is installed."""
    from matplotlib.font_manager import fontManager

    regular = {
        font.name: font.fname
        for font in fontManager.ttflist
        if font.style == "normal" and font.name != STANDARD and not font.name.startswith(BOXES)
    }
    return tuple((name, _characters(path)) for name, path in sorted(regular.items()))


def _characters_of_family(family: str) -> frozenset[str]:
    from matplotlib.font_manager import FontProperties, findfont

    return _characters(str(findfont(FontProperties(family=family))))


@functools.cache
def _characters(path: str) -> frozenset[str]:
    """The characters that a font file can draw."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(map(chr, FT2Font(path).get_charmap()))
    except (RuntimeError, OSError):  # a broken font is as good as none
        return frozenset()


Matrix = npt.NDArray[np.floating]

FORMATS = (".png", ".svg", ".pdf")
SENTENCE_START, SENTENCE_END = "<s>", "</s>"

MAX_WORDS = 150
"""Of one side: more could not be read, and the picture would take minutes."""

_MAX_PIXELS = 6000
"""Of the longer side of a PNG."""
_CELL = 0.34
"""Inches of a word's row or column."""
_CHARACTER = 0.085
"""Inches that a character of a label takes."""
_SCALE_WIDTH = 0.8
"""Inches of the scale of shades."""
_ACCENT = "#c2410c"


@dataclass(frozen=True, slots=True)
class Panel:
    """One system's attention for one sentence pair."""

    source: Sequence[str]
    """Labels of the columns."""
    target: Sequence[str]
    """Labels of the rows."""
    attention: Matrix
    """(target words, source words), not negative; each row is shown relative to its sum."""
    title: str = ""
    marked: Sequence[Link] = ()
    """Cells that a dictionary entry has fixed, as links of columns and rows."""
    links: Sequence[Link] | None = None
    """Which words belong together, likewise; None: the strongest cell of each row says so."""


def panel_of_pieces(
    attention: Matrix,
    source: Encoding,
    target: Encoding,
    title: str = "",
    marked: Sequence[Link] = (),
    links: Sequence[Link] | None = None,
) -> Panel:
    """A panel of words from attention of pieces.

    attention: (I or I+1, J+2), columns `<s> f_1 .. f_J </s>`, rows e_1 .. e_I and maybe `</s>`, as a search records
    it. marked, links: of words.
    """
    has_end_row = attention.shape[0] == len(target) + 1
    folded = fold_attention(attention, source, target)
    return Panel(
        [SENTENCE_START, *(word.text for word in source.words), SENTENCE_END],
        [*(word.text for word in target.words), *([SENTENCE_END] if has_end_row else [])],
        folded,
        title,
        _beside_start(marked),
        None if links is None else _beside_start(links),
    )


def _beside_start(links: Sequence[Link]) -> list[Link]:
    """Links of words as links of columns and rows: `<s>` has the first column."""
    return [Link(link.source + 1, link.target) for link in links]


def panel_of(translator: Translator, translation: Translation, title: str = "") -> Panel:
    """A translation's attention, to be drawn with its links; what comes from a dictionary is marked.

    The links are those that the translation itself tells: where a word attends most may be `<s>`, to which none points.
    """
    if not len(translation.source) or not len(translation.target):
        raise AlidadeError("there is nothing to plot: the sentence or its translation is empty")
    marked = {
        Link(word, translation.target.word_of_piece[piece])
        for use in translation.uses
        for word in translation.matches[use.match].words
        for piece in use.pieces
    }
    (attention,) = translator.attention([translation])
    links = None if translation.alignment is None else list(translation.alignment)
    return panel_of_pieces(attention, translation.source, translation.target, title, sorted(marked), links)


def fold_attention(attention: Matrix, source: Encoding, target: Encoding) -> Matrix:
    """Attention of words from attention of pieces, boundaries kept as words of their own.

    A source word gets the sum of what its pieces get; a target word the mean of what its pieces give, so that a row
    sums to the same for words of any length.
    """
    num_source, num_target = len(source), len(target)
    if attention.shape[1] != num_source + 2 or attention.shape[0] not in (num_target, num_target + 1):
        raise ValueError(
            f"attention of shape {attention.shape} does not fit {num_target} target and {num_source} source pieces"
        )
    column_of = np.array([0, *(word + 1 for word in source.word_of_piece), len(source.words) + 1])
    columns = np.zeros((attention.shape[0], len(source.words) + 2))
    np.add.at(columns.T, column_of, attention.T)
    rows = [columns[list(target.pieces_of_word(word))].mean(axis=0) for word in range(len(target.words))]
    return np.array([*rows, *columns[num_target:]])


def plot_attention(panels: Sequence[Panel], path: Path, *, font: Path | None = None) -> str | None:
    """Draw the panels side by side into a PNG, SVG or PDF file.

    font: a font file to use for characters that the standard font lacks; without it, an installed one is looked for.
    Returns a hint for the person if no font has some characters, otherwise None.
    """
    if path.suffix.lower() not in FORMATS:
        raise AlidadeError(f"{path}: a picture's name must end in {', '.join(FORMATS)}")
    if not panels:
        raise AlidadeError("there is nothing to plot: give at least one sentence pair")
    longest = max(len(words) for panel in panels for words in (panel.source, panel.target))
    if longest > MAX_WORDS:
        raise AlidadeError(
            f"a side of {longest} words is too long for a picture, {MAX_WORDS} are the most: draw it in parts"
        )
    mpl = require_package("matplotlib", "plot", "a picture")
    texts = "".join(text for panel in panels for text in (*panel.source, *panel.target, panel.title))
    fonts = choose_fonts(texts, font)
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcParams["font.family"] = fonts.families
        mpl.rcParams["text.parse_math"] = False  # a word may have a dollar sign
        mpl.rcParams["pdf.fonttype"] = 42  # TrueType, so that text in the PDF can be searched
        # Without a font here, an SVG keeps its text as text: whoever opens it may have the font.
        mpl.rcParams["svg.fonttype"] = "none" if fonts.missing else "path"
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        picture = io.BytesIO()
        figure = draw_attention(panels)
        dpi = min(200.0, _MAX_PIXELS / max(figure.get_size_inches()))
        figure.savefig(picture, format=path.suffix[1:].lower(), dpi=dpi, bbox_inches="tight")
    with write_aside(path, "wb") as file:
        file.write(picture.getvalue())
    return fonts.hint


def draw_attention(panels: Sequence[Panel]) -> Figure:
    """The panels side by side as a matplotlib figure, with one scale of shades for all."""
    from matplotlib.figure import Figure

    sizes = [_panel_size(panel) for panel in panels]
    widths, heights = zip(*sizes, strict=True)
    figure = Figure(figsize=(sum(widths) + _SCALE_WIDTH, max(heights)), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, width_ratios=widths)
    all_shares = [_shares(panel.attention) for panel in panels]
    strongest = max(float(shares.max(initial=0.0)) for shares in all_shares)
    for axes, panel, shares in zip(grid[0], panels, all_shares, strict=True):
        # Cells as polygons: an image would be scaled up to the picture's size first, in gigabytes for a long sentence.
        edges = [np.arange(-0.5, size) for size in reversed(shares.shape)]
        cells = axes.pcolormesh(*edges, shares, cmap="Blues", vmin=0.0, vmax=strongest)
        axes.set_aspect("equal")
        axes.invert_yaxis()
        _label_words(axes, panel)
        _ring(axes, _strongest(shares) if panel.links is None else panel.links)
        for link in panel.marked:
            _mark(axes, link)
    figure.colorbar(cells, ax=list(grid[0]), label="share of attention", shrink=0.5, aspect=24, pad=0.01)
    return figure


def _label_words(axes: Axes, panel: Panel) -> None:
    # First: the labels above and below are different objects.
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_yticks(range(len(panel.target)), panel.target)
    axes.set_xticks(range(len(panel.source)), [_stand_upright(word) for word in panel.source])
    for label, word in zip(axes.get_xticklabels(), panel.source, strict=True):
        label.set_rotation(0 if _is_wide(word) else 90)
    axes.set_xticks(np.arange(-0.5, len(panel.source)), minor=True)
    axes.set_yticks(np.arange(-0.5, len(panel.target)), minor=True)
    axes.tick_params(which="minor", top=False, bottom=False, left=False)
    axes.grid(which="minor", color="white", linewidth=1.0)
    if panel.title:
        axes.set_xlabel(panel.title, labelpad=8)


def _is_wide(word: str) -> bool:
    """Whether a word is of square characters, Chinese for example, that may be written downwards."""
    return bool(word) and all(unicodedata.east_asian_width(character) in "WF" for character in word)


def _stand_upright(word: str) -> str:
    return "\n".join(word) if _is_wide(word) else word


def _strongest(shares: Matrix) -> list[Link]:
    return [Link(int(shares[row].argmax()), row) for row in range(len(shares)) if shares[row].any()]


def _ring(axes: Axes, links: Sequence[Link]) -> None:
    columns, rows = [link.source for link in links], [link.target for link in links]
    axes.plot(columns, rows, "o", markersize=4, markerfacecolor="white", markeredgecolor=_ACCENT, linestyle="none")


def _mark(axes: Axes, link: Link) -> None:
    """Frame a cell and colour its two words."""
    from matplotlib.patches import Rectangle

    corner = (link.source - 0.5, link.target - 0.5)
    axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=_ACCENT, linewidth=2.2, zorder=3))
    for label in (axes.get_xticklabels()[link.source], axes.get_yticklabels()[link.target]):
        label.set_color(_ACCENT)


def _shares(attention: Matrix) -> Matrix:
    """Each row divided by its sum: sums over layers and heads become comparable between systems."""
    totals: Matrix = attention.sum(axis=1, keepdims=True)
    shares: Matrix = attention / np.where(totals > 0, totals, 1.0)
    return shares


def _panel_size(panel: Panel) -> tuple[float, float]:
    """Inches that a panel with its labels wants."""
    widest = max(map(len, panel.target), default=0)
    tallest = max([len(word) * (2 if _is_wide(word) else 1) for word in panel.source], default=0)
    return (
        _CELL * len(panel.source) + _CHARACTER * widest + 0.4,
        _CELL * len(panel.target) + _CHARACTER * tallest + 0.6,
    )
