"""Lines that need no parser: cut into terms and kept as positions until the terms have numbers."""
