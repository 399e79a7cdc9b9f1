"""The trained entity linker."""
