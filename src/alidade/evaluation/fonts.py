"""Which fonts a picture's text needs: matplotlib's own lacks Chinese and many other scripts."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from alidade.errors import AlidadeError

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
