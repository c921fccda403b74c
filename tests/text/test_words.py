"""A word is what a person calls a word, in every language that the project speaks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from alidade.text.words import TOKENISED, Word, split_words


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Don't stop, it's John's!", "Don't|stop|,|it's|John's|!"),
        ("en", "the players' well-known hats", "the|players|'|well-known|hats"),
        ("de", "Die E-Mail-Adresse „Müller“ (neu)", "Die|E-Mail-Adresse|„|Müller|“|(|neu|)"),
        ("de", "z.B. am 3. Mai", "z|.|B|.|am|3|.|Mai"),
        ("ro", "Într-un sat s-a dus; și n-a văzut țara.", "Într-un|sat|s-a|dus|;|și|n-a|văzut|țara|."),
        ("fr", "L’homme qu'il a vu", "L’homme|qu'il|a|vu"),
        ("en", "Wait... -- what?! ===", "Wait|...|--|what|?|!|==="),
    ],
)
def test_words_and_marks(language: str, text: str, expected: str) -> None:
    assert [word.text for word in split_words(text, language)] == expected.split("|")


@pytest.mark.parametrize(
    "unit",
    [
        "1,234.56",
        "1.234,56",
        "10:30",
        "2009-12-31",
        "https://example.org/a/b?c=d&e=f#g",
        "www.example.org/index.html",
        "first.last+tag@mail.example.org",
        "%s",
        "%(name)s",
        "%1$s",
        "%-10.3lf",
        "%d",
        "%{count}",
        "{name}",
        "{0}",
        "{}",
        "${HOME}",
        "&amp;",
        "&#39;",
        "👨‍👩‍👧",
        "👍🏽",
        "🇷🇴",
        "1️⃣",
        "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
        "❤️",
        "file_name",
        "MP3",
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_unit_that_is_a_word(unit: str, language: str) -> None:
    words = split_words(f"see {unit}, ok", language)
    assert words[1] == Word(unit, 4, 4 + len(unit))
    assert not words[1].is_punctuation
    assert words[2].text == ","


@pytest.mark.parametrize("mark", [".", ",", "…", "...", "“", "。", "—", "%", "€", "+", "<", "&"])
def test_marks_are_no_words(mark: str) -> None:
    (word,) = split_words(mark, "en")
    assert word.is_punctuation


def test_percent_signs_are_not_all_placeholders() -> None:
    assert [word.text for word in split_words("5%igen 100% of %s", "de")] == ["5", "%", "igen", "100", "%", "of", "%s"]


def test_final_marks_stay_out_of_a_url() -> None:
    words = split_words("(see https://example.org/x).", "en")
    assert [word.text for word in words] == ["(", "see", "https://example.org/x", ")", "."]


def test_chinese_is_segmented() -> None:
    text = "我喜欢在北京学习Python3，2009年来的。"
    words = [word.text for word in split_words(text, "zh")]
    assert words == ["我", "喜欢", "在", "北京", "学习", "Python3", "，", "2009", "年", "来", "的", "。"]
    assert [word.text for word in split_words(text, "zh-CN")] == words


def test_chinese_in_another_language_is_not_torn_to_letters() -> None:
    assert [word.text for word in split_words("the word 北京 here", "en")] == ["the", "word", "北京", "here"]


def test_tokenised_text_is_split_at_spaces_only() -> None:
    words = split_words("don 't  stop , .", TOKENISED)
    assert words == (Word("don", 0, 3), Word("'t", 4, 6), Word("stop", 8, 12), Word(",", 13, 14), Word(".", 15, 16))


@pytest.mark.parametrize("language", ["en", "zh", TOKENISED])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "a\u00a0b\tc\u3000d",
        "\ufeff\u200d\u0301x",
        "é " * 3,
        "𝔘𝔫𝔦",
        "\x00\x1b[0m",
        "北 京\u2028x",
        "🇷🇴🇷" + "-" * 99,
    ],
)
def test_units_cover_all_but_white_space(text: str, language: str) -> None:
    words = split_words(text, language)
    covered = {place for word in words for place in range(word.start, word.end)}
    assert covered == {place for place, character in enumerate(text) if not character.isspace()}
    assert all(text[word.start : word.end] == word.text for word in words)
    assert sum(len(word.text) for word in words) == len(covered), "no two units overlap"


def test_jieba_is_quiet_and_loaded_only_for_chinese() -> None:
    program = (
        "import sys; from alidade.text.words import split_words; split_words('plain English', 'en');"
        "assert 'jieba' not in sys.modules; split_words('中文句子', 'zh'); assert 'jieba' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
