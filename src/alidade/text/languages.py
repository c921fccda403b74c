"""Languages by their tags: "zh", "zh-CN", "zh_Hans" and "ZH" are one language, and one function says so."""

from __future__ import annotations

_WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "wuu"})
_CHINESE = frozenset({"zh", "yue", "wuu", "cmn"})


def primary_language(tag: str) -> str:
    """The language of a tag, without script and region: "ro" of "ro-RO", "zh" of "zh_Hans"."""
    return tag.strip().lower().replace("_", "-").partition("-")[0]


def is_same_language(first: str, second: str) -> bool:
    """Whether two tags name one language, whatever their scripts and regions."""
    return primary_language(first) == primary_language(second)


def is_chinese(tag: str) -> bool:
    """Whether text in this language is segmented as Chinese."""
    return primary_language(tag) in _CHINESE


def is_written_without_spaces(tag: str) -> bool:
    """Whether no space stands between the words, or sentences, of a language."""
    return primary_language(tag) in _WITHOUT_SPACES
