"""The old path of `engine.faces.langchain`."""

from __future__ import annotations

import logging
from typing import Any

_log = logging.getLogger(__name__)


def __getattr__(name: str) -> Any:
    from .faces import langchain

    value = getattr(langchain, name)
    _log.warning("lodestar.engine.langchain is now lodestar.engine.faces.langchain; lodestar.%s names it, too", name)
    globals()[name] = value
    return value
