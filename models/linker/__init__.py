"""The trained linker."""
