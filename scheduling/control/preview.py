"""What would happen if this body were submitted now: the engine's own answer on the last picture, with one more job in it. Stores nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from berth.common import clock
from berth.common.errors import FieldProblem
from berth.common.units import PPM
from scheduling.control.planning import plan_cycle
from scheduling.control.preview_cost import CostRange, Expected, estimate_cost
from scheduling.control.with_job import QueueNotInSnapshotError, with_job
from scheduling.engine.plan import Start, Wait
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Id, Snapshot
from scheduling.models import Cycle
from scheduling.selectors.snapshot import load_snapshot
from scheduling.selectors.snapshot_rows import to_ms
from scheduling.services.judging import judge
from scheduling.simulator.eta import CannotTell, Estimate, estimate_starts
from tenants.models import User
from tenants.permissions import Action

KEPT_S: Final = 2.0
"""A picture serves every preview until the next cycle, or this long where cycles stand still."""


@dataclass(frozen=True, slots=True)
class Preview:
    """`estimate` and what follows are None or empty where the body is refused. `wait` is None where it would start at once."""

    problems: tuple[FieldProblem, ...]
    now: datetime
    estimate: Estimate | None = None
    start: Start | None = None
    wait: Wait | None = None
    cost: CostRange | None = None
    nodes: Mapping[Id, str] | None = None

    @property
    def admissible(self) -> bool:
        return not self.problems

    @property
    def cannot_tell(self) -> CannotTell | None:
        return self.estimate if isinstance(self.estimate, CannotTell) else None


_kept: tuple[float, int | None, Snapshot] | None = None


def preview_job(user: User, body: Any, policy: Policy = PRESETS["default"]) -> Preview:
    """Raises only NotFoundError and ForbiddenError; what is wrong with the body is in `problems`."""
    judged = judge(user, body, Action.JOB_PREVIEW)
    now = clock.now()
    if judged.problems or judged.job is None:
        return Preview(judged.problems, now)
    try:
        snapshot, job = with_job(_picture(now), judged.job, judged.config, to_ms(now))
    except QueueNotInSnapshotError:
        snapshot, job = with_job(_picture(now, fresh=True), judged.job, judged.config, to_ms(now))
    plan = plan_cycle(snapshot, policy, to_ms(now)).plan
    start = next((each for each in plan.starts if each.job == job), None)
    return Preview(
        problems=(),
        now=now,
        estimate=estimate_starts(snapshot, plan, policy, to_ms(now)).get(job),
        start=start,
        wait=next((each for each in plan.waits if each.job == job), None),
        cost=estimate_cost(judged.job, judged.config, _expected(start)),
        nodes=dict(zip(snapshot.nodes.ids, snapshot.nodes.names, strict=True)),
    )


def _picture(now: datetime, *, fresh: bool = False) -> Snapshot:
    """The snapshot of the last cycle's time, kept per process."""
    global _kept  # noqa: PLW0603 - one picture a process
    cycle = Cycle.objects.order_by("-id").values_list("pk", flat=True).first()
    if not fresh and _kept is not None and _kept[1] == cycle and clock.monotonic() - _kept[0] < KEPT_S:
        return _kept[2]
    snapshot = load_snapshot(now)
    _kept = (clock.monotonic(), cycle, snapshot)
    return snapshot


def _expected(start: Start | None) -> Expected | None:
    if start is None:
        return None
    cards = sum(pod.cards_m for pod in start.pods)
    borrowed = sum(pod.borrowed_m for pod in start.pods)
    return Expected(
        flavors={pod.role: int(pod.flavor) for pod in start.pods if pod.flavor is not None},
        borrowed_ppm=borrowed * PPM // cards if cards else 0,
        slowdown_ppm=start.slowdown_ppm,
    )


def instant(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
