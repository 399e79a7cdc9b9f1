"""Figures that do not gate: each script prints a table with its n, and the data it was measured on."""
