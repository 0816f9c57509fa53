"""SCH-03: which cards of running jobs are own and which borrowed. Changes only by a cycle, and by as little as possible.

Nominal fills from the highest tier down (SCH-01): what a tier holds above what the tiers over it leave of its tenant's quota is
borrowed. Where that differs from what running jobs carry, the newest run of the tier turns borrowed first, the oldest turns own
first, and inside a job own cards come first in rank order.
"""

from collections.abc import Iterator

from scheduling.engine.loans import Lenders
from scheduling.engine.plan import LoanChange, LoanOpen, Recharge
from scheduling.engine.starts import borrowed_whole
from scheduling.engine.state import State
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier

Group = tuple[int, int, int]
"""(tenant, flavor, tier)"""


class Splitter:
    """Compares what is borrowed with what is marked as borrowed, after all decisions of the cycle."""

    def __init__(self, state: State, lenders: Lenders) -> None:
        self._state, self._lenders = state, lenders
        self._in_parts = state.deals_in_parts()
        self.recharges: list[Recharge] = []
        self.loans: list[LoanChange] = []
        self.now_own: set[int] = set()
        """Runs that borrow nothing any more."""

    def run(self) -> None:
        """Fill `recharges` and the loan changes that go with them; runs of unknown split (files) are left alone."""
        marked, members = self._marked()
        changed: dict[int, dict[int, int]] = {}
        for group in sorted(members):
            tenant, flavor, tier = group
            delta = self._borrowed(tenant, flavor, tier) - marked.get(group, 0)
            for row, borrowed_m in self._shift(members[group], flavor, delta):
                run = int(self._state.snapshot.pods.run[row])
                changed.setdefault(run, {})[row] = borrowed_m
        stale = self._stale_loans()
        for run in sorted(changed.keys() | stale.keys()):
            self._recharge(run, changed.get(run, {}), stale.get(run, set()))

    def _borrowed(self, tenant: int, flavor: int, tier: int) -> int:
        """What runs of the tier hold across their tenant's boundary, given the tiers above them."""
        use = self._state.quota
        above = use.borrows(tenant, flavor, tier + 1) if tier < Tier.PRODUCTION else 0
        return use.borrows(tenant, flavor, tier) - above

    def _marked(self) -> tuple[dict[Group, int], dict[Group, list[int]]]:
        """Borrowed milli-cards on record by group, starts of this cycle included, and the runs whose split may change."""
        state, running, pods = self._state, self._state.snapshot.running, self._state.snapshot.pods
        tier_of, known, queue_of = running.tier.tolist(), running.split_known.tolist(), running.queue.tolist()
        tenant_of = [state.tree.tenant[queue.node] for queue in state.snapshot.queues]
        marked: dict[Group, int] = {}
        members: dict[Group, list[int]] = {}
        unknown: set[Group] = set()
        columns = (pods.run.tolist(), pods.flavor.tolist(), pods.borrowed_m.tolist())
        for run, flavor, borrowed_m in zip(*columns, strict=True):
            if flavor < 0 or queue_of[run] < 0:
                continue
            group = (tenant_of[queue_of[run]], flavor, tier_of[run])
            marked[group] = marked.get(group, 0) + borrowed_m
            if not known[run]:
                unknown.add(group)
            elif state.leaving_ms[run] >= NEVER:
                runs = members.setdefault(group, [])
                if not runs or runs[-1] != run:
                    runs.append(run)
        for started in state.started:
            for column, part in started.borrowed.items():
                group = (started.job_class.tenant, column, started.job_class.tier)
                marked[group] = marked.get(group, 0) + part
        return marked, {group: runs for group, runs in members.items() if group not in unknown}

    def _shift(self, runs: list[int], flavor: int, delta: int) -> Iterator[tuple[int, int]]:
        """(pod row, new borrowed amount) of as few pods as `delta` milli-cards take."""
        if not delta:
            return
        in_parts = self._in_parts
        state, pods, rising = self._state, self._state.snapshot.pods, delta > 0
        start_ms = state.snapshot.running.start_ms
        for run in sorted(runs, key=lambda each: (int(start_ms[each]), each), reverse=delta > 0):
            rows = [row for row in state.runs.rows(run) if int(pods.flavor[row]) == flavor]
            for row in reversed(rows) if rising else rows:
                borrowed = int(pods.borrowed_m[row])
                held = int(pods.cards_m[row])
                change = min(delta, held - borrowed) if delta > 0 else -min(-delta, borrowed)
                if in_parts:
                    change = borrowed_whole(borrowed + change, held) - borrowed
                if change:
                    delta -= change
                    yield row, borrowed + change
                if (delta <= 0) if rising else (delta >= 0):
                    return

    def _stale_loans(self) -> dict[int, set[int]]:
        """Flavors by run whose loan is not what the run's pods borrow any more: some of them ended before the others. Those that
        were asked to leave a job that goes on hold what they borrow until they have."""
        state, snapshot = self._state, self._state.snapshot
        stale: dict[int, set[int]] = {}
        for loan in snapshot.loans:
            if state.leaving_ms[loan.run] < NEVER or not bool(snapshot.running.split_known[loan.run]):
                continue
            if self._borrows(loan.run, loan.flavor, {}) != loan.amount_m:
                stale.setdefault(loan.run, set()).add(loan.flavor)
        return stale

    def _borrows(self, run: int, flavor: int, changed: dict[int, int]) -> int:
        """Milli-cards that the run's pods borrow, also those that are asked to leave it, in this cycle or before."""
        state, runs, pods = self._state, self._state.runs, self._state.snapshot.pods
        parts = [part for part, whole in state.snapshot.running.parts.items() if whole == run]
        there = [row for each in (run, *parts) for row in runs.rows(each)]
        there += state.shrunk[run].rows if run in state.shrunk else ()
        rows = [row for row in there if runs.flavor[row] == flavor]
        return sum(changed.get(row, int(pods.borrowed_m[row])) for row in rows)

    def _recharge(self, run: int, changed: dict[int, int], stale: set[int]) -> None:
        state, snapshot = self._state, self._state.snapshot
        pods, running = snapshot.pods, snapshot.running
        roles = snapshot.shapes[int(running.shape[run])].roles
        split = tuple(
            (roles[int(pods.role[row])].name, int(pods.rank[row]), changed.get(row, int(pods.borrowed_m[row])))
            for row in state.runs.rows(run)
            if int(pods.flavor[row]) >= 0
        )
        flavors = stale | {int(pods.flavor[row]) for row in changed}
        loans = tuple(self._reopen(run, flavor, changed) for flavor in sorted(flavors))
        if not any(borrowed_m for _, _, borrowed_m in split):
            self.now_own.add(run)
        opened = tuple(loan for loan in loans if loan is not None)
        self.recharges.append(Recharge(running.ids[run], running.runs[run], split, opened))

    def _reopen(self, run: int, flavor: int, changed: dict[int, int]) -> LoanOpen | None:
        """The run's loans of the flavor end, and one of the new amount is opened that keeps their earliest end."""
        state, snapshot = self._state, self._state.snapshot
        amount = self._borrows(run, flavor, changed)
        old = [loan for loan in snapshot.loans if loan.run == run and loan.flavor == flavor]
        self.loans += [LoanChange(loan.id, None, "own-now" if not amount else "resplit") for loan in old]
        self._lenders.give_back(old)
        if not amount:
            return None
        queue = snapshot.queues[int(snapshot.running.queue[run])]
        expires = min((loan.expires_ms for loan in old), default=0)
        if expires <= state.now_ms:
            expires = state.now_ms + queue.loan_period_ms
        return self._lenders.open_loan(state.tree.tenant[queue.node], flavor, amount, expires)
