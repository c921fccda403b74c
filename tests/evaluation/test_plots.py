from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.patches import Rectangle

from alidade.alignment.links import Link
from alidade.errors import AlidadeError
from alidade.evaluation.plots import (
    STANDARD,
    Panel,
    choose_fonts,
    draw_attention,
    fold_attention,
    panel_of_pieces,
    plot_attention,
)
from alidade.text.subwords import Encoding
from alidade.text.words import Word

NO_FONT_HAS_IT = "\u0378"
"""Not assigned in Unicode, so no font can draw it."""


def encoding(*words: str) -> Encoding:
    """Words whose pieces are separated by a bar: "Haus|boot"."""
    pieces = [(number, piece) for number, word in enumerate(words) for piece in word.split("|")]
    return Encoding(
        text=" ".join(words),
        words=tuple(Word(word.replace("|", ""), 0, 0) for word in words),
        pieces=tuple(piece for _, piece in pieces),
        ids=tuple(range(len(pieces))),
        word_of_piece=tuple(number for number, _ in pieces),
    )


def panel(title: str = "") -> Panel:
    return Panel(["ein", "强大"], ["a", "strong"], np.array([[3.0, 1.0], [0.0, 2.0]]), title, [Link(1, 1)])


def test_source_pieces_are_summed_and_target_pieces_averaged() -> None:
    source, target = encoding("Haus|boot", "."), encoding("house|boat", ".")
    attention = np.array(
        [
            [0.1, 0.6, 0.2, 0.0, 0.1],
            [0.1, 0.2, 0.6, 0.1, 0.0],
            [0.0, 0.0, 0.1, 0.8, 0.1],
            [0.0, 0.0, 0.0, 0.1, 0.9],
        ]
    )
    expected = [[0.1, 0.8, 0.05, 0.05], [0.0, 0.1, 0.8, 0.1], [0.0, 0.0, 0.1, 0.9]]
    np.testing.assert_allclose(fold_attention(attention, source, target), expected)
    np.testing.assert_allclose(fold_attention(attention[:3], source, target), expected[:2])


def test_panel_of_pieces_names_the_boundaries_and_moves_the_marks() -> None:
    source, target = encoding("Haus|boot"), encoding("house|boat")
    made = panel_of_pieces(np.ones((3, 4)), source, target, "a title", [Link(0, 0)])
    assert list(made.source) == ["<s>", "Hausboot", "</s>"]
    assert list(made.target) == ["houseboat", "</s>"]
    assert list(made.marked) == [Link(1, 0)]
    assert list(panel_of_pieces(np.ones((2, 4)), source, target).target) == ["houseboat"]


def test_attention_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\) does not fit 1 target and 2 source pieces"):
        fold_attention(np.ones((2, 3)), encoding("a|b"), encoding("c"))


def test_draws_shares_with_source_words_above_and_target_words_beside() -> None:
    figure = draw_attention([panel("first"), panel("second")])
    first, second = figure.axes[:2]
    np.testing.assert_allclose(np.asarray(first.collections[0].get_array()), [[0.75, 0.25], [0.0, 1.0]])
    assert [label.get_text() for label in first.get_xticklabels()] == ["ein", "强\n大"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a", "strong"]
    assert [axes.get_xlabel() for axes in (first, second)] == ["first", "second"]


def test_rings_the_strongest_and_frames_the_marked() -> None:
    axes = draw_attention([panel()]).axes[0]
    columns, rows = axes.lines[0].get_data()
    assert np.array_equal(columns, [0, 1])
    assert np.array_equal(rows, [0, 1])
    frame = axes.patches[0]
    assert isinstance(frame, Rectangle)
    assert frame.get_xy() == (0.5, 0.5)


def test_rings_the_links_where_they_are_told() -> None:
    """Most of a word's attention may go to `<s>`: what belongs together is what the translation says."""
    attention = np.array([[0.6, 0.4, 0.0, 0.0], [0.5, 0.1, 0.4, 0.0]])
    told = panel_of_pieces(attention, encoding("ein", "Haus"), encoding("a", "house"), links=[Link(0, 0), Link(1, 1)])
    columns, rows = draw_attention([told]).axes[0].lines[0].get_data()
    assert np.array_equal(columns, [1, 2])
    assert np.array_equal(rows, [0, 1])


def test_panels_share_one_scale() -> None:
    strong, weak = panel(), Panel(["x", "y"], ["z"], np.array([[1.0, 1.0]]))
    assert {axes.collections[0].get_clim() for axes in draw_attention([strong, weak]).axes[:2]} == {(0.0, 1.0)}


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_writes_each_format_without_warnings(tmp_path: Path, ending: str, start: bytes) -> None:
    path = tmp_path / f"attention.{ending}"
    plot_attention([panel("costs $5 or $6")], path)
    assert path.read_bytes().startswith(start)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_without_a_font_there_is_a_hint_and_the_svg_keeps_its_text(tmp_path: Path) -> None:
    unknown = Panel([NO_FONT_HAS_IT], ["x"], np.ones((1, 1)))
    hint = plot_attention([unknown], tmp_path / "a.svg")
    assert hint is not None
    assert NO_FONT_HAS_IT in hint
    assert NO_FONT_HAS_IT in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert plot_attention([Panel(["größe"], ["șț"], np.ones((1, 1)))], tmp_path / "b.png") is None


def test_a_font_file_is_used() -> None:
    font = Path(mpl.get_data_path()) / "fonts" / "ttf" / "STIXGeneral.ttf"
    fonts = choose_fonts("a", font)
    assert fonts.families == [STANDARD, "STIXGeneral"]
    assert fonts.hint is None


def test_what_cannot_be_drawn_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"must end in \.png, \.svg, \.pdf"):
        plot_attention([panel()], tmp_path / "attention.gif")
    with pytest.raises(AlidadeError, match="nothing to plot"):
        plot_attention([], tmp_path / "attention.png")
    with pytest.raises(AlidadeError, match="no such font file"):
        choose_fonts("a", tmp_path / "none.ttf")
    broken = tmp_path / "broken.ttf"
    broken.write_text("no font")
    with pytest.raises(AlidadeError, match="not a font file"):
        choose_fonts("a", broken)


def test_a_picture_has_its_limits(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(151)]
    with pytest.raises(AlidadeError, match="a side of 151 words is too long for a picture, 150 are the most"):
        plot_attention([Panel(words, words, np.ones((151, 151)))], tmp_path / "large.png")
