"""SCH-16: whose unused nominal a loan comes from, and what happens when it expires."""

from collections.abc import Sequence, Set

from scheduling.engine.plan import LoanChange, LoanOpen
from scheduling.engine.snapshot import Id, Loan
from scheduling.engine.state import State, Victim
from scheduling.engine.tiers import grace_ms
from scheduling.engine.units import CARD, NEVER
from scheduling.engine.vocabulary import PreemptReason, Tier


class Lenders:
    """Unused lendable nominal by tree node and flavor, less what open loans already took of it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lent: dict[tuple[int, int], int] = {}
        for loan in state.snapshot.loans:
            for side in loan.sides:
                self._lent[side.node, loan.flavor] = self._lent.get((side.node, loan.flavor), 0) + side.amount_m

    def open_loan(self, borrower: int, flavor: int, amount_m: int, expires_ms: int) -> LoanOpen:
        """A loan spread over the lenders in proportion to what they have, in whole cards, by largest remainder, ties by id."""
        snapshot = self._state.snapshot
        sides = self._spread(borrower, flavor, amount_m)
        for node, part in sides:
            self._lent[node, flavor] = self._lent.get((node, flavor), 0) + part
        named = tuple((snapshot.tree[node].kind, snapshot.tree[node].id, part) for node, part in sides)
        return LoanOpen(snapshot.flavors[flavor].id, amount_m, expires_ms, named)

    def give_back(self, loans: Sequence[Loan]) -> None:
        """Loans that end in this cycle free their lenders' sides."""
        for loan in loans:
            for side in loan.sides:
                self._lent[side.node, loan.flavor] -= side.amount_m

    def _spread(self, borrower: int, flavor: int, amount_m: int) -> list[tuple[int, int]]:
        """Whole cards first, from what the lenders have of whole cards; parts of cards only for what those cannot cover."""
        offers = self._offers(borrower, flavor)
        parts = dict.fromkeys((node for node, _ in offers), 0)
        for unit in (CARD, 1):
            left = amount_m - sum(parts.values())
            able = [(node, (offer - parts[node]) // unit) for node, offer in offers]
            for node, units in _share(left // unit, able):
                parts[node] += units * unit
        return [(node, parts[node]) for node, _ in offers if parts[node]]

    def _offers(self, borrower: int, flavor: int) -> list[tuple[int, int]]:
        """Tenants and cohorts under the same root, in index order, with what each could lend now."""
        state, tree = self._state, self._state.tree
        root = tree.path[borrower][-1]
        offers = []
        for node, row in enumerate(tree.nodes):
            if row.kind == "queue" or node == borrower or tree.path[node][-1] != root:
                continue
            if row.kind == "tenant":
                used = state.quota.at(node, flavor)
                stored = tree.subtree[node][flavor] - tree.kept[node][flavor]
                unused = min(stored, tree.subtree[node][flavor] - used)
            else:
                unused = row.nominal[flavor] or 0
            offer = unused - self._lent.get((node, flavor), 0)
            if offer > 0:
                offers.append((node, offer))
        return offers


def _share(amount: int, offers: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """`amount`, or all there is, in proportion to the offers: by largest remainder, ties by id, nobody more than offered."""
    total = sum(offer for _, offer in offers)
    amount = min(amount, total)
    if not amount:
        return []
    parts = {node: amount * offer // total for node, offer in offers}
    rest = sorted(offers, key=lambda each: (-(amount * each[1] % total), each[0]))
    for node, _ in rest[: amount - sum(parts.values())]:
        parts[node] += 1
    return list(parts.items())


def renew_loans(state: State, ended: Set[Id]) -> tuple[LoanChange, ...]:
    """Expired loans that nobody reclaimed: strict queues give them back, others are renewed and that is recorded."""
    snapshot, running = state.snapshot, state.snapshot.running
    changes = []
    for loan in snapshot.loans:
        if loan.expires_ms > state.now_ms or state.leaving_ms[loan.run] < NEVER or loan.id in ended:
            continue
        if not _is_strict(state, loan.run):
            period = snapshot.queues[int(running.queue[loan.run])].loan_period_ms
            changes.append(LoanChange(loan.id, state.now_ms + period, "renewed"))
    return tuple(changes)


def end_strict_loans(state: State, now_own: Set[int]) -> None:
    """Runs of queues with strict expiry leave when their loan ends, whether or not anyone waits; not those that are own by now."""
    runs = state.runs
    expires = state.snapshot.running.loan_expires_ms.tolist()
    for run, expires_ms in enumerate(expires):
        if expires_ms > state.now_ms or state.leaving_ms[run] < NEVER or run in now_own or not _is_strict(state, run):
            continue
        tenant, flavors = state.tree.tenant[runs.leaf[run]], {runs.flavor[row] for row in runs.rows(run)}
        if any(flavor >= 0 and state.quota.borrows(tenant, flavor) for flavor in flavors):
            grace = grace_ms(state.policy, runs.tier[run])
            state.evict(Victim(run, None, PreemptReason.LOAN_EXPIRED), state.now_ms + grace)


def _is_strict(state: State, run: int) -> bool:
    queue = int(state.snapshot.running.queue[run])
    return (
        queue >= 0
        and state.snapshot.queues[queue].strict_expiry
        and state.snapshot.running.tier[run] != Tier.PRODUCTION
    )
