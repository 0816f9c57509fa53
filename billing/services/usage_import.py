"""Imports usage of the past from a file: all of it or, if anything is wrong, nothing."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from berth.common import clock
from billing.models import Statement
from billing.selectors.usage_names import Names, imported_digests, imported_jobs, known_nodes
from billing.services.costs import record_costs
from billing.services.drafts import refresh_tenant
from billing.services.usage_file import NamesOfRow, Problem, UsageRow, read_usage
from billing.services.usage_overlaps import CardKey, overlaps
from scheduling.services.history import PastLease, record_history
from scheduling.services.queue_use import count_segments_of
from tenants.models import Flavor, Queue

_AT_ONCE: Final = 10_000

Progress = Callable[[str, int], None]
"""Told what is being done, and with how many rows."""


@dataclass(slots=True)
class Import:
    """What an import did, or would do. Nothing was stored where there are problems."""

    rows: int = 0
    new: int = 0
    repeated: int = 0
    problems: list[Problem] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)


def import_usage(
    lines: Iterable[str], *, dry_run: bool = False, progress: Progress = lambda _what, _rows: None
) -> Import:
    """Check the file whole, then store, meter and bill it in one transaction. Safe to repeat: a known row changes nothing."""
    now = clock.now()
    read = read_usage(lines, now=now)
    found = Import(rows=len(read.rows) + len({problem.line for problem in read.problems}), problems=read.problems)
    progress("read", found.rows)
    with transaction.atomic():
        fresh = _fresh(read.rows, found)
        leases = _leases(fresh, found)
        _note_unknown(read.wrong, found)
        found.new = len(fresh)
        progress("checked", found.new)
        found.problems.sort()
        if found.problems or dry_run or not leases:
            return found
        recorded = record_history(leases, at=now)
        progress("stored", len(leases))
        record_costs(recorded.jobs)
        progress("metered", len(leases))
        for tenant_id in sorted({lease.tenant_id for lease in leases}):
            found.statements += refresh_tenant(tenant_id)
        count_segments_of(recorded.leases, now=now)
    return found


def _fresh(rows: list[UsageRow], found: Import) -> list[UsageRow]:
    """Rows not seen before, in this file or ever; a repeat with other content is a problem (B15, B16)."""
    first: dict[tuple[str, str], tuple[int, str]] = {}
    remaining = iter(rows)
    fresh = []
    while some := list(islice(remaining, _AT_ONCE)):
        stored = imported_digests({(row.source, row.event_id) for row in some})
        for row in some:
            identity, digest = (row.source, row.event_id), row.digest
            known = stored.get(identity)
            line, earlier = first.setdefault(identity, (row.line, known or digest))
            if digest != earlier:
                where = _("what is stored") if known else _("line %(line)d") % {"line": line}
                wrong = _("repeats %(where)s with other content") % {"where": where}
                found.problems.append(Problem(row.line, "event_id", wrong))
            elif known is not None or line != row.line:
                found.repeated += 1
            else:
                fresh.append(row)
    return fresh


def _leases(rows: list[UsageRow], found: Import) -> list[PastLease]:
    """The rows with their names resolved; names that are unknown and cards held twice are problems."""
    names = Names.load(rows)
    resolved: list[tuple[UsageRow, Queue, Flavor]] = []
    for row in rows:
        queue, flavor = names.queues.get((row.tenant, row.queue)), names.flavor(row)
        found.problems += _unknown(row, names)
        if queue is not None and flavor is not None:
            resolved.append((row, queue, flavor))
    found.problems += _wrong_jobs(resolved)
    found.problems += _wrong_cards(resolved)
    found.problems += overlaps((_card(row, flavor), row) for row, _queue, flavor in resolved)
    return [_lease(*each) for each in resolved]


def _note_unknown(rows: list[NamesOfRow], found: Import) -> None:
    """Unknown names in rows that are wrong in other ways too."""
    if not rows:
        return
    names = Names.load(rows)
    for row in rows:
        found.problems += _unknown(row, names)


def _unknown(row: UsageRow | NamesOfRow, names: Names) -> Iterator[Problem]:
    if row.tenant not in names.tenants:
        yield Problem(row.line, "tenant", _("unknown: %(name)s") % {"name": row.tenant})
    elif (row.tenant, row.queue) not in names.queues:
        yield Problem(row.line, "queue", _("unknown: %(name)s") % {"name": row.queue})
    if names.flavor(row) is None:
        yield Problem(row.line, "flavor", _("unknown: %(name)s") % {"name": row.flavor})


def _wrong_jobs(resolved: list[tuple[UsageRow, Queue, Flavor]]) -> Iterator[Problem]:
    """A job has one queue and one user, in the file and in what is stored."""
    known = imported_jobs({(row.source, _reference(row)) for row, _queue, _flavor in resolved})
    for row, queue, _flavor in resolved:
        owner = known.setdefault((row.source, _reference(row)), (queue.pk, row.user))
        if owner[0] != queue.pk:
            yield Problem(row.line, "queue", _("job %(job)s is in another queue") % {"job": row.job})
        if owner[1] != row.user:
            yield Problem(row.line, "user", _("job %(job)s is of another user") % {"job": row.job})


def _wrong_cards(resolved: list[tuple[UsageRow, Queue, Flavor]]) -> Iterator[Problem]:
    """A node that this platform runs has the cards it has; unknown nodes are taken as the file says."""
    nodes = known_nodes({row.node for row, _queue, _flavor in resolved})
    for row, _queue, flavor in resolved:
        cards = nodes.get((flavor.pool.cluster_id, row.node))
        if cards is not None and row.card >= cards:
            yield Problem(row.line, "card", _("%(node)s has %(cards)d cards") % {"node": row.node, "cards": cards})


def _card(row: UsageRow, flavor: Flavor) -> CardKey:
    return flavor.pool.cluster_id, row.node, row.card


def _reference(row: UsageRow) -> str:
    """Jobs of two tenants are two jobs, whatever their source calls them."""
    return f"{row.tenant}/{row.job}"


def _lease(row: UsageRow, queue: Queue, flavor: Flavor) -> PastLease:
    return PastLease(
        source=row.source,
        event_id=row.event_id,
        digest=row.digest,
        tenant_id=queue.tenant_id,
        queue_id=queue.pk,
        tier=queue.default_tier,
        namespace=f"{row.tenant}-{queue.environment}",
        username=row.user,
        job_ref=_reference(row),
        job_name=row.job,
        run_number=row.run,
        flavor_id=flavor.pk,
        cluster_id=flavor.pool.cluster_id,
        pool_id=flavor.pool_id,
        node=row.node,
        card_index=row.card,
        quantity=row.share,
        start=row.start,
        end=row.end,
        end_reason=row.end_reason,
        borrowed=row.borrowed,
        last_alive=row.last_alive,
    )
