import pytest
import sacrebleu

from alidade.errors import AlidadeError
from alidade.evaluation.metrics import compare_translations, corpus_bleu, score_translations

REFERENCES = [
    "The cat sat on the mat in the old house.",
    "Two dogs run through the green park today.",
    "A man reads a newspaper near the river bank.",
]
HYPOTHESES = [
    "the cat sat on the mat in the house.",
    "Two dogs run in the green park today.",
    "A man reads a paper near the river bank.",
]


def scores_by_name(hypotheses: list[str], **how: object) -> dict[str, float]:
    return {score.name: score.value for score in score_translations(hypotheses, [REFERENCES], **how)}  # type: ignore[arg-type]  # keywords pass through


def test_equals_sacrebleu() -> None:
    scores = scores_by_name(HYPOTHESES)
    assert scores["BLEU"] == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    assert scores["chrF2"] == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score)
    assert corpus_bleu(HYPOTHESES, REFERENCES).value == scores["BLEU"]


def test_ter_counts_edits_per_reference_word() -> None:
    # Against 10 + 8 + 9 words: one word missing and one of another case, one replaced, one replaced.
    assert scores_by_name(HYPOTHESES)["TER"] == pytest.approx(100 * 4 / 27)
    assert scores_by_name(HYPOTHESES, lower_case=True)["TER"] == pytest.approx(100 * 3 / 27)


def test_lower_case_ignores_case_in_every_metric() -> None:
    shouted = [line.upper() for line in REFERENCES]
    assert scores_by_name(shouted, lower_case=True) == pytest.approx({"BLEU": 100, "TER": 0, "chrF2": 100})
    assert scores_by_name(shouted)["BLEU"] < 20


def test_scores_print_with_their_signature() -> None:
    bleu, ter, chrf = score_translations(HYPOTHESES, [REFERENCES], lower_case=True)
    assert str(bleu).startswith(f"BLEU = {bleu.value:.1f} ")
    assert "| nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:" in str(bleu)
    assert "case:lc" in str(ter)
    assert "case:lc" in str(chrf)


def test_tokenised_text_is_taken_as_it_is() -> None:
    assert corpus_bleu(["a b c d ."], ["a b c d ."], tokenisation="none").signature.count("tok:none") == 1
    assert corpus_bleu(["a b c d."], ["a b c d ."], tokenisation="13a").value == pytest.approx(100)
    assert corpus_bleu(["a b c d."], ["a b c d ."], tokenisation="none").value < 90


def test_chinese_is_scored_by_character() -> None:
    scores = {s.name: s.value for s in score_translations(["我喜欢猫和狗"], [["我喜欢猫与狗"]], tokenisation="zh")}
    assert 0 < scores["BLEU"] < 100
    assert scores["TER"] == pytest.approx(100 / 6)


def test_several_references_help() -> None:
    one = score_translations(HYPOTHESES, [REFERENCES])[0]
    two = score_translations(HYPOTHESES, [REFERENCES, HYPOTHESES])[0]
    assert two.value == pytest.approx(100)
    assert two.value > one.value
    assert "nrefs:2" in two.signature


@pytest.mark.parametrize(
    ("hypotheses", "message"), [([], "empty"), (HYPOTHESES[:2], "2 lines but the reference has 3")]
)
def test_what_cannot_be_scored_is_an_error(hypotheses: list[str], message: str) -> None:
    with pytest.raises(AlidadeError, match=message):
        score_translations(hypotheses, [REFERENCES])


def test_a_clear_difference_is_significant_and_none_is_not() -> None:
    references = [f"sentence number {n} has quite a few plain words in it" for n in range(60)]
    worse = [line.replace("quite a few", "many") for line in references]
    for comparison in compare_translations(worse, references, [references], num_samples=200):
        assert comparison.is_significant
        assert (comparison.difference < 0) == (comparison.metric == "TER")
        assert "bs:200" in comparison.signature
        assert "significant at 0.05" in str(comparison)


def test_a_difference_that_chance_explains_is_not_significant() -> None:
    references = [f"sentence number {n} has quite a few plain words in it" for n in range(60)]
    spoiled = [line.replace("plain words", "simple terms") for line in references]
    evens = [spoiled[n] if n % 2 else references[n] for n in range(60)]
    odds = [references[n] if n % 2 or n == 0 else spoiled[n] for n in range(60)]
    bleu = compare_translations(evens, odds, [references], num_samples=200)[0]
    assert bleu.difference > 0
    assert not bleu.is_significant
    assert "not significant" in str(bleu)


def test_equal_systems_do_not_differ() -> None:
    for comparison in compare_translations(HYPOTHESES, HYPOTHESES, [REFERENCES], num_samples=50):
        assert comparison.difference == 0
        assert not comparison.is_significant


def test_systems_must_have_translated_the_same_text() -> None:
    with pytest.raises(AlidadeError, match="3 lines but the baseline has 2"):
        compare_translations(HYPOTHESES[:2], HYPOTHESES, [REFERENCES])
