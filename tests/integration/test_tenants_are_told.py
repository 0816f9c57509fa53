"""Tenants are told once, and only they, what happened to their runs without their doing (DESIGN section 6)."""

from datetime import timedelta

from scheduling.cluster.virtual import FailNode, NodeFailure, SetCardHealth
from scheduling.models import Card, Job
from tenants.models import Notification
from tenants.selectors.notifications import notifications_for
from tests.factories import a_member_of
from tests.integration.loop_scene import MORNING, Scene


def told(job: Job) -> list[tuple[str, dict[str, object]]]:
    """Code and numbers of what was said about a job, oldest first; all of it is to the job's tenant."""
    rows = Notification.objects.filter(job_id=job.pk).order_by("id")
    assert {row.tenant_id for row in rows} <= {job.tenant_id}
    return [(row.code, row.params) for row in rows]


def look(scene: Scene, seconds: int) -> None:
    """Wall time in which somebody looks every two seconds and the loop turns."""
    for _ in range(seconds // 2):
        scene.pass_wall(2)
        scene.look()
        scene.turn()


def test_a_lost_node_is_told_to_whoever_ran_there(scene: Scene) -> None:
    """F24."""
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(8), seconds=None)
    other = scene.submit(scene.a_queue(8), seconds=None)
    look(scene, 4)
    home = scene.run_of(job).pods.get().node

    scene.port.act(FailNode(home.name, NodeFailure.SILENT))
    look(scene, 30)

    assert told(job) == [("node-lost", {"name": job.name, "run": 1, "node": home.name})]
    assert told(other) == []
    member, stranger = a_member_of(job.tenant), a_member_of(other.tenant)
    assert [row.code for row in notifications_for(member)] == ["node-lost"]
    assert not notifications_for(stranger).exists()


def test_an_eviction_notice_is_told_with_its_reason_and_the_end_of_its_grace(scene: Scene) -> None:
    scene.add_nodes()
    lender, borrower = scene.a_queue(8), scene.a_queue(0, tier="development")
    victim = scene.submit(borrower, seconds=None)
    scene.turn()
    scene.go_on()
    claim = scene.submit(lender, seconds=None)

    for _ in range(3):
        scene.go_on(100)

    until = (MORNING + timedelta(seconds=401)).isoformat()
    want = {"name": victim.name, "run": 1, "reason": "reclaim-nominal", "grace_until": until}
    assert (told(victim), told(claim)) == ([("preempted", want)], [])


def test_a_bad_card_is_told_to_whoever_held_it(scene: Scene) -> None:
    scene.add_nodes(2)
    queue = scene.a_queue(16)
    job = scene.submit(queue, cards=4, seconds=None)
    beside = scene.submit(queue, cards=4, seconds=None)
    look(scene, 4)
    card = Card.objects.get(leases__run=scene.run_of(job), leases__slot=0)

    scene.port.act(SetCardHealth(card.node.name, card.index, healthy=False))
    look(scene, 4)

    assert told(job) == [("card-failed", {"name": job.name, "run": 1, "cards": f"{card.node.name}/{card.index}"})]
    assert told(beside) == []
