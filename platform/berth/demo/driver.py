"""Keeps the demo alive: its teams go on submitting, by the same services as everybody, and leave one whole A100 node free."""

import random
from collections import defaultdict
from datetime import datetime
from typing import Final

from django.db.models import Count, Q, Sum

from berth.common.errors import BerthError
from berth.demo.history import body_of
from berth.demo.workload import ASCEND, HABITS, HOURS, PARTS, WEEKEND, ZONE, Habit, sample
from scheduling.models import Job, Lease, Node
from scheduling.services.submit import submit_job
from scheduling.states import HOLDING, JobState
from tenants.models import User

SPEED: Final = 3.0
"""The live teams are busier than their history, so that a visitor sees something happen within a minute."""
MOST_CARDS: Final = {"algo-a": 104, "algo-b": 72, "data-c": 40, "ext-d": 16}
"""Whole cards a team may hold when this load asks for more; the rest of its quota is a visitor's."""
MOST_WAITING: Final = 4
OTHERS: Final = frozenset({*PARTS, ASCEND})
MOST_OF_OTHERS: Final = 8
"""Jobs of a team on shared cards, on MIG instances, on Ascend cards: beside its cards, which they are no part of."""
FREE_NODES: Final = 2
"""With fewer whole A100 nodes free than this nothing more is submitted: one always stays free for a visitor's job."""
PRODUCTION: Final = "algo-a"
PRODUCTION_BACKED: Final = 106
"""What production may use of 128 cards granted at factor 1.2 (SCH-15)."""
WHOLE: Final = 8
NODE_FLAVOR: Final = "a100-80g"
MINUTES_A_LOOK: Final = 5


def is_demo() -> bool:
    """Whether this database holds the demo organisation."""
    return User.objects.filter(username__in=["algo-a-member", "algo-b-member", "data-c-member"]).count() == 3


def submit_some(*, since: datetime, until: datetime) -> int:
    """Submit what the teams would have asked for in [since, until); returns how many jobs."""
    minutes = min((until - since).total_seconds() / 60, MINUTES_A_LOOK * 12)
    rng = random.Random(f"live/{since.isoformat()}")  # noqa: S311 - a demo's dice
    local = until.astimezone(ZONE)
    rate = HOURS[local.hour] / sum(HOURS) * (WEEKEND if local.weekday() >= 5 else 1) / 60 * SPEED
    held = _held_cards()
    submitted = 0
    for habit in HABITS:
        chance = habit.a_day * rate * minutes
        count = int(chance) + (rng.random() < chance % 1)
        for serial in range(count):
            submitted += _submit(habit, until, rng, held, serial)
    return submitted


def _submit(habit: Habit, at: datetime, rng: random.Random, held: dict[str, int], serial: int) -> bool:
    ask = sample(habit, at, rng, serial=at.minute * 60 + serial)
    cards = 0 if habit.flavor in OTHERS else ask.pods * int(ask.cards)
    if held[habit.tenant] + cards > MOST_CARDS[habit.tenant] or _has_enough(habit):
        return False
    if ask.flavor == NODE_FLAVOR and free_nodes() - _spoken_for(held) < FREE_NODES + ask.pods * (ask.cards == WHOLE):
        return False
    try:
        submit_job(User.objects.get(username=f"{habit.tenant}-member"), body_of(ask))
    except BerthError:
        # A visiting admin may have changed what the team may ask for; the demo goes on without this job.
        return False
    held[habit.tenant] += cards
    return True


def _has_enough(habit: Habit) -> bool:
    """Whether the team has as many jobs waiting, or on cards of that other kind, as this load gives it."""
    jobs = Job.objects.filter(tenant__slug=habit.tenant)
    if habit.flavor in OTHERS:
        jobs = jobs.filter(roles__role_flavors__flavor__name=habit.flavor)
        if jobs.filter(state__in=HOLDING).count() >= MOST_OF_OTHERS:
            return True
    else:
        jobs = jobs.exclude(roles__role_flavors__flavor__name__in=OTHERS)
    return jobs.filter(state=JobState.QUEUED).count() >= MOST_WAITING


def free_nodes() -> int:
    """Whole A100 nodes that are ready and hold nothing."""
    held = Lease.objects.filter(closed_at__isnull=True).values("node")
    ready = Node.objects.filter(flavor__name=NODE_FLAVOR, state=Node.State.READY, cordoned=False)
    return (
        ready.exclude(pk__in=held).annotate(out=Count("cards", filter=Q(cards__health="failed"))).filter(out=0).count()
    )


def _spoken_for(held: dict[str, int]) -> int:
    """Whole nodes that production jobs already waiting may take as soon as their quota allows."""
    waiting = Job.objects.filter(state=JobState.QUEUED, tenant__slug=PRODUCTION)
    asked = sum(pods * cards // 1000 for pods, cards in waiting.values_list("roles__replicas", "roles__cards_m"))
    return min(asked, max(0, PRODUCTION_BACKED - held[PRODUCTION])) // WHOLE


def _held_cards() -> dict[str, int]:
    live = Job.objects.filter(state__in=HOLDING).exclude(roles__role_flavors__flavor__name__in=OTHERS)
    found: dict[str, int] = defaultdict(int)
    rows = live.values("tenant__slug", "pk").annotate(pods=Sum("roles__replicas"), cards=Sum("roles__cards_m"))
    for row in rows:
        found[row["tenant__slug"]] += (row["pods"] or 0) * (row["cards"] or 0) // 1000
    return found
