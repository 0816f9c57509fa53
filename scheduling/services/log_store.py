"""The file store of kept logs: compressed texts by name, behind Django's storage port, so that any of its back ends will do.

A text is written under a name that nobody knows yet, so that nobody reads half of it. It must not know what a pod is.
"""

import gzip
from collections.abc import Iterable
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

STORE: Final = "logs"
LEVEL: Final = 5


def put(name: str, text: str) -> tuple[str, int]:
    """Store a text; returns the path it got and its bytes there. Raises OSError where the store takes no more."""
    packed = gzip.compress(text.encode(errors="replace"), LEVEL, mtime=0)
    return _store().save(name, ContentFile(packed)), len(packed)


def get(path: str) -> str | None:
    """The text at `path`; None where there is none any more or it cannot be read."""
    try:
        with _store().open(path, "rb") as file:
            return gzip.decompress(file.read()).decode(errors="replace")
    except (OSError, EOFError):
        return None


def drop(paths: Iterable[str]) -> None:
    """Remove texts; those that are gone already are fine."""
    for path in paths:
        _store().delete(path)


def _store() -> Storage:
    return storages[STORE]
