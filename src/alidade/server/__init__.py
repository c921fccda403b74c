"""The server: HTTP in, one queue, worker processes, SQLite.

    HTTP (DeepL, LibreTranslate, ours) -> texts + dictionary -> one queue -> batches by length -> workers, one a core

`app.py` puts it together, with a file for each interface: `deepl.py`, `libretranslate.py`, `own.py`. `queue.py` makes
batches, `workers.py` runs processes, `work.py` is what they do. `store.py` is all that has state: kill anything, start
again, go on.
"""
