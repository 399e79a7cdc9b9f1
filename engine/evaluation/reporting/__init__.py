"""From the records of a run to figures, tables and a page."""
