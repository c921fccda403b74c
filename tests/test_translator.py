"""Translator: text in, text with links out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alidade import AlidadeError, Translator
from alidade.aligner import align
from alidade.alignment.links import Alignment
from alidade.config import NormalisationSettings
from alidade.dictionary.entries import Dictionary, make_entry
from alidade.dictionary.files import load_dictionary
from alidade.dictionary.simulation import one_to_one_links
from alidade.translation import with_distinct_texts
from alidade.translator import Mode
from small_folders import make_folder

TEXTS = ["ba be", "", "bi bo bu da de", "di", "   ", "do du fa fe fi fo fu ga ge"]


@pytest.fixture(scope="module", params=[False, True], ids=["baseline", "assisted"])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = make_folder(tmp_path_factory.mktemp("folder") / "model", is_assisted=request.param)
    return Translator(folder, batch_size=2)


def test_results_are_in_order_and_empty_stays_empty(translator: Translator) -> None:
    translations = translator.translate_all(TEXTS)
    assert [t.text.strip() == "" for t in translations] == [False, True, False, False, True, False]
    assert [t.source.text for t in translations] == TEXTS
    for text, together in zip(TEXTS, translations, strict=True):
        alone = translator.translate(text)
        assert alone.text == together.text
        assert alone.score == pytest.approx(together.score, abs=1e-5)


def test_links_are_of_words(translator: Translator) -> None:
    translation = translator.translate("bi bo bu da de")
    assert translation.alignment is not None
    assert {link.target for link in translation.alignment} == set(range(len(translation.target.words)))
    translation.alignment.require_inside(5, len(translation.target.words), "here")
    assert set(translation.confidences) == set(translation.alignment)
    assert all(0 <= confidence <= 1 for confidence in translation.confidences.values())
    assert len(translation.attended) == len(translation.target)
    assert len(translation.positions) == (len(translation.target) if translator.is_assisted else 0)


def test_n_best(translator: Translator) -> None:
    best = translator.translate("bi bo bu da de", num_best=4)
    scores = [t.score for t in (best, *best.alternatives)]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert best.text == translator.translate("bi bo bu da de").text


def test_of_equal_texts_the_best_keeps_its_place(translator: Translator) -> None:
    best = translator.translate("bi bo")
    found = [replace(best, target=replace(best.target, text=text), score=score) for text, score in RANKED]
    assert [(one.text, one.score) for one in with_distinct_texts(found)] == [("a", -1.0), ("b", -2.0), ("c", -4.0)]


RANKED = [("a", -1.0), ("b", -2.0), ("a", -3.0), ("c", -4.0)]


def test_a_prefix_is_completed(translator: Translator) -> None:
    translation = translator.translate("bi bo bu da de", prefix="ga ge")
    assert translation.text.startswith("ga ge")
    assert len(translation.target) > 2


def test_a_long_text_is_cut_into_parts(translator: Translator) -> None:
    short = Translator(translator.model, max_source_length=8)
    sentences = ["ba be bi bo bu.", "da de di do du.", "fa fe fi fo fu."]
    whole = short.translate(" ".join(sentences), protect=False)
    parts = short.translate_all(sentences, protect=False)
    assert whole.text == " ".join(part.text for part in parts)
    assert whole.source.text == " ".join(sentences)
    assert whole.notes[0] == "long text, cut into 3 parts"
    assert whole.alignment is not None
    assert len(whole.alignment) == sum(len(part.alignment or ()) for part in parts)
    whole.alignment.require_inside(len(whole.source.words), len(whole.target.words), "here")
    assert [whole.source.text[word.start : word.end] for word in whole.source.words] == [
        word.text for word in whole.source.words
    ]


@pytest.mark.parametrize("text", ["x" * 2_000, "ba " * 400, "☃ \u0000\ud800 naïve 你好", "a" * 300 + "." * 300])
def test_odd_texts_are_translated(translator: Translator, text: str) -> None:
    quick = Translator(translator.model, beam_size=1, max_length_factor=0.1)
    assert isinstance(quick.translate(text).text, str)


def test_json_has_everything(translator: Translator) -> None:
    values = translator.translate("bi bo", num_best=2).to_json()
    assert values["source_words"] == ["bi", "bo"]
    assert len(values["confidences"]) == len(values["alignment"].split())
    assert len(values["alternatives"]) == 1
    assert values["evaluations"] > 0


def test_a_dictionary_is_reported(translator: Translator) -> None:
    dictionary = load_dictionary(terms=["bo=ga", "zz=ge"])
    translation = translator.translate("bi bo bu", dictionary=dictionary, mode="require")
    assert [str(match.entry) for match in translation.matches] == ["bo = ga"]
    assert "ga" in translation.text.split()
    assert not translation.unused


@pytest.mark.parametrize("mode", ["suggest", "require"])
@pytest.mark.parametrize("num_best", [1, 3])
def test_a_dictionary_that_says_nothing_new_changes_nothing(translator: Translator, mode: Mode, num_best: int) -> None:
    """Whatever words of its own a translation is given as entries, it stays as it was, to the last score."""
    for text in ["ba be", "bi bo bu da de", "do du fa fe fi fo fu ga ge"]:
        plain = translator.translate(text, num_best=num_best)
        links = list(one_to_one_links(plain.alignment or Alignment()))
        for link in links:
            source, target = plain.source.words[link.source], plain.target.words[link.target]
            entry = make_entry(source.text, [target.text], "exact")
            same = translator.translate(text, dictionary=Dictionary([entry]), mode=mode, num_best=num_best)
            assert (same.text, same.positions, same.score) == (plain.text, plain.positions, plain.score)
            assert [report.target_words for report in same.entries] == [range(link.target, link.target + 1)]
            for other in same.alternatives:
                assert len(other.uses) == 1 or mode == "suggest"


def test_unknown_settings_are_refused(translator: Translator) -> None:
    with pytest.raises(AlidadeError, match='did you mean "beam_size"'):
        Translator(translator.model, beamsize=3)  # type: ignore[call-arg]  # that is the point


@pytest.fixture(scope="module")
def lower_case_translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = tmp_path_factory.mktemp("lower") / "model"
    return Translator(make_folder(folder, normalisation=NormalisationSettings(lower_case=True)))


def test_text_is_written_as_in_training(lower_case_translator: Translator) -> None:
    small = lower_case_translator.translate("bi bo bu da", prefix="ga")
    capital = lower_case_translator.translate("Bi BO bu DA", prefix="GA")
    assert capital.source.text == "bi bo bu da"
    assert (capital.text, capital.score) == (small.text, small.score)


def test_a_dictionary_is_written_as_in_training(lower_case_translator: Translator) -> None:
    dictionary = load_dictionary(terms=["BO=Ga"])
    for _ in range(2):  # the second time from memory
        translation = lower_case_translator.translate("bi Bo bu", dictionary=dictionary, mode="require")
        assert [str(match.entry) for match in translation.matches] == ["bo = ga"]
        assert "ga" in translation.text.split()


def test_given_pairs_are_written_as_in_training(lower_case_translator: Translator) -> None:
    for is_tokenised in (False, True):
        small, capital = align(
            [("bi bo", "ga ge"), ("BI bo", "Ga GE")], lower_case_translator, is_tokenised=is_tokenised
        )
        assert small.source.ids == capital.source.ids
        assert small.alignment == capital.alignment


def test_offsets_lead_back_to_the_text_as_it_was_given(lower_case_translator: Translator) -> None:
    original = "  BA\u00ad  be\u200b\tBi"
    values = lower_case_translator.translate(original, protect=False).to_json()
    assert (values["original"], values["source"]) == (original, "ba be bi")
    assert [values["source"][start:end] for start, end in values["source_offsets"]] == ["ba", "be", "bi"]
    assert [original[start:end] for start, end in values["original_offsets"]] == ["BA", "be", "Bi"]


def test_occurrences_are_counted_over_a_long_text(translator: Translator) -> None:
    short = Translator(translator.model, max_source_length=6)
    dictionary = Dictionary([make_entry("bo", ["ga"], occurrence=2)])
    text = "ba bo bu da. di bo de do. fa bo fe fi."
    translation = short.translate(text, dictionary=dictionary, mode="require", protect=False)
    assert len(translation.notes) >= 1
    assert [[*match.words] for match in translation.matches] == [[6]]
    assert [translation.source.words[word].text for word in translation.matches[0].words] == ["bo"]
    pieces = [translation.source.pieces[position - 1] for position in translation.matches[0].positions]
    assert "".join(pieces).strip("▁") == "bo"


def test_a_prefix_is_whole_words() -> None:
    """The shipped model would like to go on with "disc" as "discurs"."""
    translation = Translator().translate("The disk is full.", prefix="Acest disc", num_best=5)
    for one in (translation, *translation.alternatives):
        assert one.text.split()[:2] in (["Acest", "disc"], ["Acest", "disc."])
