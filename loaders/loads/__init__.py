"""Run, preview, delete and verify loads."""
