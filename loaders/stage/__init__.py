"""The stage between a source and the writers: parsed, deduplicated and numbered on disk, in bounded memory."""
