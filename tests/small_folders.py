"""Model folders with random weights and a real vocabulary: enough to run every command that translates."""

from __future__ import annotations

from pathlib import Path

import torch

from alidade.config import NormalisationSettings, SearchSettings, TransformerJumpsSettings, TransformerSettings
from alidade.model_folder import save_model_folder
from alidade.models.system import build_system, named_weights
from alidade.text.subwords import Subwords
from alidade.text.vocabulary import EOS
from synthetic import word_ids, word_pieces

SHAPE = {"width": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 2}


def make_folder(
    path: Path,
    *,
    is_assisted: bool = True,
    search: SearchSettings | None = None,
    normalisation: NormalisationSettings | None = None,
    languages: tuple[str, str] = ("en", "en"),
) -> Path:
    """A folder that translates into nonsense, but always the same nonsense, and into whole words."""
    subwords = word_pieces()
    kind = "transformer-aligned" if is_assisted else "transformer"
    lexical = TransformerSettings.model_validate(SHAPE | {"kind": kind})
    alignment = TransformerJumpsSettings.model_validate(SHAPE | {"max_jump": 50}) if is_assisted else None
    with torch.random.fork_rng():
        torch.manual_seed(11)
        system = build_system(lexical, alignment, len(subwords), len(subwords))
        with torch.no_grad():
            for parameter in system.parameters():
                if parameter.requires_grad:
                    parameter.add_(torch.randn_like(parameter) * 0.2)
            system.lexical.output.bias[:] = -20.0
            system.lexical.output.bias[[EOS, *word_ids()]] = 0.0
    source, target = (Subwords(subwords.model, language) for language in languages)
    save_model_folder(path, named_weights(system), lexical, alignment, source, target, search, normalisation)
    return path
