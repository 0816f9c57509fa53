"""What cards report becomes samples and hours; what nobody reports is unknown and never idle (B54)."""

from scheduling.cluster.faults import FaultKind
from scheduling.cluster.virtual import FailNode, NodeFailure
from scheduling.control.sampling import sample_cards
from scheduling.models import Job, UtilisationHour, UtilisationSample
from scheduling.selectors.job_usage import job_usage
from tests.integration.loop_scene import Scene

WHOLE = 7_000


def hours(job: Job) -> list[tuple[int, int, int]]:
    """Card-seconds held, sampled and busy, by hour."""
    rows = UtilisationHour.objects.filter(run_id__in=job.runs.values("pk")).order_by("hour")
    return [(row.held_units_s // WHOLE, row.sampled_units_s // WHOLE, row.busy_units_s // WHOLE) for row in rows]


def running(scene: Scene, **labels: str) -> Job:
    scene.add_nodes()
    job = scene.submit(
        scene.a_queue(8), seconds=None, labels={f"berth.dev/sim-{key}": value for key, value in labels.items()}
    )
    scene.turn()
    scene.go_on(1)
    return job


def test_each_card_of_a_pod_is_sampled_and_the_hour_adds_up(scene: Scene) -> None:
    """Eight cards at 75 %: from 0 to 40 s, looked at after 10, 20 and 40 s."""
    job = running(scene, utilisation="0.75")
    for seconds in (9, 10, 20):
        scene.go_on(seconds)
        assert sample_cards() == 8

    rows = UtilisationSample.objects.all()
    assert {(row.busy_ppm, row.run_id, row.rank) for row in rows} == {(750_000, scene.run_of(job).pk, 0)}
    assert (rows.count(), rows.values("card_id").distinct().count()) == (24, 8)
    assert hours(job) == [(320, 320, 240)]
    [line] = job_usage(job)
    assert (line.sampled // WHOLE, line.busy // WHOLE, line.peak_vram_mib) == (320, 240, 65_536)
    assert scene.run_of(job).peak_vram_mib == 65_536


def test_an_hour_is_cut_at_its_end(scene: Scene) -> None:
    job = running(scene, utilisation="0.5")
    scene.go_on(3579)
    sample_cards()
    scene.go_on(40)
    sample_cards()

    held = hours(job)
    assert [each[0] for each in held] == [8 * 3600, 8 * 20]
    assert [each[1] for each in held] == [8 * (180 + 20), 8 * 20]
    assert [each[2] for each in held] == [each[1] // 2 for each in held]


def test_no_label_a_silent_node_and_a_dead_cluster_are_unknown(scene: Scene) -> None:
    """B54."""
    job = running(scene)
    scene.go_on(9)
    assert sample_cards() == 0
    assert hours(job) == [(80, 0, 0)]
    busy = running(scene, utilisation="1")
    scene.port.act(FailNode(scene.run_of(busy).pods.get().node.name, NodeFailure.SILENT))
    assert sample_cards() == 0
    scene.plan_fault("list_card_use", FaultKind.UNREACHABLE, times=1, message="connection refused")
    assert sample_cards() == 0
    assert not UtilisationSample.objects.exists()
