"""SCH-09: roles outside the gang that did not fit when their job started, such as a periodic evaluator, join it when they fit."""

from scheduling.engine.cards import CardBook
from scheduling.engine.classes import ClassBook
from scheduling.engine.fit import end_of, find_later
from scheduling.engine.plan import Resize
from scheduling.engine.starts import print_pods
from scheduling.engine.state import State
from scheduling.engine.tiers import TierRules
from scheduling.engine.units import NEVER

WHY = "fits-now"


def join_later(state: State, rules: TierRules, classes: ClassBook, cards: CardBook) -> tuple[Resize, ...]:
    """After all waiting jobs had their turn: pods for running jobs whose role outside the gang has none yet."""
    snapshot, running = state.snapshot, state.snapshot.running
    waiting = {index for index, shape in enumerate(snapshot.shapes) if any(not role.in_gang for role in shape.roles)}
    if not waiting:
        return ()
    resizes = []
    for run in range(len(running)):
        if int(running.shape[run]) in waiting and running.queue[run] >= 0 and state.leaving_ms[run] >= NEVER:
            resizes += _join(state, rules, classes, cards, run)
    return tuple(resizes)


def _join(state: State, rules: TierRules, classes: ClassBook, cards: CardBook, run: int) -> list[Resize]:
    snapshot, running = state.snapshot, state.snapshot.running
    job_class = classes.of(int(running.queue[run]), int(running.shape[run]), int(running.tier[run]))
    present = {int(snapshot.pods.role[row]) for row in state.runs.rows(run)} | running.had_roles.get(run, frozenset())
    limit = int(running.limit_ms[run])
    ends_ms = end_of(limit, int(running.start_ms[run])) if limit < NEVER else NEVER
    borrows = any(int(snapshot.pods.borrowed_m[row]) for row in state.runs.rows(run))
    resizes = []
    for place, role in enumerate(job_class.shape.roles):
        asks = [ask for option in job_class.options for ask in option.later if ask.role == role.name]
        if place in present or not asks:
            continue
        placed = find_later(state, rules, job_class, asks[0], ends_ms, borrows=borrows)
        if placed is not None:
            state.occupy(job_class, state.charge_of([(asks[0], asks[0].count)]), placed, ends_ms)
            resizes.append(
                Resize(running.ids[run], role.name, 0, role.replicas, WHY, added=print_pods(snapshot, cards, placed))
            )
    return resizes
