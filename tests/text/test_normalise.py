"""Text written as models of OPUS-MT want it."""

from __future__ import annotations

from alidade.config import NormalisationSettings
from alidade.text.normalise import normalise_as_set


def test_punctuation_as_moses_writes_it() -> None:
    moses = NormalisationSettings(moses_punctuation=True)
    assert normalise_as_set("„So“ – sagt’s …  «ja» ?", "de", moses) == '"So" - sagt\'s ... "ja" ?'
    assert normalise_as_set("“So,” he said", "en-GB", moses) == '"So," he said'
    assert normalise_as_set("„So“ – sagt’s", "de", NormalisationSettings()) == "„So“ – sagt’s"
