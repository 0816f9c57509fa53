"""What a real cluster says of its nodes besides life: cordons, taints, bad cards; and what an admin's orders write to it."""

from collections.abc import Iterator

import pytest

from scheduling.control.node_operations import NotSimulatedError, order_card, order_node
from scheduling.models import Card, Job, Node, Run
from tests.factories import a_platform_admin
from tests.kubernetes.scene import Real, a_tenant_on_pods
from tests.kubernetes.spare_nodes import CARDS, FLAVOR, SpareNodes, spare_nodes

UNHEALTHY = "berth.dev/unhealthy-cards"


@pytest.fixture
def nodes() -> Iterator[SpareNodes]:
    with spare_nodes(2) as made:
        yield made


@pytest.fixture
def real(committed: None, nodes: SpareNodes) -> Iterator[Real]:
    with a_tenant_on_pods(FLAVOR, nominal=16) as made:
        yield made


def out(node: str) -> dict[int, str]:
    return dict(Card.objects.filter(node__name=node, health="failed").values_list("index", "failed_by"))


def test_a_node_starts_nothing_while_kubectl_an_admin_or_a_taint_bars_it(real: Real, nodes: SpareNodes) -> None:
    admin, (first, second) = a_platform_admin(), nodes.names
    running = real.submit(cards=8, replicas=1)
    real.until_state(running, "running")
    home = Run.objects.get(job=running).pods.get().node
    other = Node.objects.exclude(pk=home.pk).get()

    nodes.change(other.name, {"spec": {"unschedulable": True}})
    real.until(lambda: Node.objects.get(pk=other.pk).cordoned, "kubectl's cordon")
    waiting = real.submit(cards=8, replicas=1)
    real.turn()
    assert Job.objects.get(pk=waiting.pk).state == "queued"
    order_node(admin, other, "uncordon")
    assert not nodes.read(other.name)["spec"].get("unschedulable")
    real.until_state(waiting, "running")

    order_node(admin, home, "cordon")
    assert nodes.read(home.name)["spec"]["unschedulable"] is True
    nodes.change(other.name, {"spec": {"taints": [{"key": "repair", "value": "fan", "effect": "NoSchedule"}]}})
    real.until(lambda: Node.objects.filter(cordoned=True).count() == 2, "both bars")
    assert Node.objects.get(pk=other.pk).barred_by == "repair=fan:NoSchedule"
    assert {Job.objects.get(pk=job.pk).state for job in (running, waiting)} == {"running"}
    with pytest.raises(NotSimulatedError):
        order_node(admin, home, "fail")
    nodes.change(other.name, {"spec": {"taints": None}})
    order_node(admin, home, "uncordon")
    real.until(lambda: not Node.objects.filter(cordoned=True).exists(), "both bars to be gone")
    assert {first, second} == set(Node.objects.filter(barred_by="").values_list("name", flat=True))


def test_a_drained_node_is_emptied_with_the_tiers_grace_and_stays_empty(real: Real, nodes: SpareNodes) -> None:
    job = real.submit(cards=8, replicas=1)
    real.until_state(job, "running")
    home = Run.objects.get(job=job).pods.get().node

    order_node(a_platform_admin(), home, "drain")
    real.until(lambda: Run.objects.filter(job=job, number=2, state="running").exists(), "its next run")

    first, second = Run.objects.filter(job=job).order_by("number")
    assert (first.end_reason, second.pods.get().node == home) == ("preempted", False)
    assert nodes.read(home.name)["spec"]["unschedulable"] is True
    assert Job.objects.get(pk=job.pk).preemptions == 1


def test_a_card_that_is_named_bad_goes_out_with_its_job_and_comes_back(real: Real, nodes: SpareNodes) -> None:
    job, beside = (real.submit(cards=4, replicas=1) for _ in range(2))
    real.until_state(job, "running")
    real.until_state(beside, "running")
    card = Card.objects.filter(leases__run__job=job).order_by("index")[0]
    home = card.node.name
    was_beside = Run.objects.get(job=beside)

    order_card(a_platform_admin(), card.node, card.index, "fail")
    assert nodes.read(home)["metadata"]["annotations"][UNHEALTHY] == str(card.index)
    real.until(lambda: Run.objects.filter(job=job, number=2, state="running").exists(), "its next run")

    assert Run.objects.get(job=job, number=1).end_reason == "card-failed"
    assert out(home) == {card.index: "named"}
    assert not Card.objects.filter(leases__run__job=job, leases__run__number=2, pk=card.pk).exists()
    assert Run.objects.get(job=beside) == was_beside

    nodes.change(home, {"metadata": {"annotations": {UNHEALTHY: None}}})
    real.until(lambda: not out(home), "the card's return")


def test_fewer_cards_than_there_are_take_free_ones_out_first_and_everybody_where_none_is_free(
    real: Real, nodes: SpareNodes
) -> None:
    """Which card is bad is not told."""
    half, whole = real.submit(cards=4, replicas=1), real.submit(cards=8, replicas=1)
    real.until_state(half, "running")
    real.until_state(whole, "running")
    with_room, full = (Run.objects.get(job=job).pods.get().node.name for job in (half, whole))

    for name in (with_room, full):
        nodes.change(name, {"status": {"allocatable": {CARDS: "7"}}}, status=True)
    real.until(lambda: Run.objects.get(job=whole, number=1).state == "ended", "the run that holds all cards")

    assert Run.objects.get(job=whole, number=1).end_reason == "card-failed"
    assert (out(with_room), out(full)) == ({7: "counted"}, {7: "counted"})
    assert (Job.objects.get(pk=half.pk).state, Run.objects.filter(job=half).count()) == ("running", 1)
    for name in (with_room, full):
        nodes.change(name, {"status": {"allocatable": {CARDS: "8"}}}, status=True)
    real.until_state(whole, "running")
    assert (out(with_room), out(full)) == ({}, {})


def test_datasets_that_nodes_begin_and_cease_to_cache_are_followed(real: Real, nodes: SpareNodes) -> None:
    """SCH-19: caches fill and empty while nodes stand; what else a node's labels say is kept as it was taken in."""
    name = max(nodes.names)
    before = dict(Node.objects.get(name=name).labels)

    nodes.change(name, {"metadata": {"labels": {"data.berth.dev/imagenet": "cached", "other.example/word": "new"}}})
    real.until(lambda: "data.berth.dev/imagenet" in Node.objects.get(name=name).labels, "the label of the cache")

    assert Node.objects.get(name=name).labels == {**before, "data.berth.dev/imagenet": "cached"}

    nodes.change(name, {"metadata": {"labels": {"data.berth.dev/imagenet": None}}})
    real.until(lambda: Node.objects.get(name=name).labels == before, "the label to go")
