"""Tests of this folder begin without any schema."""

from tests.made.empty_database import empty_graph

__all__ = ["empty_graph"]
