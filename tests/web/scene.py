"""A small organisation drawn row by row, for page tests: three tenants of one cohort, one outsider, four nodes of eight cards.

Pages are tested on rows as the loop and billing would have left them; that those rooms leave such rows is their own tests' matter.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from django.contrib.auth.hashers import make_password

from berth.common import clock
from billing.services.costs import settle_ended
from billing.services.drafts import refresh_all
from billing.services.prices import NewRate, create_price_book, create_rate
from scheduling.models import (
    Card,
    Cycle,
    CycleOrder,
    EffectivePrice,
    Job,
    Lease,
    LeaseSegment,
    Loan,
    LoanSide,
    Node,
    NodeDomain,
    Pod,
    Role,
    RoleFlavor,
    Run,
    Transition,
    WaitReason,
)
from tenants.models import Cluster, Cohort, Flavor, Membership, PlatformRole, Pool, Queue, Quota, Tenant, User

PASSWORD = "only for tests"
CARD_M = 1000
WHOLE = 7000
GIB = 1024
CARDS_A_NODE = 8


@cache
def _hashed() -> str:
    """The one password of everybody; hashed once, since to hash is made to be slow."""
    return make_password(PASSWORD)


@dataclass
class Scene:
    """Handles to what was built; times are relative to `now`, the scene's last cycle."""

    now: datetime
    cycle: Cycle
    pool: Pool
    flavor: Flavor
    nodes: list[Node]
    cards: list[Card]
    tenants: dict[str, Tenant] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    next_card: int = 0


def build_scene() -> Scene:
    """The organisation at noon of the 15th: hours of use before `now` lie in one month and one day wherever the tests run."""
    clock.set_business_time(clock.wall_now().replace(day=15, hour=4, minute=0, second=0, microsecond=0), scale=1)
    now = clock.now().replace(microsecond=0)
    cluster = Cluster.objects.create(name="c1")
    pool = Pool.objects.create(name="a100-shared", cluster=cluster)
    flavor = Flavor.objects.create(name="a100-80g", pool=pool, card_model="A100-80G", vram_mib=80 * GIB)
    cycle = Cycle.objects.create(epoch=1, at=now, wall_at=clock.wall_now(), waiting=2)
    nodes = [_node(cluster, pool, flavor, number) for number in range(1, 5)]
    cards = [
        Card.objects.create(node=node, index=index, flavor=flavor) for node in nodes for index in range(CARDS_A_NODE)
    ]
    scene = Scene(now=now, cycle=cycle, pool=pool, flavor=flavor, nodes=nodes, cards=cards)
    research = Cohort.objects.create(name="research")
    _tenant(scene, "algo-a", "Pre-training", research, queue="prod", nominal=16, borrow=0, tier="production")
    _tenant(scene, "algo-b", "Fine-tuning", research, queue="dev", nominal=8, borrow=8, tier="development")
    _tenant(scene, "data-c", "Data", research, queue="batch", nominal=8, borrow=8, tier="batch")
    _tenant(scene, "ext-d", "Outside customer", None, queue="prod", nominal=0, borrow=0, tier="production")
    for username, role in (("finance", "finance"), ("admin", "platform-admin")):
        user = add_user(scene, username)
        user.is_staff = True
        user.save(update_fields=["is_staff"])
        PlatformRole.objects.create(user=user, role=role)
    return scene


def add_user(scene: Scene, username: str, tenant: Tenant | None = None, role: str = "member") -> User:
    user = User.objects.create(username=username, password=_hashed(), time_zone="Asia/Shanghai")
    if tenant is not None:
        Membership.objects.create(tenant=tenant, user=user, role=role, valid_from=scene.now - timedelta(days=90))
    scene.users[username] = user
    return user


def add_job(
    scene: Scene,
    tenant: str,
    name: str,
    *,
    cards: int = 8,
    pods: int = 1,
    state: str = "queued",
    ago: int = 27,
    **fields: Any,
) -> Job:
    """A job submitted `ago` minutes before the scene's now; `cards` is a pod's."""
    queue = scene.queues[tenant]
    at = scene.now - timedelta(minutes=ago)
    if state in ("succeeded", "failed", "cancelled"):
        fields.setdefault("ended_at", scene.now)
        fields.setdefault("end_reason", state)
    job = Job.objects.create(
        tenant=queue.tenant,
        queue=queue,
        user=fields.pop("user", None) or scene.users[f"{tenant}-member"],
        name=name,
        tier=fields.pop("tier", queue.default_tier),
        state=state,
        shape_key=f"{cards}x{pods}",
        submitted_at=at,
        order_at=at,
        eligible_at=at,
        spec={
            "tenant": tenant,
            "queue": queue.name,
            "name": name,
            "roles": [
                {"name": "worker", "replicas": pods, "image": "registry.example/train:1", "resources": {"gpu": cards}}
            ],
        },
        **fields,
    )
    role = Role.objects.create(
        job=job,
        position=0,
        name="worker",
        replicas=pods,
        minimum=pods,
        cards_m=cards * CARD_M,
        cpu_m=16_000 * cards,
        memory_mib=64 * GIB * cards,
        vram_mib=80 * GIB * cards,
        image="registry.example/train:1",
        command=["python", "train.py"],
    )
    RoleFlavor.objects.create(role=role, flavor=scene.flavor, position=0)
    Transition.objects.create(
        at=at,
        job_id=job.pk,
        tenant=job.tenant,
        subject="job",
        old="",
        new="queued",
        reason="submitted",
        actor=job.user.username,
    )
    return job


def add_wait(
    scene: Scene, job: Job, code: str, *, need: int, have: int, short: int, ago: int = 12, **fields: Any
) -> WaitReason:
    """The current reason, in cards."""
    key = "gpu:a100-80g"
    order, _ = CycleOrder.objects.get_or_create(id=1, defaults={"cycle_id": scene.cycle.pk, "changed_at": scene.now})
    order.job_ids = [*order.job_ids, job.pk]
    order.save(update_fields=["job_ids"])
    return WaitReason.objects.create(
        job=job,
        code=code,
        since=scene.now - timedelta(minutes=ago),
        cycle_id=scene.cycle.pk,
        need={key: need * CARD_M},
        have={key: have * CARD_M},
        short={key: short * CARD_M},
        **fields,
    )


def add_run(scene: Scene, job: Job, *, minutes: int = 134, borrowed: int = 0, ended: str = "") -> Run:
    """A run on the next free cards, started `minutes` ago; `borrowed` of its cards with a loan until 4 h after its start."""
    start = scene.now - timedelta(minutes=minutes)
    number = job.runs_count + 1
    run = Run.objects.create(
        job=job,
        number=number,
        cluster=scene.pool.cluster,
        namespace=f"{job.tenant.slug}-dev",
        state="ended" if ended else "running",
        admitted_at=start,
        admitted_wall=clock.wall_now(),
        dispatched_at=start,
        started_at=start + timedelta(seconds=40),
        ended_at=scene.now if ended else None,
        end_reason=ended,
    )
    job.runs_count = number
    job.started_at = job.started_at or start
    job.save(update_fields=["runs_count", "started_at"])
    for old, new, reason, seconds in (("queued", "starting", "admitted", 0), ("starting", "running", "started", 40)):
        Transition.objects.create(
            at=start + timedelta(seconds=seconds),
            job_id=job.pk,
            run_id=run.pk,
            tenant=job.tenant,
            subject="job",
            old=old,
            new=new,
            reason=reason,
            cycle_id=scene.cycle.pk,
        )
    _occupy(scene, run, start=start, end=scene.now if ended else None, borrowed=borrowed)
    if borrowed:
        loan = Loan.objects.create(
            run=run,
            queue=job.queue,
            flavor=scene.flavor,
            amount_m=borrowed * CARD_M,
            opened_at=start,
            expires_at=start + timedelta(hours=4),
        )
        lender = scene.queues["data-c"]
        LoanSide.objects.create(loan=loan, queue=lender, tenant=lender.tenant, amount_m=borrowed * CARD_M)
    return run


def add_prices(scene: Scene) -> None:
    """List prices of the flavor, own and borrowed, from before everything."""
    book = create_price_book(name="list", currency="CNY")
    for meter, flavor, price in (
        ("card_hour", scene.flavor, "12.50"),
        ("cpu_core_hour", None, "0"),
        ("memory_gib_hour", None, "0"),
    ):
        create_rate(
            NewRate(
                price_book=book,
                meter=meter,
                flavor=flavor,
                tenant=None,
                price=Decimal(price),
                currency="CNY",
                valid_from=scene.now - timedelta(days=400),
            )
        )


def bill(scene: Scene) -> None:
    """What billing's sweeps do: costs of ended jobs recorded, drafts written."""
    settle_ended()
    refresh_all()


def next_cycle(scene: Scene) -> Cycle:
    """A later cycle that decided nothing."""
    return Cycle.objects.create(epoch=1, at=clock.now(), wall_at=clock.wall_now())


def _occupy(scene: Scene, run: Run, *, start: datetime, end: datetime | None, borrowed: int) -> None:
    role = run.job.roles.get()
    slots = 0
    for index in range(role.replicas):
        card = scene.cards[scene.next_card]
        pod = Pod.objects.create(
            run=run,
            role_name=role.name,
            rank=index,
            index=index,
            name=f"j{run.job_id}-r{run.number}-worker-{index}",
            node=card.node,
            phase="succeeded" if end else "running",
            started_at=start + timedelta(seconds=40),
            finished_at=end,
        )
        for slot in range(role.cards_m // CARD_M):
            card = scene.cards[scene.next_card % len(scene.cards)]
            scene.next_card += 0 if end else 1
            total = role.replicas * role.cards_m // CARD_M
            lent = slots >= total - borrowed
            lease = Lease.objects.create(
                run=run,
                pod=pod,
                slot=slot,
                node=card.node,
                card=None if end else card,
                flavor=scene.flavor,
                quantity=WHOLE,
                borrowed=lent,
                cpu_m=role.cpu_m if slot == 0 else 0,
                memory_mib=role.memory_mib if slot == 0 else 0,
                vram_mib=80 * GIB,
                opened_at=start,
                closed_at=end,
            )
            if end:
                LeaseSegment.objects.create(
                    lease=lease, kind="billable", during=(start, end), quantity=WHOLE, borrowed=lent
                )
            slots += 1


def _node(cluster: Cluster, pool: Pool, flavor: Flavor, number: int) -> Node:
    node = Node.objects.create(
        cluster=cluster,
        pool=pool,
        flavor=flavor,
        name=f"node{number}",
        gpus=CARDS_A_NODE,
        cpu_m=128_000,
        memory_mib=1024 * GIB,
    )
    NodeDomain.objects.create(node=node, rank=0, level="rack", domain=f"rack{(number + 1) // 2}")
    return node


def _tenant(
    scene: Scene,
    slug: str,
    name: str,
    cohort: Cohort | None,
    *,
    queue: str,
    nominal: int,
    borrow: int | None,
    tier: str,
) -> None:
    long_ago = scene.now - timedelta(days=90)
    tenant = Tenant.objects.create(
        slug=slug, name=name, cohort=cohort, billing_timezone="Asia/Shanghai", created_at=long_ago
    )
    line = Queue.objects.create(tenant=tenant, name=queue, default_tier=tier, pool=scene.pool)
    Quota.objects.create(
        queue=line,
        resource="gpu",
        flavor=scene.flavor,
        nominal=nominal * CARD_M,
        borrowing_limit=None if borrow is None else borrow * CARD_M,
        lending_limit=nominal * CARD_M,
        valid_from=long_ago,
    )
    Quota.objects.create(
        queue=line, resource="cpu", nominal=nominal * 16_000, borrowing_limit=None, valid_from=long_ago
    )
    Quota.objects.create(
        queue=line, resource="memory", nominal=nominal * 64 * GIB, borrowing_limit=None, valid_from=long_ago
    )
    for meter in ("card_hour", "borrowed_card_hour"):
        EffectivePrice.objects.create(
            tenant=tenant,
            meter=meter,
            flavor=scene.flavor,
            price="12.50",
            currency="CNY",
            version="list-1",
            published_at=long_ago,
        )
    scene.tenants[slug] = tenant
    scene.queues[slug] = line
    add_user(scene, f"{slug}-member", tenant)
    add_user(scene, f"{slug}-admin", tenant, role="admin")
