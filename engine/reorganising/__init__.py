"""Reorganisers: evidence in, better evidence out, whatever retrieved it."""
