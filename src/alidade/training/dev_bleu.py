"""BLEU of the dev set, translated by the real search."""

from __future__ import annotations

from pathlib import Path

from alidade.evaluation.translations import Tokenisation, corpus_bleu
from alidade.text.corpus import Split
from alidade.translation import Translator


def dev_bleu(model: Path, dev: Split, target_language: str) -> float:
    """Translate the dev set with a model folder; in per cent, with case."""
    translations = Translator(model).translate_all(dev.source_texts(), with_links=False)
    tokenisation: Tokenisation = "zh" if target_language == "zh" else "13a"
    hypotheses = [translation.text for translation in translations]
    return corpus_bleu(hypotheses, list(dev.target_texts()), tokenisation=tokenisation).value
