"""SCH-19: a job that names datasets runs where they are, or where the storage link has room, within what topology allows."""

from typing import Any

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.data_near import data_labels, datasets_of
from scheduling.engine.invariants import check
from scheduling.simulator.plan_file import parse_plan
from tests.unit.simulator.files import no_files

HERE = "data.berth.dev/imagenet: cached"


def nodes_of(job: str, nodes: list[str], running: list[str] | None = None) -> list[str]:
    """Where the job starts. `nodes` are (rest of a node's entry); each has 8 cards."""
    entries = "\n".join(f"    - {{flavor: g, gpus: 8, cpu: 64, {rest}}}" for rest in nodes)
    text = (
        'now: "2026-11-29T10:00:00Z"\ncluster:\n  flavors: {g: {cards: any}}\n  nodes:\n' + entries + "\n"
        "  tenants: [{name: a, queues: [{name: q, quota: {gpu: {g: {nominal: 99}}}}]}]\n"
        "running:\n" + "\n".join(running or []) + "\npending:\n" + job
    )
    question = parse_plan(text, "plan.yaml", no_files)
    plan = run_cycle(question.snapshot, question.policy, question.now_ms)
    assert check(question.snapshot, plan, question.now_ms) == ()
    [start] = plan.starts
    return sorted(str(pod.node) for pod in start.pods)


def asks(gpu: int, *, pods: int = 1, datasets: str = "imagenet", extra: str = "") -> str:
    return (
        f"  - {{job: j, tenant: a, queue: q, datasets: [{datasets}]{extra}, "
        f"roles: [{{replicas: {pods}, resources: {{gpu: {gpu}}}}}]}}\n"
    )


BUSY = "  - {job: r, tenant: a, queue: q, roles: [{nodes: [n0], resources: {gpu: 6}}]}"


def test_the_node_that_caches_the_dataset_goes_before_the_tightest() -> None:
    """Without data the two cards left on n0 are the best fit."""
    nodes = ["name: n0", f"name: n1, labels: {{{HERE}}}"]

    assert nodes_of(asks(2), nodes, [BUSY]) == ["n1"]
    assert nodes_of(asks(2, datasets=""), nodes, [BUSY]) == ["n0"]
    assert nodes_of(asks(2, datasets="laion"), nodes, [BUSY]) == ["n0"]


def test_where_nothing_is_cached_a_link_with_room_counts_and_both_datasets_more_than_one() -> None:
    link = "berth.dev/storage-link: free"
    nodes = [
        "name: n0",
        f"name: n1, labels: {{{link}}}",
        f"name: n2, labels: {{{HERE}}}",
        f"name: n3, labels: {{{HERE}, data.berth.dev/laion: cached}}",
    ]

    assert nodes_of(asks(2, datasets="books"), nodes, [BUSY]) == ["n1"]
    assert nodes_of(asks(2, datasets="imagenet, laion"), nodes, [BUSY]) == ["n3"]
    assert nodes_of(asks(2, datasets="imagenet, books"), nodes[:3], [BUSY]) == ["n2"]


def test_a_gang_takes_the_rack_that_caches_most_and_never_crosses_a_level_for_it() -> None:
    """The two nodes that cache it are in different racks."""
    nodes = [
        "name: n0, topology: {rack: r0}", "name: n1, topology: {rack: r0}",
        f"name: n2, topology: {{rack: r1}}, labels: {{{HERE}}}", "name: n3, topology: {rack: r1}",
        f"name: n4, topology: {{rack: r2}}, labels: {{{HERE}}}",
    ]  # fmt: skip
    together = ", topology: {mode: preferred, level: rack}"

    assert nodes_of(asks(8, pods=2, extra=together), nodes) == ["n2", "n3"]
    assert nodes_of(asks(8, pods=2, datasets="", extra=together), nodes) == ["n0", "n1"]

    alone = [*nodes[:2], nodes[2], nodes[4]]
    assert nodes_of(asks(8, pods=2, extra=together), alone) == ["n0", "n1"]


def test_a_job_never_waits_for_its_data() -> None:
    """The cached node is full."""
    full = "  - {job: r, tenant: a, queue: q, roles: [{nodes: [n1], resources: {gpu: 8}}]}"

    assert nodes_of(asks(8), ["name: n0", f"name: n1, labels: {{{HERE}}}"], [full]) == ["n0"]


@pytest.mark.parametrize(
    ("labels", "near", "kept"),
    [
        ({}, set(), {}),
        ({"data.berth.dev/a": "cached", "data.berth.dev/b": "gone"}, {"a"}, {"data.berth.dev/a": "cached", "data.berth.dev/b": "gone"}),
        ({"berth.dev/storage-link": "free", "zone": "z"}, {"*"}, {"berth.dev/storage-link": "free"}),
        ({"berth.dev/storage-link": "busy"}, set(), {"berth.dev/storage-link": "busy"}),
    ],
)  # fmt: skip
def test_what_labels_say_of_data(labels: dict[str, Any], near: set[str], kept: dict[str, str]) -> None:
    assert (set(datasets_of(labels)), data_labels(labels)) == (near, kept)
