"""The experiments' runner: from the settings of a table's row to its figures, and from all figures to the tables."""
