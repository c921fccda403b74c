"""`alidade import`: a model of another program, whichever it is, becomes a model folder."""

from __future__ import annotations

from pathlib import Path

from alidade.errors import AlidadeError
from alidade.exchange.hugging_face import CONFIG_FILE, import_hugging_face, languages_of
from alidade.exchange.marian import import_marian, is_marian, unpacked
from alidade.exchange.weights import ImportedModel, save_imported


def import_model(
    model: Path,
    output: Path,
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    target_tag: str | None = None,
) -> ImportedModel:
    """Read a release of Marian or a folder of Hugging Face, and write it as a model folder."""
    with unpacked(model) as folder:
        if (folder / CONFIG_FILE).is_file():
            imported = import_hugging_face(folder, target_tag)
            known = languages_of(folder)
        elif is_marian(folder):
            imported, known = import_marian(folder, target_tag), (None, None)
        else:
            raise AlidadeError(
                f"{model}: neither a release of Marian (it has no .npz) nor a folder of Hugging Face (no {CONFIG_FILE})"
            )
        source, target = source_language or known[0], target_language or known[1]
        if source is None or target is None:
            raise AlidadeError(
                f"{model}: does not say which languages it translates: give --source-language and --target-language"
            )
        save_imported(imported, (source, target), output)
    return imported
