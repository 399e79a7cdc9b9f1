"""Laws without a number of examples of their own have hypothesis' hundred, times what ``LODESTAR_EXAMPLES`` says."""

from __future__ import annotations

from hypothesis import settings

from tests.examples import examples

settings.register_profile("laws", max_examples=examples(100))
settings.load_profile("laws")
