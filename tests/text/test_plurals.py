"""The categories of plurals are CLDR's."""

from __future__ import annotations

import pytest

from alidade.text.plurals import plural_categories

ORDER = ("zero", "one", "two", "few", "many", "other")


@pytest.mark.parametrize(
    ("language", "cardinal", "ordinal"),
    [
        ("en", "one other", "one two few other"),
        ("ro-RO", "one few other", "one other"),
        ("zh_Hans", "other", "other"),
        ("tlh", "one other", "other"),
    ],
)
def test_categories(language: str, cardinal: str, ordinal: str) -> None:
    assert " ".join(plural_categories(language)) == cardinal
    assert " ".join(plural_categories(language, "ordinal")) == ordinal


def test_they_are_those_of_cldr() -> None:
    babel = pytest.importorskip("babel")
    names = [name for name in babel.localedata.locale_identifiers() if "_" not in name]
    assert len(names) > 200
    for name in names:
        locale = babel.Locale.parse(name)
        cardinal, ordinal = [
            tuple([category for category in ORDER if category in {*rule.tags, "other"}])
            for rule in (locale.plural_form, locale.ordinal_form)
        ]
        if cardinal != ("other",):  # which is also what Babel says of languages that CLDR knows nothing about
            assert plural_categories(name) == cardinal, name
        elif name in ("ja", "zh", "ko", "vi", "th", "id"):
            assert plural_categories(name) == ("other",)
        assert plural_categories(name, "ordinal") == ordinal, name
