"""Work on more text than one run should hold: numbered shards that any number of machines do, each exactly once.

`records.py` reads the input, `work.py` is what is done with it, `manifest.py` says what came from what, `shards.py`
does shards and marks those that are finished, `ray.py` lets a Ray cluster do them.
"""
