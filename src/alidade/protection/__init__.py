"""Between a person's text and the model's sentences: what must survive a translation does (`protect`, `restore`)."""
