"""Whatever a model does to a sentence, every placeholder comes out once and to the byte."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alidade.alignment.links import Alignment
from alidade.model_folder import default_model
from alidade.protection.icu import icu_stretches
from alidade.protection.protect import Protection
from alidade.protection.restore import copied, keeps_all, required_entries, restore
from alidade.text.placeholders import find_placeholders
from alidade.text.plurals import with_preposition
from alidade.text.sentences import SENTENCES, UNSPLIT, Splitting
from alidade.text.subwords import Encoding, Subwords
from alidade.text.words import split_words
from alidade.translation import Translation

EMPTY = Translation(
    Encoding("", (), (), (), ()), Encoding("", (), (), (), ()), (), 0.0, 0.0, 0.0, alignment=Alignment()
)


@functools.cache
def protection() -> Protection:
    folder = default_model()
    source = Subwords.load(folder / "subwords.source.model", "en")
    return Protection(source, Subwords.load(folder / "subwords.target.model", "ro"))


Model = Callable[[str], tuple[list[str], list[tuple[int, int]]]]
"""From a sentence to target words and links."""


def copying(sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
    words = [word.text for word in split_words(sentence, "en")]
    return words, [(number, number) for number in range(len(words))]


def reversing(sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
    words = [word.text for word in split_words(sentence, "en")]
    return words[::-1], [(len(words) - 1 - number, number) for number in range(len(words))]


def translate(text: str, model: Model = copying) -> Translation:
    protected = protection().protect(text)
    parts = []
    for _, sentence in protected.all_sentences():
        parts.append(copied(sentence, EMPTY, "en") if sentence.is_copied else answer(sentence.text, model))
    return restore(protected, iter(parts), EMPTY)


def answer(sentence: str, model: Model) -> Translation:
    words, links = model(sentence)
    target = " ".join(words)
    source = Encoding(sentence, split_words(sentence, "en"), (), (), ())
    spans = split_words(target, "tokenised")
    alignment = Alignment.of(links)
    return Translation(
        source,
        Encoding(target, spans, (), (), ()),
        (),
        0.0,
        0.0,
        0.0,
        alignment=alignment,
        confidences=dict.fromkeys(alignment, 1.0),
    )


@pytest.mark.parametrize(
    "text",
    [
        "  Open %(file)s now.\n",
        "Copy <b>%1$s</b> to <i class=\"x\">{name}</i>, please…",
        "One. Two (see https://x.org).\n\nThree:  four",
        "&File",
        "Say \\\"hello\\\" to {{ user.name }}\\nand 😀 leave",
        "Hi {name}, {n, plural, one {# new file} few {# new files} other {# de new files}} wait.",
        "PLEASE READ %s BEFORE USE",
        "磁盘已满。",
        "",
        "   ",
        "%s",
        "<p>Run <code>ls -l</code>. Then <kbd>q</kbd>.</p>",
        "100%% of &nbsp; all &amp; more",
        "a<br/>b<br/>c",
    ],
)  # fmt: skip
def test_a_model_that_copies_gives_the_text_itself(text: str) -> None:
    protected = protection().protect(text)
    parts = []
    for _, sentence in protected.all_sentences():
        words = split_words(sentence.text, "en")
        encoding = Encoding(sentence.text, words, (), (), ())
        alignment = Alignment.of([(number, number) for number in range(len(words))])
        confidences = dict.fromkeys(alignment, 1.0)
        parts.append(replace(EMPTY, source=encoding, target=encoding, alignment=alignment, confidences=confidences))
    result = restore(protected, iter(parts), EMPTY)
    assert result.text == text
    assert result.source.text == text
    assert all(text[word.start : word.end] == word.text for word in result.source.words)
    assert all(text[word.start : word.end] == word.text for word in result.target.words)
    assert not [note for note in result.notes if "lost" in note]


def test_what_may_swap_swaps_with_its_words_and_what_may_not_stays() -> None:
    assert translate("%1$s of %2$s", reversing).text == "%2$s of %1$s"
    assert translate("%s of %d", reversing).text == "%s of %d"
    assert translate("{a} of {b}", reversing).text == "{b} of {a}"


def test_what_is_lost_is_put_back_beside_its_neighbours_and_a_note_says_so() -> None:
    def losing(_: str) -> tuple[list[str], list[tuple[int, int]]]:
        return ["deschide", "acum"], [(0, 0), (2, 1)]

    result = translate("open {file} now", losing)
    assert result.text == "deschide {file} acum"
    assert result.notes == ("{file} was lost and put back",)
    assert (1, 1) in {(link.source, link.target) for link in result.alignment or ()}


def test_a_tag_whose_words_are_left_out_stays_and_a_note_says_so() -> None:
    def leaving_out(_: str) -> tuple[list[str], list[tuple[int, int]]]:
        return ["deschide", "fișierul"], [(0, 0), (2, 1)]

    result = translate("open <b>this</b> file", leaving_out)
    assert result.text == "deschide <b></b>fișierul"
    assert result.notes == ("<b> is empty: nothing in the translation comes from its words",)


def test_what_is_doubled_is_removed_with_its_quotes() -> None:
    def doubling(_: str) -> tuple[list[str], list[tuple[int, int]]]:
        return ["„", "%s", "”", "și", "„", "%s", "”"], [(0, 1), (0, 5), (1, 3)]

    assert translate("{x} and", doubling).text.count("{x}") == 1


def test_a_placeholder_that_the_model_invents_is_removed() -> None:
    def inventing(_: str) -> tuple[list[str], list[tuple[int, int]]]:
        return ["deschide", "%d", "fișierul"], [(0, 0), (1, 1), (2, 2)]

    result = translate("open the file", inventing)
    assert result.text == "deschide fișierul"
    assert "%d" in result.notes[0]


def test_accelerators_stand_before_a_letter_of_the_right_word() -> None:
    def romanian(_: str) -> tuple[list[str], list[tuple[int, int]]]:
        return ["Salvează", "fișierul"], [(0, 0), (1, 1)]

    assert translate("&Save file", romanian).text == "&Salvează fișierul"
    assert translate("Save _File", romanian).text == "Salvează _fișierul"
    assert translate("Save Docu_ment", romanian).text == "Salvează _fișierul"  # it has no m
    assert translate("Save fi~le", romanian).text == "Salvează fișieru~l"


def test_each_branch_of_an_icu_message_is_translated_and_the_rest_kept() -> None:
    message = "{n, plural, =0 {no files} one {# file in {folder}} other {# files}}"
    branches = "=0 {files no} one {{folder} in file #} few {files #} other {files #}"
    assert translate(message, reversing).text == f"{{n, plural, {branches}}}"


def in_romanian(message: str) -> str:
    return "".join([stretch.text for stretch in icu_stretches(message, "ro")])


def test_branches_of_an_icu_plural_are_those_of_the_target_language() -> None:
    message = "{n, plural, offset:1 =0 {none} one {# file} other {# files}}"
    assert in_romanian(message) == message.replace("other", "few {# files} other")
    assert "".join([one.text for one in icu_stretches(message, "zh")]) == message.replace(" one {# file}", "")
    assert in_romanian("{n, plural,\n  other {# files}}") == (
        "{n, plural,\n  one {# files}\n  few {# files}\n  other {# files}}"
    )
    ordinal = "{n, selectordinal, one {#st} two {#nd} few {#rd} other {#th}}"
    assert in_romanian(ordinal) == "{n, selectordinal, one {#st} other {#th}}"
    for kept in ("{who, select, one {a} other {b}}", "{n, plural, one {without other}}"):
        assert in_romanian(kept) == kept


def test_large_numbers_take_a_preposition_in_romanian() -> None:
    stretches = icu_stretches("{n, plural, one {# file} other {# files}}", "ro")
    assert [one.counted_in for one in stretches if one.is_translated] == ["", "", "ro"]
    assert with_preposition("# fișiere noi", "ro") == "# de fișiere noi"
    assert with_preposition("# de fișiere", "ro") == "# de fișiere"
    assert with_preposition("# Dateien", "de") == "# Dateien"


def test_capitals_are_translated_through_small_letters() -> None:
    seen = []

    def noting(sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
        seen.append(sentence)
        return copying(sentence)

    assert translate("DISK %s IS FULL", noting).text == "DISK %s IS FULL"
    assert seen == ["Disk %s is full"]


def test_a_script_that_the_model_has_never_seen_is_copied_with_a_note() -> None:
    result = translate("磁盘已满。", reversing)
    assert result.text == "磁盘已满。"
    assert "script" in result.notes[0]


def test_a_word_in_such_a_script_is_kept_inside_its_sentence() -> None:
    [sentence] = protection().protect("Open the file 磁盘 in 5 µm now.").sentences
    assert sentence.text == "Open the file %s in 5 µm now."
    assert translate("Open the file 磁盘 now", reversing).text == "now 磁盘 file the Open"


def test_what_has_no_letters_is_not_given_to_the_model() -> None:
    def failing(_: str) -> tuple[list[str], list[tuple[int, int]]]:
        raise AssertionError

    assert translate("%s: %d (%%)", failing).text == "%s: %d (%%)"


def test_elements_that_say_no_are_kept_whole() -> None:
    text = 'Use <span translate="no">Save As</span> or <code>cp a b</code> now'
    assert '<span translate="no">Save As</span>' in translate(text, reversing).text
    assert "<code>cp a b</code>" in translate(text, reversing).text


def test_says_whether_a_search_has_kept_everything() -> None:
    protected = protection().protect("copy {a} to {b}")
    [sentence] = protected.sentences
    assert keeps_all(protected, sentence, answer(sentence.text, copying))
    assert not keeps_all(protected, sentence, answer(sentence.text, lambda _: (["%s"], [(1, 0)])))
    entries = required_entries(protected, sentence, "en")
    assert [(entry.source, entry.occurrence) for entry in entries] == [("%s", 1), ("%s", 2)]


PLACEHOLDERS = (
    *(
        "%s",
        "%d",
        "%(name)s",
        "%1$s",
        "%2$s",
        "%-5.2f",
        "%%",
        "%@",
        "%1$@",
        "{}",
        "{0}",
        "{name}",
        "{name!r:>5}",
        "{{x}}",
    ),
    *("${var}", "#{x}", "{%if%}", "<b>", "</b>", "<br/>", "&amp;", "&nbsp;", "https://x.org/a?b=c", "user@example.com"),
    *("/usr/lib/foo", "--option=x", "-f", "user_id", "config.yml", "ERROR_NOT_FOUND", "1.2.3", "😀", "👨‍👩‍👧", "\\n"),
    *("\\t", "Ctrl+C", "Reply-To:", "<code>x</code>"),
)
WORDS = ["open", "the", "file", "and", "close", "it", "now", "Error", "message", "(see", "below)"]


@given(
    st.lists(st.sampled_from(PLACEHOLDERS), min_size=2, max_size=5),
    st.lists(st.sampled_from(WORDS), min_size=0, max_size=8),
    st.integers(0, 1 << 32),
)
@settings(max_examples=300, deadline=None)
def test_everything_survives_a_model_that_scrambles_loses_doubles_and_invents(
    placeholders: list[str], words: list[str], seed: int
) -> None:
    chance = random.Random(seed)
    units = [*placeholders, *words]
    chance.shuffle(units)
    text = " ".join(units) + chance.choice(["", ".", ":", "…", "  ", "\n"])

    def scrambling(sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
        source = [word.text for word in split_words(sentence, "en")]
        target = [word for word in source for _ in range(chance.choice([0, 1, 1, 1, 2]))]
        chance.shuffle(target)
        target += chance.choice([[], ["%d"], ["{0}"], ["%s", "%s"]])
        return target, [
            (chance.randrange(len(source)), number) for number in range(len(target)) if chance.random() < 0.9
        ]

    result = translate(text, scrambling)
    for placeholder in find_placeholders(text):
        if placeholder.kind in ("punctuation", "space"):
            assert result.text.rstrip() + text[len(text.rstrip()) :] == result.text
            assert result.text.rstrip().endswith(text.rstrip()[-1:] if placeholder.kind == "punctuation" else "")
            continue
        count = len([other for other in find_placeholders(text) if other.text == placeholder.text])
        if text.count(placeholder.text) == count:  # else the same characters stand elsewhere too
            assert result.text.count(placeholder.text) == count, (placeholder, result.text)
    ordered = [p.text for p in find_placeholders(text) if p.order == "printf"]
    assert [p.text for p in find_placeholders(result.text) if p.order == "printf"] == ordered
    assert all(result.text[word.start : word.end] == word.text for word in result.target.words)
    assert all(text[word.start : word.end] == word.text for word in result.source.words)
    for link in result.alignment or ():
        assert link.source < len(result.source.words)
        assert link.target < len(result.target.words)


def test_a_stand_in_never_melts_into_the_text_beside_it() -> None:
    assert translate("--format %%10f now").text.count("%%") == 1
    assert "%10f" not in translate("--format %%10f now").text.replace("%%", "")


def test_a_mark_before_a_full_stop_leaves_no_space_behind() -> None:
    [sentence] = protection().protect("Open the file 😀.").sentences
    assert sentence.text == "Open the file."


def sentences(text: str, splitting: Splitting = SENTENCES) -> list[str]:
    return [one.text for one in protection().protect(text, splitting=splitting).sentences]


def test_blocks_end_sentences_and_other_tags_where_they_are_told_to() -> None:
    blocks = "<p>Open it</p><p>Close it</p>"
    assert sentences(blocks) == ["Open it", "Close it"]
    assert sentences(blocks, UNSPLIT) == ["Open it Close it"]
    assert sentences("<par>Open it</par><par>Close it</par>", Splitting(tags=frozenset({"par"}))) == [
        "Open it",
        "Close it",
    ]
    text = "Open it. <b>Close it. Wait</b>."
    assert len(sentences(text)) == 3
    assert sentences(text, Splitting(whole_tags=frozenset({"b"}))) == ["Open it.", "Close it. Wait."]


@pytest.mark.parametrize(
    "text",
    [
        "<ul>\n  <li>One file</li>\n  <li>Two <b>files</b></li>\n</ul>",
        "<p>Open it</p>\n\n<p>Close it</p>",
        "<td>Name</td><td>Size</td>",
        "<b>Warning</b>\n<i>Close it</i>",
    ],
)
def test_white_space_between_tags_stays(text: str) -> None:
    assert translate(text).text == text
