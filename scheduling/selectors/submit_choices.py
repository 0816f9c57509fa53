"""What a person may choose from when submitting: queues they may submit to, flavors of each queue's pool, topology levels."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.models import Job, NodeDomain
from tenants.models import Flavor, Queue, User
from tenants.permissions import Action, can

SHOWN = 200


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """`flavors` are (name, VRAM MiB) of its pool, in name order."""

    tenant: str
    name: str
    tier: str
    pool: str
    flavors: tuple[tuple[str, int], ...]

    @property
    def key(self) -> str:
        return f"{self.tenant}/{self.name}"


@dataclass(frozen=True, slots=True)
class SubmitChoices:
    queues: tuple[QueueChoice, ...]
    levels: tuple[str, ...]

    @property
    def flavors(self) -> Mapping[str, int]:
        """Every flavor of every queue offered, with its VRAM in MiB."""
        return dict(sorted({name: vram for queue in self.queues for name, vram in queue.flavors}.items()))


def submit_choices(user: User) -> SubmitChoices:
    """In three queries; open queues only, by tenant and name."""
    rows = (
        Queue.objects.visible_to(user)
        .filter(state=Queue.State.OPEN)
        .select_related("tenant", "pool")
        .order_by("tenant__slug", "name")
    )
    queues = [queue for queue in rows[:SHOWN] if can(user, Action.JOB_SUBMIT, queue.tenant)]
    flavors: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for pool, name, vram in (
        Flavor.objects.filter(pool_id__in={queue.pool_id for queue in queues})
        .order_by("name")
        .values_list("pool_id", "name", "vram_mib")
    ):
        flavors[pool].append((name, vram))
    levels = NodeDomain.objects.order_by("rank", "level").values_list("rank", "level").distinct()
    return SubmitChoices(
        queues=tuple(
            QueueChoice(
                queue.tenant.slug, queue.name, queue.default_tier, queue.pool.name, tuple(flavors[queue.pool_id])
            )
            for queue in queues
        ),
        levels=tuple(dict.fromkeys(level for _rank, level in levels)),
    )


def last_queue_of(user: User) -> tuple[str, str] | None:
    """(tenant, queue) of the newest job that the person submitted; None before the first."""
    newest = Job.objects.filter(user=user).order_by("-id")
    found = newest.values_list("queue__tenant__slug", "queue__name").first()
    return None if found is None else (str(found[0]), str(found[1]))
