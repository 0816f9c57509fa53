"""The only writer of money: ledger entries, statements and their lines, adjustments. It decides nothing.

Writers of one tenant's money take turns: every function here expects `hold_tenant` in the same transaction.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from billing.metering import Span, epoch_second
from billing.models import Adjustment, BillingPeriod, LedgerEntry, Statement, StatementCounter, StatementLine
from billing.selectors.held import LEASE, NODE, Held
from tenants.models import User

_LOCK = 0x62_69_6C_6C  # "bill": keeps these locks apart from other users of advisory locks
_BATCH = 2_000
_NUMBER_WIDTH = 6

_COLUMNS = (
    *("key", "tenant_id", "period_id", "held_as", "starts_at", "ends_at", "seconds", "day"),
    *("cards_u7000", "cpu_m", "memory_mib", "borrowed", "flavor_id"),
    *("job_id", "run_id", "lease_id", "segment_id", "node_interval_id", "user_id", "queue_id", "project_id"),
    *("tier", "kind", "labels", "refers_to_id", "recorded_at"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of what was held, inside one local day of one period, and the period whose bill carries it."""

    held: Held
    span: Span
    day: date
    period_id: int
    revision: int = 0

    @property
    def key(self) -> str:
        """Derived from content, so that the same fact has the same key whoever posts it and however often (B15)."""
        held = self.held
        return f"{held.source}/{held.source_id}/{held.held_as}/{epoch_second(self.span.start)}/{self.revision}"


def hold_tenant(tenant_id: int) -> None:
    """Wait for and take the right to write the tenant's money until the transaction ends (B48)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, tenant_id])


def post(tenant_id: int, facts: Iterable[Fact], *, at: datetime) -> int:
    """Append the facts that are not in the ledger yet; returns how many were new."""
    return _append(
        (
            fact.key,
            tenant_id,
            fact.period_id,
            fact.held.held_as,
            fact.span.start,
            fact.span.end,
            fact.span.seconds,
            fact.day,
            fact.held.cards_u7000,
            fact.held.cpu_m,
            fact.held.memory_mib,
            fact.held.borrowed,
            fact.held.flavor_id,
            fact.held.job_id,
            fact.held.run_id,
            fact.held.source_id if fact.held.source == LEASE else None,
            fact.held.segment_id,
            fact.held.source_id if fact.held.source == NODE else None,
            fact.held.user_id,
            fact.held.queue_id,
            fact.held.project_id,
            fact.held.tier,
            fact.held.kind,
            json.dumps(fact.held.labels or {}),
            None,
            at,
        )
        for fact in facts
    )


def take_back(entries: Sequence[tuple[LedgerEntry, BillingPeriod]], *, at: datetime) -> int:
    """Append the opposite of each entry, in the open period given with it; what was taken back already stays so."""
    return _append(
        (
            f"back/{entry.pk}",
            entry.tenant_id,
            period.pk,
            entry.held_as,
            entry.starts_at,
            entry.ends_at,
            entry.seconds,
            entry.day,
            -entry.cards_u7000,
            -entry.cpu_m,
            -entry.memory_mib,
            entry.borrowed,
            entry.flavor_id,
            entry.job_id,
            entry.run_id,
            entry.lease_id,
            entry.segment_id,
            entry.node_interval_id,
            entry.user_id,
            entry.queue_id,
            entry.project_id,
            entry.tier,
            entry.kind,
            json.dumps(entry.labels),
            entry.pk,
            at,
        )
        for entry, period in entries
    )


def _append(rows: Iterable[Sequence[Any]]) -> int:
    """COPY into a table of this transaction, then insert what is new: the unique key has no window and never expires (B16)."""
    columns = ", ".join(_COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS posting ON COMMIT DELETE ROWS AS SELECT {columns} FROM billing_ledgerentry WITH NO DATA"  # noqa: S608 - own names
        )
        cursor.execute("TRUNCATE posting")
        with cursor.copy(f"COPY posting ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(
            f"INSERT INTO billing_ledgerentry ({columns}) SELECT {columns} FROM posting ON CONFLICT (key) DO NOTHING"  # noqa: S608 - own names
        )
        return int(cursor.rowcount)


def add_adjustment(adjustment: Adjustment) -> Adjustment:
    """Append an adjustment to its open period."""
    adjustment.save(force_insert=True)
    return adjustment


def open_draft(draft: Statement, lines: Sequence[StatementLine]) -> Statement:
    """Write a draft with its lines as the current statement of its period."""
    draft.save(force_insert=True)
    for line in lines:
        line.statement = draft
    StatementLine.objects.bulk_create(lines, _BATCH)
    return draft


def supersede(draft: Statement, *, number: str, at: datetime) -> None:
    """Set a draft aside under another number; it stays readable and never changes again (B49)."""
    draft.number, draft.superseded_at = number, at
    draft.save(update_fields=["number", "superseded_at"])


def grow_draft(
    draft: Statement,
    *,
    header: Mapping[str, Any],
    added: Sequence[StatementLine],
    changed: Sequence[StatementLine],
    removed: Sequence[StatementLine],
) -> None:
    """Carry a draft on in place: its header, new lines, lines whose amounts moved, and lines that were never posted."""
    for name, value in header.items():
        setattr(draft, name, value)
    draft.save(update_fields=[*header])
    for line in added:
        line.statement = draft
    StatementLine.objects.bulk_create(added, _BATCH)
    StatementLine.objects.filter(pk__in=[line.pk for line in removed]).delete()
    StatementLine.objects.bulk_update(
        changed, ["quantity", "posted", "amount", "worth", "charged_from", "charged_to"], _BATCH
    )


def issue(draft: Statement, period: BillingPeriod, *, at: datetime, by: User | None) -> Statement:
    """Give the draft the next number without a gap, make it final and close its period, all in this transaction (B46)."""
    StatementCounter.objects.get_or_create(id=1)
    counter = StatementCounter.objects.select_for_update().get(id=1)
    counter.last += 1
    counter.save(update_fields=["last"])
    draft.number, draft.state, draft.issued_at = str(counter.last).zfill(_NUMBER_WIDTH), Statement.State.ISSUED, at
    draft.save(update_fields=["number", "state", "issued_at"])
    period.state, period.closed_at, period.closed_by = BillingPeriod.State.CLOSED, at, by
    period.save(update_fields=["state", "closed_at", "closed_by"])
    return draft


def total_of(lines: Iterable[StatementLine]) -> Decimal:
    """The total of a document is the sum of its lines, and nothing else."""
    return sum((line.amount for line in lines), Decimal(0))
