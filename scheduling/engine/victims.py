"""SCH-17: who leaves so that a claim can start, decided together with the place the claim will take.

Three kinds of claim exist in this version: on the tenant's nominal (from borrowers outside, from lower tiers of its own tenant
that would stand above nominal, from a sibling queue above its own nominal), and on the batch work of one's own tenant. Batch
claims nothing. Fair-share and priority preemption are two more sources of candidates and belong beside `_reasons`.

Candidates go in the order of SCH-17: expired loans, borrowers by over-quota share, lower tier, lower priority, least work lost,
newest start, id. Those already leaving come first of all by being gone from the picture of *after*. Greedy, then a reverse pass
puts back whoever proved unnecessary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.candidates import Candidate, CandidateBook
from scheduling.engine.classes import JobClass
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.share import over_quota
from scheduling.engine.state import Kept, State, Victim
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.vocabulary import Tier


@dataclass(frozen=True, slots=True)
class Claim:
    """A job on whose behalf others may have to leave, by one flavor choice. `own`: it stays inside its tenant's nominal."""

    job_class: JobClass
    option: Option
    own: bool


def claim(state: State, rules: TierRules, book: CandidateBook, job: int, job_class: JobClass) -> bool:
    """Evict whoever has to leave for the job and keep their place for it; False, and nothing changed, where that cannot help."""
    if job_class.tier == Tier.BATCH:
        return False
    for option in job_class.options:
        standing = rules.standing(state.quota_after, job_class, option.amounts)
        if standing == Standing.BARRED:
            continue
        found = _search(state, book, Claim(job_class, option, own=standing == Standing.OWN))
        if found is not None:
            _commit(state, book, job, Claim(job_class, option, own=standing == Standing.OWN), *found)
            return True
    return False


def _search(state: State, book: CandidateBook, ask: Claim) -> tuple[list[Candidate], Placed] | None:
    """The victims, in the order they were chosen, and the place. The state is as before on return."""
    chosen: list[Candidate] = []
    placed = _place(state, ask) if ask.own else None
    for candidate in () if placed else _in_order(state, book, ask):
        state.vacate(candidate.run, state.after, state.quota_after)
        chosen.append(candidate)
        placed = _place(state, ask)
        if placed is not None:
            break
    if placed is not None:
        placed = _drop_unneeded(state, ask, chosen, placed)
    for candidate in reversed(chosen):
        state.vacate(candidate.run, state.after, state.quota_after, sign=-1)
    return None if placed is None else (chosen, placed)


def _place(state: State, ask: Claim) -> Placed | None:
    if not state.quota_after.allows(ask.job_class.leaf, ask.option.amounts):
        return None
    return place_gang(state.after, ask.option.gang, ask.job_class.shape, pool=ask.job_class.pool)


def _drop_unneeded(state: State, ask: Claim, chosen: list[Candidate], placed: Placed) -> Placed:
    """Reverse pass: whoever can stay stays. The last chosen made the place, so the pass begins before it."""
    for candidate in reversed(chosen[:-1]):
        state.vacate(candidate.run, state.after, state.quota_after, sign=-1)
        without = _place(state, ask)
        if without is None:
            state.vacate(candidate.run, state.after, state.quota_after)
        else:
            chosen.remove(candidate)
            placed = without
    return placed


def _commit(state: State, book: CandidateBook, job: int, ask: Claim, chosen: list[Candidate], placed: Placed) -> None:
    for_job = state.snapshot.pending.ids[job]
    for candidate in chosen:
        leaves_ms = state.now_ms + book.grace_ms(candidate.run)
        state.evict(Victim(candidate.run, for_job, book.reason(candidate)), leaves_ms)
    state.keep(Kept(job, ask.job_class, placed, ask.option.amounts, state.freed_ms(placed)))


def _in_order(state: State, book: CandidateBook, ask: Claim) -> Iterator[Candidate]:
    """Candidates one by one; who may be taken and whose share is largest is asked anew after every choice."""
    lines = {tenant: book.of_tenant(tenant) for tenant in book.tenants}
    at = dict.fromkeys(lines, 0)
    shares = {tenant: _share(state, tenant, ask) for tenant in lines}
    while True:
        best: tuple[tuple[int, ...], int] | None = None
        for tenant, line in lines.items():
            at[tenant] = _next_allowed(state, book, ask, line, at[tenant])
            if at[tenant] < len(line):
                key = (not line[at[tenant]].expired, -shares[tenant], *line[at[tenant]].key)
                if best is None or key < best[0]:
                    best = (key, tenant)
        if best is None:
            return
        tenant = best[1]
        yield lines[tenant][at[tenant]]
        at[tenant] += 1
        shares[tenant] = _share(state, tenant, ask)


def _share(state: State, tenant: int, ask: Claim) -> int:
    """Rank of a tenant's over-quota share; the asker's own tenant is weighed with the ask in."""
    if tenant == ask.job_class.tenant:
        return over_quota(state.quota_after, tenant, ask.option.amounts, ask.job_class.leaf).rank
    return over_quota(state.quota_after, tenant).rank


def _next_allowed(state: State, book: CandidateBook, ask: Claim, line: list[Candidate], at: int) -> int:
    while at < len(line) and not (
        book.is_useful(line[at], ask.option, ask.job_class.pool) and may_take(state, ask, line[at])
    ):
        at += 1
    return at


def may_take(state: State, ask: Claim, candidate: Candidate) -> bool:
    """Whether the rules let this claim take this run, as things stand after those already chosen have gone."""
    asker = ask.job_class
    if candidate.tenant == asker.tenant:
        if candidate.tier == Tier.BATCH:
            return True
        if ask.own and candidate.tier < asker.tier and _stands_above(state, asker.tenant, ask, with_ask=True):
            return True
    return ask.own and _reclaims(state, ask, candidate)


def _reclaims(state: State, ask: Claim, candidate: Candidate) -> bool:
    """Reclaim of nominal: the asker's side stays inside its own quota, and everything on the victim's side is above its quota."""
    tree, asker = state.tree, ask.job_class
    own_path = tree.path[asker.leaf]
    if candidate.leaf == asker.leaf:
        return False
    side = [index for index in tree.path[candidate.leaf] if index not in own_path]
    below = own_path[
        : next((place for place, index in enumerate(own_path) if index in tree.path[candidate.leaf]), len(own_path))
    ]
    if len(side) == len(tree.path[candidate.leaf]) or not below:
        return False
    if not state.quota_after.within(asker.leaf, below[-1], ask.option.amounts, asker.tier):
        return False
    if candidate.tenant != asker.tenant:
        side = [index for index in side if tree.nodes[index].kind != "queue"]
    return all(_stands_above(state, index, ask) for index in side)


def _stands_above(state: State, index: int, ask: Claim, *, with_ask: bool = False) -> bool:
    """True where a tree node holds more than its own quota of something that the claim asks for."""
    use, tree = state.quota_after, state.tree
    for column, amount in ask.option.amounts:
        held = use.used[0][index][column]
        if with_ask:
            held += use.arriving(ask.job_class.leaf, index, column, amount, 0)
        if tree.limited[column] and held > tree.subtree[index][column]:
            return True
    return False
