"""One leader: an epoch row with a lease by the database's clock. Never blocks: who does not get it at once goes away (Q05).

The epoch rises on take-over only, so a leader that keeps its lease keeps its epoch, and every write of an older one is refused by
`transitions.hold_epoch`.
"""

import os
import socket
import threading
import uuid
from dataclasses import dataclass
from functools import cache

from django.db import connection, transaction

from scheduling.models import SchedulerEpoch
from scheduling.transitions import EPOCH_NAME

LEASE_S = 15
_TABLE = SchedulerEpoch._meta.db_table


@dataclass(frozen=True, slots=True)
class Leadership:
    """The epoch this holder leads in."""

    epoch: int
    holder: str


@cache
def _process_token(_pid: int) -> str:
    """Random per process and not inherited over a fork: two children must not pass for one holder."""
    return uuid.uuid4().hex[:12]


def holder_name() -> str:
    """Who asks: this machine, process and thread. Two threads of one process are two holders."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}:{pid}:{threading.get_ident()}:{_process_token(pid)}"


def take_lead(holder: str) -> Leadership | None:
    """Lead or go on leading; None when another holder's lease has not run out, or its row is being taken right now."""
    SchedulerEpoch.objects.get_or_create(name=EPOCH_NAME)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f'UPDATE "{_TABLE}" SET epoch = epoch + (holder <> %s)::int, holder = %s,'  # noqa: S608 - own table
            f" lease_until = now() + interval '{LEASE_S} seconds' WHERE name = ("
            f'  SELECT name FROM "{_TABLE}" WHERE name = %s AND (holder = %s OR lease_until IS NULL OR lease_until < now())'
            "   FOR UPDATE SKIP LOCKED) RETURNING epoch",
            [holder, holder, EPOCH_NAME, holder],
        )
        row = cursor.fetchone()
    return None if row is None else Leadership(int(row[0]), holder)


def rest(leadership: Leadership) -> None:
    """Between cycles nobody needs to wait for a lease to run out: whoever is rung next leads, the same holder in the same epoch."""
    SchedulerEpoch.objects.filter(name=EPOCH_NAME, epoch=leadership.epoch, holder=leadership.holder).update(
        lease_until=None
    )


def note_finished_cycle(leadership: Leadership) -> None:
    """Record, by the database's clock, that a cycle came to its end; the observer watches this."""
    with connection.cursor() as cursor:
        cursor.execute(
            f'UPDATE "{_TABLE}" SET last_cycle_at = now() WHERE name = %s AND epoch = %s',  # noqa: S608 - own table
            [EPOCH_NAME, leadership.epoch],
        )


def seconds_since_cycle() -> float | None:
    """Wall seconds, by the database's clock, since a cycle last finished; None when none ever did."""
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT extract(epoch FROM now() - last_cycle_at) FROM "{_TABLE}" WHERE name = %s',  # noqa: S608 - own table
            [EPOCH_NAME],
        )
        row = cursor.fetchone()
    return None if row is None or row[0] is None else float(row[0])
