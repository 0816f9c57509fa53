"""What already runs when a small scenario opens: pods placed by hand, card by card, long enough to stay for a look."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from berth.common import units
from berth.demo.past import Attempt, PastJob
from berth.demo.workload import Ask
from scheduling.engine.plan import Placement

STAYS_S: Final = 30 * 86_400
CPU_A_CARD: Final = 8
MEMORY_A_CARD_GIB: Final = 64
FLAVOR: Final = "a100-80g"

RUNNING: Final[dict[str, tuple[tuple[str, str, tuple[tuple[str, tuple[int, ...]], ...]], ...]]] = {
    "empty": (),
    "lending": (),
    "gang": (("team", "half-a-node", (("node4", (0, 1, 2, 3)),)),),
    "placement": (
        ("a", "a-train", (("node1", tuple(range(8))), ("node2", (0, 1, 2, 3)))),
        ("b", "b-tune", (("node2", (4, 5)), ("node3", (0, 1)))),
    ),
}
"""Scenario → (tenant, job, pods as (node, card indexes))."""


def running_in(scenario: str, *, since: datetime, now: datetime) -> list[PastJob]:
    """The jobs that hold cards when the scenario opens, as if they had started ten minutes ago."""
    start_ms = (now - since - timedelta(minutes=10)) // timedelta(milliseconds=1)
    return [
        PastJob(number, ask, [attempt])
        for number, (ask, attempt) in enumerate(_jobs(scenario, since + timedelta(milliseconds=start_ms), start_ms), 1)
    ]


def _jobs(scenario: str, at: datetime, start_ms: int) -> Iterator[tuple[Ask, Attempt]]:
    for tenant, name, pods in RUNNING[scenario]:
        for part, group in enumerate(_alike(pods)):
            cards = len(group[0][1])
            ask = Ask(
                at=at,
                tenant=tenant,
                queue="main",
                tier="development",
                name=name if part == 0 else f"{name}-{part + 1}",
                pods=len(group),
                cards=cards,
                cpu=CPU_A_CARD * cards,
                memory_gib=MEMORY_A_CARD_GIB * cards,
                duration_s=STAYS_S,
                max_runtime_s=None,
                outcome="succeeded",
            )
            attempt = Attempt(
                start_ms, tuple(_place(ask, i, node, held) for i, (node, held) in enumerate(group)), 0, ()
            )
            attempt.borrowed.append((start_ms, {("worker", i): 0 for i in range(len(group))}))
            yield ask, attempt


def _alike(pods: tuple[tuple[str, tuple[int, ...]], ...]) -> list[list[tuple[str, tuple[int, ...]]]]:
    """Pods of a role are alike: those with the same number of cards become one job."""
    groups: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    for pod in pods:
        groups.setdefault(len(pod[1]), []).append(pod)
    return list(groups.values())


def _place(ask: Ask, index: int, node: str, cards: tuple[int, ...]) -> Placement:
    return Placement(
        role="worker",
        index=index,
        node=node,
        flavor=FLAVOR,
        cards_m=units.to_milli(len(cards)),
        borrowed_m=0,
        cpu_m=units.to_milli(ask.cpu),
        memory_mib=units.gib_to_mib(ask.memory_gib),
        vram_mib=0,
        cards=cards,
    )
