"""The own/borrowed split of running jobs changes with a cycle: the lease turns, loans follow (SCH-03, SCH-16)."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from scheduling.control.apply_starts import open_loans
from scheduling.engine.plan import LoanChange, Recharge
from scheduling.models import Lease, Loan, Run, SplitChange
from scheduling.selectors.asked_cards import asked_m
from scheduling.states import RunState

LIVE = (RunState.ADMITTED.value, RunState.STARTING.value, RunState.RUNNING.value)
BATCH = 2_000


def apply_recharges(recharges: Sequence[Recharge], changes: Sequence[LoanChange], *, now: datetime) -> None:
    """All of them at once, and the ends of loans in `changes`, which are theirs alone.

    A run that stops or has ended meanwhile keeps the split and the loans it had, and so does one whose recharge was dropped:
    what open leases borrow and what open loans say stay one amount.
    """
    if not recharges:
        return
    wanted = {int(recharge.run): recharge for recharge in recharges}
    runs = Run.objects.filter(pk__in=wanted, state__in=LIVE).select_related("job").in_bulk()
    turned = _turned_leases(wanted, runs)
    SplitChange.objects.bulk_create(
        [SplitChange(lease=lease, at=now, borrowed=lease.borrowed) for lease in turned], BATCH
    )
    for borrowed in (True, False):
        ids = [lease.pk for lease in turned if lease.borrowed is not borrowed]
        Lease.objects.filter(pk__in=ids).update(borrowed=borrowed)
    for why in sorted({change.why for change in changes if change.expires_ms is None}):
        ended = [change.loan for change in changes if change.expires_ms is None and change.why == why]
        Loan.objects.filter(pk__in=ended, run__in=runs, ended_at__isnull=True).update(ended_at=now, why=why)
    open_loans([(runs[pk], runs[pk].job.queue_id, loan) for pk in sorted(runs) for loan in wanted[pk].loans], now=now)


def _turned_leases(wanted: dict[int, Recharge], runs: dict[int, Run]) -> list[Lease]:
    """Open leases whose own/borrowed mark is not what the plan says; own cards come first in slot order. Pods that were asked to
    leave keep theirs."""
    slots: dict[tuple[int, str, int], list[Lease]] = defaultdict(list)
    rows = Lease.objects.filter(run__in=runs, closed_at__isnull=True, card__isnull=False, pod__released_at__isnull=True)
    rows = rows.select_related("pod", "flavor")
    for lease in rows.order_by("run_id", "pod_id", "slot"):
        slots[lease.run_id, lease.pod.role_name, lease.pod.index].append(lease)
    turned = []
    for (run, role, index), leases in sorted(slots.items()):
        amounts = {(name, at): amount for name, at, amount in wanted[run].borrowed_m}
        flavor = leases[0].flavor
        each_m = asked_m(leases[0].quantity, flavor.mig_profile if flavor is not None else None)
        own = len(leases) - amounts.get((role, index), 0) // each_m
        turned += [lease for place, lease in enumerate(leases) if lease.borrowed != (place >= own)]
    return turned
