"""What the demo's teams ask for: seeded, by hour of day and weekday, the same for history and for the load that runs live."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from berth.demo.organisation import BILLING_ZONE

ZONE: Final = ZoneInfo(BILLING_ZONE)
SEED: Final = 20261001
HOURS: Final = (2, 2, 1, 1, 1, 1, 2, 4, 7, 10, 11, 9, 7, 9, 11, 11, 10, 9, 8, 8, 7, 6, 5, 3)
"""Relative rate of submits by local hour: quiet nights, peaks at eleven and at three in the afternoon."""
WEEKEND: Final = 0.45
SHARED, MIG, ASCEND = "a100-80g-shared", "a100-80g-mig", "ascend-910"
PARTS: Final = frozenset({SHARED, MIG})
"""Flavors of parts of cards."""
CPU_A_CARD, MEMORY_A_CARD_GIB = {MIG: 2}, {MIG: 16}
DECLARED_SHARE: Final = 0.85
"""Share of jobs that declare a run time limit; the rest make somebody's start "cannot tell"."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One job as a team would submit it. `cards` are a pod's, a share below 1; 0 = CPU only. Seconds of business time."""

    at: datetime
    tenant: str
    queue: str
    tier: str
    name: str
    pods: int
    cards: int | Decimal
    cpu: int
    memory_gib: int
    duration_s: int
    max_runtime_s: int | None
    outcome: str
    flavor: str = "a100-80g"
    priority: int = 500
    rack: bool = False


@dataclass(frozen=True, slots=True)
class Habit:
    """How one team works: jobs a day, choices of (pods, cards) with weights, hours of run time (low, typical, high), names."""

    tenant: str
    queue: str
    tier: str
    a_day: float
    sizes: tuple[tuple[int, int | Decimal, int], ...]
    hours: tuple[float, float, float]
    names: tuple[str, ...]
    flavor: str = "a100-80g"
    fail: float = 0.06


HALF, QUARTER = Decimal("0.5"), Decimal("0.25")
HABITS: Final = (
    Habit(
        "algo-a", "prod", "production", 4.2, ((2, 8, 4), (4, 8, 4), (6, 8, 1)), (4, 11, 30),
        ("llm-pretrain-7b", "llm-pretrain-13b", "moe-ablation", "tokenizer-sweep", "vision-pretrain"),
    ),
    Habit(
        "algo-b", "dev", "development", 24.0, ((1, 1, 4), (1, 2, 3), (1, 4, 4), (1, 8, 6), (2, 8, 4), (4, 8, 1)), (0.4, 4, 17),
        ("sft-qwen-72b", "dpo-mix", "rm-train", "lora-code", "align-chat", "distill-8b"),
    ),
    Habit(
        "data-c", "batch", "batch", 12.0, ((1, 0, 2), (1, 2, 3), (1, 4, 3), (1, 8, 4), (2, 8, 3)), (1, 6, 22),
        ("eval-sweep", "dedup-corpus", "embed-shards", "quality-filter", "ocr-pages"),
    ),
    Habit("ext-d", "prod", "production", 1.6, ((1, 8, 4), (2, 8, 2)), (3, 8, 20), ("customer-finetune", "customer-eval"), "a100-80g@ext-d", 0.03),
    Habit("algo-b", "dev", "development", 0.8, ((1, 1, 4), (1, 2, 1)), (0.5, 3, 10), ("notebook", "prompt-bench"), MIG),
    Habit("data-c", "batch", "batch", 0.4, ((1, 1, 1),), (0.3, 1.5, 6), ("embed-small", "rank-eval"), MIG),
    Habit("algo-b", "dev", "development", 0.5, ((1, HALF, 2), (1, QUARTER, 1)), (0.5, 3, 9), ("debug-session",), SHARED),
    Habit("algo-b", "ascend", "development", 0.4, ((1, 4, 3), (1, 2, 1)), (1, 4, 12), ("port-llama", "op-bench"), ASCEND),
)  # fmt: skip


def asks_between(start: datetime, end: datetime, *, seed: int = SEED, scale: float = 1.0) -> list[Ask]:
    """All asks of all teams submitted in [start, end), in order of time. The same seed gives the same asks."""
    found = [ask for habit in HABITS for ask in _asks_of(habit, start, end, seed=seed, scale=scale)]
    return sorted(found, key=lambda ask: (ask.at, ask.tenant, ask.name))


def _asks_of(habit: Habit, start: datetime, end: datetime, *, seed: int, scale: float) -> Iterator[Ask]:
    kind = f"/{habit.flavor}" if habit.flavor in {*PARTS, ASCEND} else ""
    rng = random.Random(f"{seed}/{habit.tenant}/{habit.queue}{kind}")  # noqa: S311 - a demo's dice
    hour = start.replace(minute=0, second=0, microsecond=0)
    serial = 0
    while hour < end:
        local = hour.astimezone(ZONE)
        rate = habit.a_day * scale * HOURS[local.hour] / sum(HOURS) * (WEEKEND if local.weekday() >= 5 else 1)
        for _ in range(_draw(rng, rate)):
            at = hour + timedelta(seconds=rng.randrange(3600))
            serial += 1
            ask = sample(habit, at, rng, serial=serial)
            if start <= at < end:
                yield ask
        hour += timedelta(hours=1)


def sample(habit: Habit, at: datetime, rng: random.Random, *, serial: int) -> Ask:
    """One ask of a team at an instant."""
    pods, cards, _ = rng.choices(habit.sizes, weights=[weight for *_, weight in habit.sizes])[0]
    low, typical, high = habit.hours
    duration = int(rng.triangular(low, high, typical) * 3600)
    declared = int(duration * rng.uniform(1.1, 1.9)) // 600 * 600 + 600 if rng.random() < DECLARED_SHARE else None
    outcome = "succeeded"
    if rng.random() < habit.fail:
        outcome = rng.choice(("failed", "failed", "oom", "gpu-oom"))
        duration = max(60, int(duration * rng.uniform(0.02, 0.7)))
    return Ask(
        at=at,
        tenant=habit.tenant,
        queue=habit.queue,
        tier=habit.tier,
        name=f"{rng.choice(habit.names)}-{at.astimezone(ZONE):%m%d}-{serial:04d}",
        pods=pods,
        cards=cards,
        cpu=cpu_of(cards, habit.flavor),
        memory_gib=memory_of(cards, habit.flavor),
        duration_s=duration,
        max_runtime_s=declared,
        outcome=outcome,
        flavor=habit.flavor if cards else "",
        priority=rng.choice((500, 500, 500, 500, 400, 600)),
        rack=pods > 1 and rng.random() < 0.5,
    )


def cpu_of(cards: int | Decimal, flavor: str) -> int:
    """Cores that go with a pod's cards; what a pod without any gets."""
    return int(CPU_A_CARD.get(flavor, 8) * cards) or 32


def memory_of(cards: int | Decimal, flavor: str) -> int:
    """GiB that go with a pod's cards."""
    return int(MEMORY_A_CARD_GIB.get(flavor, 96) * cards) or 128


def _draw(rng: random.Random, mean: float) -> int:
    """A Poisson draw by Knuth's product of uniforms; means here are below ten."""
    count, product, limit = 0, rng.random(), 2.718281828459045**-mean
    while product > limit:
        count += 1
        product *= rng.random()
    return count
