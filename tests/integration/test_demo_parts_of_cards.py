"""The demo's other kinds of nodes: MIG, shared and Ascend cards, whose jobs its loop takes over as the past left them (SCH-13)."""

from contextlib import ExitStack
from datetime import datetime, timedelta

from berth.common import clock
from berth.demo.build import build_organisation
from berth.demo.driver import submit_some
from berth.demo.history import load_history
from berth.demo.organisation import FULL
from berth.demo.past import live_through
from berth.demo.people import create_people
from berth.demo.today import asks_of_today
from berth.demo.virtual import start_machines, start_pods
from berth.demo.workload import ASCEND, MIG, SHARED
from scheduling.control.loop import Loop
from scheduling.control.observe import Observer
from scheduling.models import Job, Lease, SegmentQuarantine, SimulatedNode, WaitReason
from tenants.models import Cluster, Tenant
from tests.integration.loop_scene import MORNING

NAMES = {
    MIG: {"tokenizer-check", "notebook-judge", "embed-small-07", "prompt-bench-v4"},
    SHARED: {"debug-session-rm", "debug-session-vlm", "quality-probe"},
    ASCEND: {"port-llama-910", "ascend-eval-sweep"},
}


def open_demo(now: datetime) -> None:
    """The demo with what makes its opening worth a look, and no history before it."""
    since = now - timedelta(hours=4)
    past = live_through(FULL, sorted(asks_of_today(now), key=lambda ask: (ask.at, ask.name)), since=since, until=now)
    build_organisation(FULL, since=since)
    create_people(list(Tenant.objects.order_by("slug")), since=since)
    load_history(past, since=since)
    start_machines()
    start_pods()


def leases_of(flavor: str) -> dict[str, tuple[int, int]]:
    """(leases, 1/7000 of a card of each) by job of the flavor."""
    rows = Lease.objects.filter(closed_at__isnull=True, flavor__name=flavor).order_by("id")
    found: dict[str, tuple[int, int]] = {}
    for name, units in rows.values_list("run__job__name", "quantity"):
        found[name] = (found.get(name, (0, 0))[0] + 1, units)
    return found


def test_the_demo_opens_with_jobs_on_parts_of_cards_and_on_ascend_cards(committed: None) -> None:
    with ExitStack() as clocks:
        clocks.enter_context(clock.frozen_at(MORNING))
        open_demo(MORNING)

        assert leases_of(MIG) == {
            "tokenizer-check": (2, 1000),
            "notebook-judge": (1, 1000),
            "embed-small-07": (1, 1000),
            "prompt-bench-v4": (4, 1000),
        }
        assert leases_of(SHARED) == {
            "debug-session-rm": (1, 3500),
            "debug-session-vlm": (1, 1750),
            "quality-probe": (1, 3500),
        }
        assert leases_of(ASCEND) == {"port-llama-910": (4, 7000), "ascend-eval-sweep": (4, 7000)}
        machines = dict(SimulatedNode.objects.values_list("name", "resource_name"))
        assert {machines[name] for name in ("m000", "s000", "d000")} == {
            "nvidia.com/mig-1g.10gb",
            "nvidia.com/gpu",
            "huawei.com/Ascend910",
        }

        loop, observer = Loop(holder="first"), Observer()
        for seconds in (5, 10, 15):
            clocks.enter_context(clock.frozen_at(MORNING + timedelta(seconds=seconds)))
            observer.observe(Cluster.objects.get())
            loop.turn()

        for names in NAMES.values():
            assert set(Job.objects.filter(name__in=names).values_list("state", flat=True)) == {"running"}
        waits = WaitReason.objects.filter(until__isnull=True, job__name="op-bench-910")
        assert list(waits.values_list("code", flat=True)) != []
        assert not SegmentQuarantine.objects.exists()
        before = Job.objects.count()
        submit_some(since=MORNING - timedelta(hours=2), until=MORNING + timedelta(seconds=15))
        assert Job.objects.count() >= before
