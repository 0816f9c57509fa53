"""One process at a time in a stretch of work outside any transaction: a session's advisory lock, gone with its connection."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_LOCK = 0x6F_6E_65_70
"""Keeps these locks apart from other users of advisory locks."""


@contextmanager
def one_pass(number: int) -> Iterator[bool]:
    """Whether this process may work; False while another one does. Never waits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK, number])
        (got,) = cursor.fetchone()
    try:
        yield bool(got)
    finally:
        if got:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCK, number])
