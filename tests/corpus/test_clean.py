"""What cleaning puts right, what it drops and why."""

from __future__ import annotations

from typing import Any

import pytest

from alidade.config import CleaningSettings
from alidade.corpus.clean import Cleaner, CleanPair, Reason, SeenPairs, hash_pairs
from alidade.text.normalise import normalise_text, strip_diacritics


def clean(source: str, target: str, languages: tuple[str, str] = ("en", "de"), **settings: Any) -> CleanPair | Reason:
    return Cleaner(CleaningSettings(**settings), *languages).clean(source, target)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", "plain text"),
        ("  two \t spaces\u00a0and\u3000more ", "two spaces and more"),
        ("cafe\u0301", "caf\u00e9"),
        ("so\u00adft zero\u200bwidth \ufeffmark \u202eturned", "soft zerowidth mark turned"),
        ("bell\x07 and\x1b escape", "bell and escape"),
        ("👨\u200d👩\u200d👧 stays", "👨\u200d👩\u200d👧 stays"),
        ("line\u2028break\x85here", "line break here"),
        ("\x00 \x01", ""),
    ],
)
def test_text_is_normalised(text: str, expected: str) -> None:
    assert normalise_text(text) == expected


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("", "etwas", Reason.EMPTY),
        ("something", " \x07 ", Reason.EMPTY),
        ("word " * 121, "Wort " * 100, Reason.TOO_MANY_WORDS),
        ("x" * 1001, "kurz", Reason.TOO_MANY_CHARACTERS),
        ("a b c d e f g h i j k", "a b", Reason.RATIO),
        ("Same here", "Same here", Reason.IDENTICAL),
        ("hello there", "привет там", Reason.SCRIPT),
        ("你好", "hallo", Reason.SCRIPT),
    ],
)
def test_reasons_to_drop(source: str, target: str, reason: Reason) -> None:
    assert clean(source, target) is reason


def test_what_is_kept() -> None:
    assert clean("a b c d", "a") == CleanPair("a b c d", "a"), "short pairs are not judged by their ratio"
    assert clean("Same", "Same", drop_identical=False) == CleanPair("Same", "Same")
    assert clean("1 + 1 = 2", "2 = 1 + 1") == CleanPair("1 + 1 = 2", "2 = 1 + 1"), "no letters, no wrong script"
    assert clean("Müller met 王 today", "Müller traf 王 heute") == CleanPair(
        "Müller met 王 today", "Müller traf 王 heute"
    )
    assert isinstance(clean("да нет", "hallo du", ("xx", "de")), CleanPair), "an unknown language has any script"


def test_chinese_is_counted_in_characters() -> None:
    assert isinstance(clean("我们都喜欢在公园里踢足球吗", "we like football", ("zh", "en")), Reason)
    assert isinstance(
        clean("我们都喜欢在公园里踢足球", "all of us like to play football in parks", ("zh", "en")), CleanPair
    )
    assert clean("我" * 121, "I " * 100, ("zh", "en")) is Reason.TOO_MANY_WORDS


@pytest.mark.parametrize("chinese", ["zh", "zh-CN", "ZH_hans", "yue"])
def test_a_language_may_have_a_region(chinese: str) -> None:
    assert clean("我" * 121, "I " * 100, (chinese, "en")) is Reason.TOO_MANY_WORDS
    assert clean("hello there", "привет там", ("en-GB", "de_AT")) is Reason.SCRIPT


def test_romanian_letters() -> None:
    assert clean("şi ţară", "şi ţară și", ("en", "ro"), romanian_comma_below=True) == ("şi ţară", "și țară și")
    assert clean("and", "şi", ("en", "ro")) == ("and", "şi")
    assert clean("über", "țară și", ("de", "ro"), strip_diacritics=["ro"], lower_case=True) == ("über", "tara si")
    assert strip_diacritics("ăâîșțĂÂÎȘȚ") == "aaistAAIST"


def test_pairs_are_seen_once() -> None:
    seen = SeenPairs()

    def are_new(pairs: list[CleanPair]) -> list[bool]:
        return [bool(is_new) for is_new in seen.are_new(hash_pairs(pairs))]

    pairs = [CleanPair(str(i % 70), "x") for i in range(100)]
    assert are_new(pairs) == [True] * 70 + [False] * 30
    for start in range(0, 5000, 100):
        chunk = [CleanPair(str(i), "x") for i in range(start, start + 200)]
        expected = [i >= max(start + 100, 70) if start else i >= 70 for i in range(start, start + 200)]
        assert are_new(chunk) == expected
    assert are_new([]) == []
    assert are_new([CleanPair("1", "y")]) == [True], "both sides count"
