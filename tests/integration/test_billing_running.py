"""What goes on now: costs so far, drafts that follow, closes in the middle of a run, and segments that turn out otherwise."""

from datetime import datetime
from decimal import Decimal

import pytest
from django.db.models import QuerySet
from psycopg.types.range import TimestamptzRange

from berth.common.instants import parse_instant
from billing.models import LedgerEntry
from billing.selectors.usage import use_of
from billing.services.costs import meter_running, record_costs, settle_ended
from scheduling.models import Card, Job, Lease, LeaseSegment, Node, NodeInterval, Pod, Preemption, Run
from tenants.models import Flavor, Pool
from tests.factories import a_user
from tests.integration.money_world import MoneyWorld, at, hours, row

pytestmark = pytest.mark.django_db


class RunningJob:
    """A job of one pod with some cards; the test ends it as the loop would: segments are written when the hold ends."""

    def __init__(
        self,
        world: MoneyWorld,
        start: str,
        *,
        cards: int = 8,
        cpu_m: int = 0,
        memory_mib: int = 0,
        flavor: Flavor | None = None,
        units: int = 7000,
    ) -> None:
        """`units` are sevenths of a thousandth of a card that it holds of each."""
        flavor = flavor or world.flavors["h100"]
        self.began = at(start)
        name = f"live-{Node.objects.count()}"
        node = Node.objects.create(cluster=flavor.pool.cluster, pool=flavor.pool, name=name, gpus=8)
        self.job = Job.objects.create(
            tenant=world.tenant, queue=world.queue, user=a_user(), name="train", tier="development", shape_key="x",
            state="running", submitted_at=self.began, order_at=self.began, eligible_at=self.began, started_at=self.began,
            runs_count=1,
        )  # fmt: skip
        self.run = Run.objects.create(
            job=self.job, number=1, cluster=node.cluster, namespace="algo-prod", state="running", admitted_at=self.began,
            admitted_wall=self.began, started_at=self.began,
        )  # fmt: skip
        self.pod = Pod.objects.create(
            run=self.run, role_name="worker", rank=0, index=0, name="j-r1-worker-0", node=node, uid="u-1", phase="running",
            started_at=self.began,
        )  # fmt: skip
        for slot in range(cards):
            card = Card.objects.create(node=node, index=slot, flavor=flavor)
            Lease.objects.create(
                run=self.run, pod=self.pod, slot=slot, node=node, card=card, flavor=flavor, quantity=units,
                cpu_m=0 if slot else cpu_m, memory_mib=0 if slot else memory_mib, opened_at=self.began,
            )  # fmt: skip
        self.notice_at: datetime | None = None

    def segments(self) -> QuerySet[LeaseSegment]:
        return LeaseSegment.objects.filter(lease__run=self.run)

    def notice(self, when: str) -> None:
        """An eviction notice: from then on it is grace."""
        self.notice_at = at(when)
        Preemption.objects.create(
            run=self.run, job=self.job, reason="reclaim-nominal", notice_at=self.notice_at, grace_until=self.notice_at
        )

    def end(self, when: str, *, state: str = "succeeded") -> None:
        """End segments, leases, pod, run and job."""
        moment = at(when)
        turn = min(self.notice_at or moment, moment)
        for lease in Lease.objects.filter(run=self.run):
            for kind, start, end in (("billable", self.began, turn), ("grace", turn, moment)):
                if start < end:
                    LeaseSegment.objects.create(
                        lease=lease,
                        card=lease.card,
                        kind=kind,
                        during=TimestamptzRange(start, end),
                        quantity=lease.quantity,
                    )
        Lease.objects.filter(run=self.run).update(closed_at=moment)
        Pod.objects.filter(pk=self.pod.pk).update(phase="succeeded", finished_at=moment)
        Run.objects.filter(pk=self.run.pk).update(state="ended", ended_at=moment, end_reason=state)
        Job.objects.filter(pk=self.job.pk).update(state=state, ended_at=moment, end_reason=state)


def cost(job: Job) -> tuple[Decimal | None, bool]:
    job.refresh_from_db()
    return job.cost_amount, job.cost_final


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-10T10:00:00Z")
    return MoneyWorld().with_prices()


def test_a_running_job_has_a_cost_so_far_and_an_ended_one_a_final_cost(world: MoneyWorld, frozen_clock) -> None:
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    frozen_clock("2026-05-10T10:30:00Z")
    meter_running()
    so_far = cost(running.job)
    frozen_clock("2026-05-10T11:00:30Z")
    running.end("2026-05-10T11:00:00Z")

    settle_ended()

    assert so_far == (Decimal("50.00"), False)
    assert cost(running.job) == (Decimal("100.00"), True)


def test_a_lost_stop_event_bills_to_the_clusters_own_end(world: MoneyWorld, frozen_clock) -> None:
    """B20: the pod ended at 12:00, which was seen at 12:05."""
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    frozen_clock("2026-05-10T12:05:00Z")
    meter_running()
    running.end("2026-05-10T12:00:00Z")

    record_costs([running.job.pk])

    assert cost(running.job) == (Decimal("200.00"), True)


def test_the_grace_after_a_notice_is_shown_and_not_charged(world: MoneyWorld, frozen_clock) -> None:
    """BIL-05: while it goes on as afterwards."""
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    running.notice("2026-05-10T11:00:00Z")
    frozen_clock("2026-05-10T11:05:00Z")
    meter_running()
    before = (cost(running.job)[0], grace_of(world))
    running.end("2026-05-10T11:05:00Z", state="cancelled")
    frozen_clock("2026-05-10T12:00:00Z")
    settle_ended()

    after = (cost(running.job)[0], grace_of(world))

    assert before == after == (Decimal("100.00"), (Decimal(0), Decimal(2) / 3, Decimal("8.33")))


def grace_of(world: MoneyWorld) -> tuple[Decimal, Decimal, Decimal | None]:
    line = world.draft("2026-05").lines.get(reason="grace")
    return line.amount, hours(line), line.worth


def test_a_notice_in_a_closed_month_is_corrected_on_the_next_bill(world: MoneyWorld, frozen_clock) -> None:
    """B19: May was closed before the notice of its last minutes was known."""
    running = RunningJob(world, "2026-05-31T15:00:00Z")
    frozen_clock("2026-05-31T16:10:00Z")
    may = world.close("2026-05")
    running.notice("2026-05-31T15:30:00Z")
    running.end("2026-05-31T16:30:00Z")
    frozen_clock("2026-05-31T17:00:00Z")
    settle_ended()

    june = world.draft("2026-06")

    assert (may.total, june.total) == (Decimal("100.00"), Decimal("-50.00"))
    assert cost(running.job) == (Decimal("50.00"), True)


def test_cpu_and_memory_have_lines_of_their_own_even_at_no_price(world: MoneyWorld, frozen_clock) -> None:
    """BIL-04: price may be 0, never hidden."""
    world.price("0.00", flavor=None, meter="cpu_core_hour")
    world.price("0.01", flavor=None, meter="memory_gib_hour")
    running = RunningJob(world, "2026-05-10T10:00:00Z", cpu_m=64_000, memory_mib=512 * 1024)
    running.end("2026-05-10T11:00:00Z")
    frozen_clock("2026-05-10T12:00:00Z")
    settle_ended()

    lines = {line.meter: line for line in world.draft("2026-05").lines.all()}

    assert {meter: str(line.amount) for meter, line in lines.items()} == {
        "card_hour": "100.000000",
        "cpu_core_hour": "0.000000",
        "memory_gib_hour": "5.120000",
    }
    assert lines["cpu_core_hour"].quantity == 64_000 * 3600
    assert cost(running.job) == (Decimal("105.12"), True)


def test_a_draft_of_what_goes_on_is_never_superseded_by_its_end(world: MoneyWorld, frozen_clock) -> None:
    """B49: nothing that was posted is taken away when a run turns out to have ended earlier."""
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    frozen_clock("2026-05-10T12:00:00Z")
    first = world.draft("2026-05")
    running.end("2026-05-10T11:00:00Z")

    draft = world.draft("2026-05")

    assert (first.total, draft.total) == (Decimal("200.00"), Decimal("100.00"))
    assert (draft.pk, draft.version) == (first.pk, 1)
    assert LedgerEntry.objects.count() == 8


def test_a_close_in_the_middle_of_a_run_splits_it_once(world: MoneyWorld, frozen_clock) -> None:
    """B30, B48: what was posted at the close is not posted or charged again when the run ends."""
    running = RunningJob(world, "2026-05-31T15:00:00Z")
    frozen_clock("2026-06-01T00:00:00Z")
    may = world.close("2026-05")
    meter_running()
    so_far = cost(running.job)
    draft = world.draft("2026-06").total
    frozen_clock("2026-06-01T02:00:00Z")
    running.end("2026-06-01T01:00:00Z")
    settle_ended()

    june = world.draft("2026-06")

    assert may.total == Decimal("100.00")
    assert so_far == (Decimal("900.00"), False)
    assert draft == Decimal("800.00")
    assert june.total == Decimal("900.00")
    assert cost(running.job) == (Decimal("1000.00"), True)


def test_an_end_that_lies_before_the_close_is_given_back_on_the_next_bill(world: MoneyWorld, frozen_clock) -> None:
    """B19, B20: May was closed as if the run went on; it had ended half an hour before."""
    running = RunningJob(world, "2026-05-31T15:00:00Z")
    frozen_clock("2026-05-31T16:10:00Z")
    may = world.close("2026-05")
    running.end("2026-05-31T15:30:00Z")
    settle_ended()

    june = world.draft("2026-06")

    assert may.total == Decimal("100.00")
    assert (june.total, june.lines.get().kind, june.lines.get().charged_period) == (
        Decimal("-50.00"),
        "adjustment",
        may.period,
    )
    assert cost(running.job) == (Decimal("50.00"), True)


def test_metering_again_posts_nothing(world: MoneyWorld, frozen_clock) -> None:
    """B15."""
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    running.end("2026-05-10T11:00:00Z")
    frozen_clock("2026-05-10T12:00:00Z")

    for _ in range(3):
        record_costs([running.job.pk])
        meter_running()

    assert LedgerEntry.objects.count() == 8


def test_a_run_found_to_be_a_platform_fault_is_given_back(world: MoneyWorld, frozen_clock) -> None:
    """BIL-05: the segments change their meaning after they were posted; the ledger takes back and posts anew."""
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    running.end("2026-05-10T11:00:00Z", state="failed")
    frozen_clock("2026-05-10T12:00:00Z")
    settle_ended()
    before = world.draft("2026-05")
    running.segments().update(kind="fault")

    record_costs([running.job.pk])
    record_costs([running.job.pk])

    after = world.draft("2026-05")
    assert (before.total, after.total, after.version) == (Decimal("100.00"), Decimal(0), 2)
    assert [line.reason for line in after.lines.exclude(quantity=0)] == ["platform-fault"]
    assert cost(running.job) == (Decimal(0), True)
    assert LedgerEntry.objects.count() == 24


def test_nodes_set_aside_are_charged_whole_and_the_leases_on_them_nothing(world: MoneyWorld, frozen_clock) -> None:
    """BIL-01: the hour in which the node was lost is not charged."""
    pool = Pool.objects.create(name="own", cluster=world.pool.cluster, sharing="partition", tenant=world.tenant)
    own = Flavor.objects.create(name="h100@own", pool=pool)
    world.flavors["h100@own"] = own
    world.price("10.00", flavor="h100@own")
    running = RunningJob(world, "2026-05-10T10:00:00Z", flavor=own)
    node = Node.objects.get(pool=pool)
    interval(node, "ready", at("2026-05-10T10:00:00Z"), at("2026-05-10T12:00:00Z"))
    interval(node, "lost", at("2026-05-10T12:00:00Z"), at("2026-05-10T13:00:00Z"))
    interval(node, "ready", at("2026-05-10T13:00:00Z"), None)
    running.end("2026-05-10T11:00:00Z")
    frozen_clock("2026-05-10T14:00:00Z")
    settle_ended()
    meter_running()

    draft = world.draft("2026-05")

    found = sorted((line.kind, line.reason, hours(line), line.amount) for line in draft.lines.all())
    assert found == [
        ("excluded", "platform-fault", Decimal(8), Decimal(0)),
        ("excluded", "set-aside", Decimal(8), Decimal(0)),
        ("usage", "own-nodes", Decimal(24), Decimal(240)),
    ]
    assert cost(running.job) == (Decimal(0), True)
    frozen_clock("2026-06-01T00:00:00Z")
    assert world.close("2026-05").total == 80 * (2 + 3 + 21 * 24)


def interval(node: Node, state: str, start: datetime, end: datetime | None) -> None:
    NodeInterval.objects.create(
        node=node, pool=node.pool, tenant=node.pool.tenant, flavor=Flavor.objects.get(pool=node.pool), cards=8, state=state,
        during=TimestamptzRange(start, end),
    )  # fmt: skip


def test_a_job_that_never_ran_costs_nothing(world: MoneyWorld) -> None:
    began = parse_instant("2026-05-10T09:00:00Z")
    job = Job.objects.create(
        tenant=world.tenant, queue=world.queue, user=a_user(), name="x", tier="batch", shape_key="x", state="cancelled",
        submitted_at=began, order_at=began, eligible_at=began, ended_at=began,
    )  # fmt: skip

    settle_ended()

    assert cost(job) == (Decimal(0), True)


def test_usage_tells_own_borrowed_and_excluded_apart(world: MoneyWorld, frozen_clock) -> None:
    RunningJob(world, "2026-05-10T10:00:00Z", cards=2)
    world.load(
        row("2026-05-09T15:00:00Z", "2026-05-09T17:00:00Z", job="b", borrowed=True),
        row("2026-05-09T18:00:00Z", "2026-05-09T18:20:00Z", job="l", reason="node-lost", last_alive="2026-05-09T18:10:00Z"),
    )  # fmt: skip
    frozen_clock("2026-05-10T11:00:00Z")

    found = use_of(
        [world.tenant], since=at("2026-05-01T00:00:00Z"), until=at("2026-05-11T00:00:00Z"), group_by=["day"],
        now=at("2026-05-10T11:00:00Z"),
    )  # fmt: skip

    unit = 7000 * 3600
    assert [(str(use.key[0]), use.own, use.borrowed, use.excluded) for use in found] == [
        ("2026-05-09", 0, unit, 0),
        ("2026-05-10", 2 * unit + unit // 6, unit, unit // 6),
    ]
