"""What a cluster file says, in engine units, and what is told about one that is wrong."""

import numpy as np
import pytest

from scheduling.engine.vocabulary import CardMode, NodeState
from scheduling.simulator.cluster_file import parse_cluster
from tests.unit.simulator.files import CLUSTER, cluster, cluster_problems


def test_nodes_are_expanded_from_their_pattern_and_sorted_by_name() -> None:
    text = CLUSTER.replace('count: 4, name: "n{i}"', 'count: 12, name: "n{i:03d}"')

    nodes = cluster(text).nodes

    assert nodes.names[:2] == ("n000", "n001")
    assert len(nodes) == 12
    assert nodes.levels == ("zone", "rack")
    assert nodes.domains[1] == ("z1/r0", "z1/r1", "z1/r2", "z1/r3", "z1/r4", "z1/r5")
    assert nodes.domain[1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_amounts_are_read_without_floats() -> None:
    text = CLUSTER.replace("cpu: 64", "cpu: 0.1").replace("memory_gib: 512", "memory_gib: 1.5").replace("16}", "2.125}")

    read = cluster(text)

    assert read.nodes.cpu_m.tolist() == [100] * 4
    assert read.nodes.memory_mib.tolist() == [1536] * 4
    assert {node.id: node.nominal[0] for node in read.tree} == {
        "a": None, "a/main": 2125, "b": None, "b/main": 2125, "root": None,
    }  # fmt: skip


def test_cards_out_and_states_are_taken_over() -> None:
    text = CLUSTER.replace("gpus: 8", "gpus: 8, cards_out: [0, 7], state: cordoned")

    read = cluster(text)

    assert np.count_nonzero(~read.cards.healthy) == 8
    assert set(read.nodes.state.tolist()) == {NodeState.CORDONED}


def test_a_limit_of_null_is_no_limit_and_a_nominal_left_out_is_zero() -> None:
    text = CLUSTER.replace("{nominal: 16}", "{borrowing_limit: null, lending_limit: 4}", 1)

    queue = next(node for node in cluster(text).tree if node.id == "a/main")

    assert (queue.nominal[0], queue.borrowing[0], queue.lending[0]) == (0, None, 4000)


def test_a_flavor_named_with_a_pool_belongs_to_it_and_is_meant_by_that_pools_queues() -> None:
    text = CLUSTER.replace(
        "nodes:\n", '  "a100@ext": {cards: whole}\nnodes:\n  - {name: x, flavor: a100, gpus: 8, pool: ext}\n'
    )
    text = text.replace("{name: main, tier: batch,", "{name: main, tier: batch, pool: ext,")

    read = cluster(text)

    own = read.flavor_index["a100@ext"]
    assert read.flavors[own].mode is CardMode.WHOLE
    assert read.nodes.flavor[read.node_index["x"]] == own
    assert next(node for node in read.tree if node.id == "b/main").nominal[own] == 16000
    assert read.flavors_for(["a100"], read.queue_index["b/main"]) == (own,)
    assert read.flavors_for([], read.queue_index["a/main"]) == (read.flavor_index["a100"],)


def test_a_flavor_whose_nodes_are_in_several_pools_is_one_flavor_a_pool() -> None:
    text = CLUSTER.replace("nodes:\n", "nodes:\n  - {name: x, flavor: a100, gpus: 8, pool: ext}\n")

    read = cluster(text)

    assert [flavor.name for flavor in read.flavors] == ["a100", "a100@ext"]
    assert read.flavors[1].vram_mib == read.flavors[0].vram_mib


def test_nodes_may_come_from_a_csv_beside_the_file() -> None:
    text = CLUSTER.replace("nodes:\n", "nodes_csv: nodes.csv\nnodes:\n")
    rows = "name,flavor,gpus,cpu,memory_gib,zone,rack\nm1,a100,2,8,64,z9,\nm0,,0,96,256,,\n"

    read = parse_cluster(text, "cluster.yaml", {"nodes.csv": rows}.__getitem__)

    assert read.nodes.names == ("m0", "m1", "n0", "n1", "n2", "n3")
    assert read.nodes.flavor.tolist()[:2] == [-1, 0]
    assert read.gpus[:2] == (0, 2)


def test_problems_of_a_nodes_csv_name_that_file_and_its_line() -> None:
    text = CLUSTER.replace("nodes:\n", "nodes_csv: nodes.csv\nnodes:\n")
    rows = "name,flavor,gpus,cpu,memory_gib,zone,rack\nm1,h100,2,8,64,z9,\nm1,a100,x,8,64,,\n"

    with pytest.raises(Exception, match=r"nodes.csv:2: flavor: unknown flavor 'h100'") as caught:
        parse_cluster(text, "cluster.yaml", {"nodes.csv": rows}.__getitem__)

    assert "nodes.csv:3: gpus: must be a whole number, is 'x'" in str(caught.value)
    assert "nodes.csv:3: name: node 'm1' is there twice" in str(caught.value)


WRONG = {
    "an unknown key is an error": ("currency: CNY", "curency: CNY", ":2: flavors.a100.curency: unknown key; known here:"),
    "a count that is no number": ("count: 4", "count: four", ":4: nodes[0].count: must be a whole number, is 'four'"),
    "more than 3 decimals": ("nominal: 16", "nominal: 1.2345", ".nominal: must be a number of cards with at most 3 decimals"),
    "a negative amount": ("nominal: 16", "nominal: -1", ".nominal: must be 0 or more, is -1"),
    "not a number at all": ("nominal: 16", "nominal: .nan", ".nominal: must be a number, is '.nan'"),
    "code in a name": ('"n{i}"', '"n{i.__class__}"', ":4: nodes[0].name: cannot read {i.__class__}"),
    "division by zero in a name": ("r{i//2}", "r{i//0}", ":4: nodes[0].name: division by zero"),
    "names that repeat": ('"n{i}"', '"n"', ":4: nodes[0].name: node 'n' is there twice"),
    "an unknown flavor of a node": ("flavor: a100", "flavor: h100", ":4: nodes[0].flavor: unknown flavor 'h100'; known: a100"),
    "an unknown flavor of a quota": ("{gpu: {a100", "{gpu: {h100", ":7: tenants[0].queues[0].quota.gpu.h100: unknown flavor"),
    "an unknown cohort": ("name: a, cohort: root", "name: a, cohort: rot", ":7: tenants[0].cohort: unknown cohort 'rot'"),
    "a card that the node does not have": ("gpus: 8", "gpus: 8, cards_out: [8]", ":4: nodes[0].cards_out: card indexes go from 0 to 7"),
    "a card mode that does not exist": ("cards: any", "cards: half", ":2: flavors.a100.cards: must be whole, shared, mig:PROFILE"),
    "a MIG profile that does not exist": ("cards: any", "cards: 'mig:8g'", ":2: flavors.a100.cards: must name a MIG profile such as mig:1g.10gb"),
    "a tenant named like a cohort": ("name: a, ", "name: root, ", ":7: tenants[0].name: cohort 'root' is there already"),
    "a key given twice": ("weight: 1.0", "weight: 1.0, weight: 2", ":2: flavors.a100.weight: given twice, first on line 2"),
    "a list where a mapping belongs": ("cohorts: [{name: root}]", "cohorts: {name: root}", ":5: cohorts: must be a list"),
    "a state that does not exist": ("gpus: 8", "gpus: 8, state: gone", ":4: nodes[0].state: must be one of ready, cordoned, lost"),
    "a cohort above itself": ("[{name: root}]", "[{name: root, parent: root}]", ":5: cohorts[0].parent: a cohort cannot be above itself"),
    "a factor that grants less than there is": ("nodes:\n", "pools: {shared: {factor: 0.9}}\nnodes:\n", ":3: pools.shared.factor: must be 1 or more"),
    "a low watermark above the high one": ("nodes:\n", "pools: {shared: {high: 0.5, low: 0.6}}\nnodes:\n", ":3: pools.shared.low: must not be above high"),
    "a turn that is too short": ("nodes:\n", "pools: {shared: {quantum_s: 59}}\nnodes:\n", ":3: pools.shared.quantum_s: must be between 60 and 86400, is 59"),
    "a turn that is too long": ("nodes:\n", "pools: {shared: {quantum_s: 86401}}\nnodes:\n", ":3: pools.shared.quantum_s: must be between 60 and 86400, is 86401"),
    "turns that are neither on nor off": ("nodes:\n", "pools: {shared: {time_sharing: some}}\nnodes:\n", ":3: pools.shared.time_sharing: must be true or false"),
    "text that is no YAML": ("nodes:", "nodes: [", "cluster.yaml:"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "want"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_cluster_file_is_refused_with_line_key_and_cause(old: str, new: str, want: str) -> None:
    assert old in CLUSTER

    found = cluster_problems(CLUSTER.replace(old, new, 1))

    assert any(want in problem for problem in found), found


def test_every_problem_is_listed_in_the_order_of_the_file() -> None:
    text = (
        CLUSTER.replace("currency: CNY", "colour: red")
        .replace("count: 4", "count: x")
        .replace("tier: batch", "tier: best")
    )

    found = cluster_problems(text)

    assert [problem.split(": ")[0] for problem in found] == ["cluster.yaml:2", "cluster.yaml:4", "cluster.yaml:8"]
