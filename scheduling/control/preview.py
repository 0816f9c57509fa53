"""What would happen if this body were submitted now: the engine's own answer on the last picture, with one more job in it. Stores nothing."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from berth.common import clock
from berth.common.errors import FieldProblem
from berth.common.units import PPM
from scheduling.control.planning import plan_cycle
from scheduling.control.preview_choices import Choice, list_choices
from scheduling.control.preview_cost import CostRange, Expected, estimate_cost
from scheduling.control.preview_memory import Memory, judge_memory
from scheduling.control.preview_places import Place, list_places
from scheduling.engine.plan import Plan, Start, Wait
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Shape, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier
from scheduling.models import Cycle
from scheduling.selectors.configured import Configured
from scheduling.selectors.snapshot import load_snapshot
from scheduling.selectors.snapshot_rows import to_ms
from scheduling.services.judging import judge
from scheduling.services.resolved import ResolvedJob
from scheduling.simulator.eta import Estimate
from scheduling.simulator.preview import Candidate, Decide
from scheduling.simulator.preview import preview_job as preview_candidate
from tenants.models import User
from tenants.permissions import Action

KEPT_S: Final = 2.0
"""A picture serves every preview until the next cycle, or this long where cycles stand still."""
MS_PER_S: Final = 1000


class QueueNotInPictureError(LookupError):
    """The picture is older than the queue or a flavor of the job."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What follows `problems` is None or empty where the body is refused. `wait` is None where it would start at once.

    `own_m` and `borrowed_m` are milli-cards that nominal and borrowed quota would pay for.
    """

    problems: tuple[FieldProblem, ...]
    estimate: Estimate | None = None
    wait: Wait | None = None
    own_m: int = 0
    borrowed_m: int = 0
    cost: CostRange | None = None
    places: tuple[Place, ...] = ()
    choices: tuple[Choice, ...] = ()
    memory: Memory | None = None

    @property
    def admissible(self) -> bool:
        return not self.problems


_kept: tuple[float, int | None, Snapshot] | None = None


def preview_job(user: User, body: Any, policy: Policy = PRESETS["default"]) -> Preview:
    """Raises only NotFoundError and ForbiddenError; what is wrong with the body is in `problems`."""
    judged = judge(user, body, Action.JOB_PREVIEW)
    if judged.problems or judged.job is None:
        return Preview(judged.problems)
    now = clock.now()
    snapshot = _picture(now)
    try:
        candidate = _candidate(judged.job, snapshot, judged.config, to_ms(now))
    except QueueNotInPictureError:
        snapshot = _picture(now, fresh=True)
        candidate = _candidate(judged.job, snapshot, judged.config, to_ms(now))
    decided: list[tuple[Snapshot, Plan]] = []
    found = preview_candidate(snapshot, candidate, policy, to_ms(now), decide=_noting(decided))
    asked, plan = decided[0]
    job = asked.pending.ids[-1]
    start = next((each for each in plan.starts if each.job == job), None)
    return Preview(
        problems=(),
        estimate=found.estimate,
        wait=found.wait,
        own_m=found.own_m,
        borrowed_m=found.borrowed_m,
        cost=estimate_cost(judged.job, judged.config, _expected(start)),
        places=() if start is None else list_places(asked, job, start, policy, to_ms(now)),
        choices=list_choices(snapshot, candidate, start, judged.job.queue.tenant_id, to_ms(now)),
        memory=judge_memory(judged),
    )


def _noting(decided: list[tuple[Snapshot, Plan]]) -> Decide:
    """The loop's own planning, which survives a poison job, and a note of what it was asked and said."""

    def decide(snapshot: Snapshot, policy: Policy, now_ms: int) -> Plan:
        plan = plan_cycle(snapshot, policy, now_ms).plan
        decided.append((snapshot, plan))
        return plan

    return decide


def _candidate(job: ResolvedJob, snapshot: Snapshot, config: Configured, now_ms: int) -> Candidate:
    ask = job.ask
    queue = next((at for at, row in enumerate(snapshot.queues) if row.id == job.queue.pk), None)
    if queue is None:
        raise QueueNotInPictureError(job.queue.pk)
    return Candidate(
        queue=queue,
        shape=_renumbered(job.shape, snapshot, config),
        tier=int(Tier[job.tier.upper()]),
        priority=ask.priority,
        limit_ms=NEVER if ask.max_runtime_s is None else ask.max_runtime_s * MS_PER_S,
        expected_ms=NEVER if ask.expected_runtime_s is None else ask.expected_runtime_s * MS_PER_S,
        eligible_ms=now_ms if ask.not_before is None else max(now_ms, to_ms(ask.not_before)),
        deadline_ms=NEVER if ask.deadline is None else to_ms(ask.deadline),
        checkpoints=bool(ask.checkpoint_path),
    )


def _renumbered(shape: Shape, snapshot: Snapshot, config: Configured) -> Shape:
    """Flavors by the picture's own numbers: it may have been read before or after the configuration."""
    number = {flavor.id: at for at, flavor in enumerate(snapshot.flavors)}
    try:
        roles = tuple(
            replace(role, flavors=tuple(number[config.flavors[flavor].id] for flavor in role.flavors))
            for role in shape.roles
        )
    except KeyError as error:
        raise QueueNotInPictureError(*error.args) from error
    return replace(shape, roles=roles)


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
