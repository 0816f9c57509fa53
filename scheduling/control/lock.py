"""One leader: an epoch row with a lease by the database's clock. Never blocks: who does not get it at once goes away (Q05).

The epoch rises on take-over only, so a leader that keeps its lease keeps its epoch, and every write of an older one is refused by
`transitions.hold_epoch`. A leader is a service, a worker with its children for one; whichever child is rung takes the turn, one at
a time. Between two turns anybody may lead; a turn that was broken off keeps the lead until its lease has run out.
"""

import os
import socket
import threading
import uuid
from dataclasses import dataclass, field
from functools import cache

from django.db import connection, transaction

from scheduling.models import SchedulerEpoch
from scheduling.transitions import EPOCH_NAME

LEASE_S = 15
_TABLE = SchedulerEpoch._meta.db_table


@dataclass(frozen=True, slots=True)
class Leadership:
    """The epoch this holder leads in; `turn` is the process that does the work."""

    epoch: int
    holder: str
    turn: str = field(default="", compare=False)


@cache
def _process_token(_pid: int) -> str:
    """Random per process and not inherited over a fork: two children must not pass for one holder."""
    return uuid.uuid4().hex[:12]


def holder_name() -> str:
    """Who asks: this machine, process and thread. Two threads of one process are two holders."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}:{pid}:{threading.get_ident()}:{_process_token(pid)}"


def leader_name() -> str:
    """The service that this process belongs to: a worker and its children are one process group, and one leader."""
    return f"{socket.gethostname()[:60]}:{os.getpgrp()}"


def take_lead(holder: str, *, turn: str = "") -> Leadership | None:
    """Lead or go on leading; None when somebody else is in a turn and the lease has not run out, or the row is being taken now.

    `turn` names the process, the holder itself where it is but one. The epoch stays only for the same holder, and only if its last
    turn came to its end: one that was broken off may still be writing.
    """
    turn = turn or holder
    SchedulerEpoch.objects.get_or_create(name=EPOCH_NAME)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f'UPDATE "{_TABLE}" SET epoch = epoch + (holder <> %s OR turn NOT IN (%s, %s))::int,'  # noqa: S608 - own table
            f" holder = %s, turn = %s, lease_until = now() + interval '{LEASE_S} seconds' WHERE name = ("
            f'  SELECT name FROM "{_TABLE}" WHERE name = %s'
            "     AND (turn IN (%s, %s) OR lease_until IS NULL OR lease_until < now())"
            "   FOR UPDATE SKIP LOCKED) RETURNING epoch",
            [holder, "", turn, holder, turn, EPOCH_NAME, "", turn],
        )
        row = cursor.fetchone()
    return None if row is None else Leadership(int(row[0]), holder, turn)


def rest(leadership: Leadership) -> None:
    """The turn came to its end: nobody needs to wait for the lease to run out, and the holder goes on as the leader by name."""
    SchedulerEpoch.objects.filter(
        name=EPOCH_NAME, epoch=leadership.epoch, turn=leadership.turn or leadership.holder
    ).update(turn="")


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
