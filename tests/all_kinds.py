"""A small system of every kind: models, ways to put norms, to tie embeddings, to assist layers, to share an encoder."""

from __future__ import annotations

from small_models import SmallSystem, small_system

ALIGNED: dict[str, object] = {"kind": "transformer-aligned"}
POST_NORM: dict[str, object] = {"pre_norm": False}
MARIAN: dict[str, object] = POST_NORM | {
    "activation": "swish",
    "norm_epsilon": 1e-3,  # so large that it shows
    "position_rates": "marian",
    "source_start": "skipped",
}
RNN_JUMPS: dict[str, object] = {"kind": "rnn-jumps"}
LARGE = 4100
"""A target vocabulary whose best pieces are looked for in blocks."""
SYSTEMS: dict[str, SmallSystem] = {
    "transformer": small_system({}),
    "transformer, post-norm": small_system(POST_NORM),
    "transformer, target tied": small_system({"tied_embeddings": "target"}, source_vocabulary=31),
    "transformer, nothing tied": small_system({"tied_embeddings": "none"}, source_vocabulary=31),
    "transformer, large vocabulary": small_system({"tied_embeddings": "target"}, target_vocabulary=LARGE),
    "aligned": small_system(ALIGNED, {}),
    "aligned, post-norm": small_system(ALIGNED | POST_NORM, POST_NORM),
    "aligned, nothing tied": small_system(
        ALIGNED | {"tied_embeddings": "none"}, {"tied_embeddings": "none"}, source_vocabulary=31
    ),
    "aligned, large vocabulary": small_system(
        ALIGNED | {"tied_embeddings": "target"}, {"tied_embeddings": "none"}, target_vocabulary=LARGE
    ),
    "aligned at the top, joint": small_system(ALIGNED | {"assisted_layers": "top"}, {"encoder": "lexical"}),
    "aligned at the top, post-norm": small_system(ALIGNED | POST_NORM | {"assisted_layers": "top"}, RNN_JUMPS),
    "aligned at the bottom": small_system(ALIGNED | {"assisted_layers": [0]}, {"max_jump": 3}),
    "aligned in the middle": small_system(ALIGNED | {"assisted_layers": [1]}, {}),
    "aligned in two layers": small_system(ALIGNED | {"assisted_layers": [2, 0]}, {}),
    "Marian's": small_system(MARIAN),
    "Marian's with gelu, pre-norm": small_system(MARIAN | {"activation": "gelu", "pre_norm": True}),
    "Marian's with a tag": small_system(MARIAN | {"source_start": 7, "position_rates": "original"}),
    "Marian's, aligned, joint": small_system(MARIAN | ALIGNED, {"encoder": "lexical"}),
    "rnn": small_system({"kind": "rnn"}),
    "rnn, target tied": small_system(
        {"kind": "rnn", "tied_embeddings": "target", "embedding": 16}, target_vocabulary=LARGE
    ),
    "rnn-biased": small_system({"kind": "rnn-biased"}, RNN_JUMPS),
    "rnn-biased, joint": small_system(
        {"kind": "rnn-biased", "unidirectional_encoder_layers": 2, "decoder_layers": 1},
        RNN_JUMPS | {"encoder": "lexical", "decoder_layers": 1},
    ),
    "rnn-biased, all tied": small_system(
        {"kind": "rnn-biased", "decoder_layers": 3, "tied_embeddings": "all", "embedding": 16},
        RNN_JUMPS | {"decoder_layers": 3, "unidirectional_encoder_layers": 1, "tied_embeddings": "all"},
    ),
    "rnn-biased with transformer-jumps": small_system({"kind": "rnn-biased"}, {}),
}
