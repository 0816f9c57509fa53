"""Jobs without cards in pools of cards: they run beside card jobs and leave idle cards their part (SCH-02)."""

from typing import Any

import pytest

from scheduling.models import Job, Lease
from scheduling.selectors.configured import configured
from scheduling.services.submit import submit_job
from tenants.models import Pool, Queue
from tests.factories import a_member_of
from tests.integration.loop_scene import Scene


def submit_cpu(queue: Queue, **resources: Any) -> Job:
    body = {
        "tenant": queue.tenant.slug,
        "queue": queue.name,
        "name": "prepare",
        "labels": {"berth.dev/sim-duration": "30"},
        "roles": [{"name": "worker", "replicas": 1, "image": "registry.example/prepare:1", "resources": resources}],
    }
    # An emptied database begins its ids anew, which is how the kept copy of another test would pass for this one's.
    configured(fresh=True)
    return submit_job(a_member_of(queue.tenant), body)


@pytest.mark.parametrize("gpu", [{}, {"gpu": 0}], ids=["absent", "zero"])
@pytest.mark.parametrize("tier", ["production", "development", "batch"])
def test_a_job_without_cards_runs_beside_card_jobs_to_its_end(scene: Scene, gpu: dict[str, int], tier: str) -> None:
    """The node's cards are all held by work that asks half of its part of the CPU."""
    scene.add_nodes()
    queue = scene.a_queue(8, tier=tier)
    scene.submit(queue, seconds=None)
    scene.turn()

    job = submit_cpu(queue, cpu=4, memory=8, **gpu)
    scene.go_on()
    scene.go_on(5)
    assert scene.states(job) == ["running"]
    lease = Lease.objects.get(run__job=job)
    assert (lease.card, lease.flavor, lease.quantity, lease.cpu_m) == (None, None, 0, 4000)
    scene.go_on(40)

    assert scene.states(job) == ["succeeded"]


def test_idle_cards_keep_their_part_and_the_wait_says_cpu(scene: Scene) -> None:
    """Never `impossible` and never a card's reason; a pool that keeps headroom lets it start."""
    scene.add_nodes()
    job = submit_cpu(scene.a_queue(8), cpu=4, memory=8)

    scene.turn()
    code = job.wait_reasons.get(until__isnull=True).code
    Pool.objects.update(cpu_headroom_m=8_000, memory_per_card_mib=64 * 1024)
    scene.go_on()

    assert code in ("cpu-busy", "memory-busy")
    assert scene.states(job) == ["starting"]
