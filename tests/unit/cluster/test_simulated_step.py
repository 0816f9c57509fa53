"""The simulated cluster behaves as machines would: exact run times, graces, silence, and no over-allocation."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.cluster.port import PodKey, PodPhase, ResultKind, RunResult
from scheduling.cluster.readings import heartbeat, observe_pod, read_cards
from scheduling.cluster.run_spec import PodSpec
from scheduling.cluster.simulated import step
from scheduling.cluster.virtual import (
    AnnotatePod,
    ClusterState,
    Command,
    CreateRun,
    DeletePod,
    DeleteRun,
    FailNode,
    NodeFailure,
    RecoverNode,
    SetCardHealth,
    VirtualPod,
)
from tests.unit.cluster.builders import NOW, a_cluster, a_node, a_role, a_run, after

KEY = PodKey("algo-a-prod", "j7-r1-worker-0")


def play(state: ClusterState, *moves: tuple[float, Command | None]) -> ClusterState:
    """Apply `(seconds, command)` moves in order; None only lets time pass."""
    for seconds, command in moves:
        commands = () if command is None else (command,)
        state = step(state, commands, now=after(seconds), wall=after(seconds)).state
    return state


def started(labels: dict[str, str] | None = None, **changes: object) -> ClusterState:
    return play(a_cluster(), (0, CreateRun(a_run(labels=labels, **changes))), (1, None))


def pod(state: ClusterState) -> VirtualPod:
    return state.pods[KEY]


def stop(state: ClusterState, grace_s: int, *, force: bool = False) -> DeletePod:
    return DeletePod(KEY, pod(state).uid, timedelta(seconds=grace_s), force=force)


def test_a_pod_runs_exactly_as_long_as_its_label_says() -> None:
    state = play(a_cluster(), (0.25, CreateRun(a_run(labels={"berth.dev/sim-duration": "120"}))), (0.9, None))
    assert pod(state).phase is PodPhase.PENDING

    state = play(state, (1, None))
    assert (pod(state).phase, pod(state).start_at) == (PodPhase.RUNNING, after(1))

    state = play(state, (5000, None))
    assert (pod(state).phase, pod(state).finished_at, pod(state).exit_code) == (PodPhase.SUCCEEDED, after(121), 0)


def test_without_a_duration_it_runs_until_it_is_stopped() -> None:
    assert pod(play(started(), (1e6, None))).phase is PodPhase.RUNNING


@pytest.mark.parametrize(
    ("labels", "want_end"), [({}, 301), ({"berth.dev/sim-duration": "120"}, 121)], ids=["expected", "label-wins"]
)
def test_without_a_label_a_pod_runs_as_long_as_its_owner_expects(labels: dict[str, str], want_end: int) -> None:
    state = play(a_cluster(), (0.25, CreateRun(a_run(labels=labels, expected_runtime_s=300))), (5000, None))

    assert (pod(state).phase, pod(state).finished_at) == (PodPhase.SUCCEEDED, after(want_end))


@pytest.mark.parametrize(
    ("outcome", "want_code", "want_reason", "want_text"),
    [
        ("failed", 1, "Error", ""),
        ("oom", 137, "OOMKilled", ""),
        ("gpu-oom", 1, "Error", "CUDA out of memory"),
    ],
)
def test_it_ends_as_its_label_says(outcome: str, want_code: int, want_reason: str, want_text: str) -> None:
    ended = pod(play(started({"berth.dev/sim-duration": "10", "berth.dev/sim-outcome": outcome}), (60, None)))

    assert (ended.phase, ended.exit_code, ended.reason) == (PodPhase.FAILED, want_code, want_reason)
    assert want_text in ended.message


@pytest.mark.parametrize(
    ("labels", "grace_s", "want_left_s", "want_exit"),
    [
        ({}, 300, 15, 143),
        ({}, 3, 13, 137),
        ({"berth.dev/sim-stop-delay": "40"}, 300, 50, 143),
        ({"berth.dev/sim-stop-delay": "400"}, 300, 310, 137),
    ],
)
def test_a_stopped_pod_leaves_within_its_grace(
    labels: dict[str, str], grace_s: int, want_left_s: int, want_exit: int
) -> None:
    """F29."""
    state = started(labels)

    state = play(state, (10, stop(state, grace_s)), (want_left_s - 0.001, None))
    assert not pod(state).removed
    state = play(state, (want_left_s, None))

    assert (pod(state).removed, pod(state).finished_at, pod(state).exit_code) == (True, after(want_left_s), want_exit)


def test_a_second_delete_never_lengthens_a_grace_and_may_shorten_it() -> None:
    state = started({"berth.dev/sim-stop-delay": "1000"})

    longer = play(state, (10, stop(state, 30)), (12, stop(state, 300)), (40, None))
    shorter = play(state, (10, stop(state, 300)), (12, stop(state, 5)), (17, None))

    assert pod(longer).finished_at == after(40)
    assert pod(shorter).finished_at == after(17)


def test_a_pod_that_ends_by_itself_inside_its_grace_has_succeeded() -> None:
    """F32."""
    state = started({"berth.dev/sim-duration": "12", "berth.dev/sim-stop-delay": "100"})

    state = play(state, (10, stop(state, 300)), (60, None))

    assert (pod(state).phase, pod(state).finished_at, pod(state).removed) == (PodPhase.SUCCEEDED, after(12), True)


def test_a_stuck_pod_stays_until_it_is_forced_out() -> None:
    """F28."""
    state = started({"berth.dev/sim-stop-delay": "never"})

    state = play(state, (10, stop(state, 30)), (9000, None))
    assert (pod(state).removed, pod(state).phase) == (False, PodPhase.RUNNING)
    state = play(state, (9001, stop(state, 0, force=True)))

    assert pod(state).removed


def test_deleting_the_owner_removes_every_pod_of_the_run_with_its_own_grace() -> None:
    run = a_run(nodes=("n0", "n1"), labels={"berth.dev/sim-stop-delay": "500"}, grace_s=30)
    state = play(a_cluster(a_node("n0"), a_node("n1")), (0, CreateRun(run)), (1, None))

    state = play(state, (10, DeleteRun("algo-a-prod", "j7-r1")), (40, None))

    assert [each.finished_at for each in state.pods.values()] == [after(40), after(40)]
    assert not state.services


def test_a_name_in_use_answers_with_the_same_uid_and_a_freed_one_with_a_new() -> None:
    """F03."""
    state = started()
    first = pod(state).uid

    repeat = step(state, (CreateRun(a_run()),), now=after(2), wall=after(2))
    assert isinstance(repeat.outcomes[0], RunResult)
    assert [(made.kind, made.uid) for made in repeat.outcomes[0].pods] == [(ResultKind.EXISTS, first)]

    state = play(state, (3, stop(state, 0, force=True)), (4, CreateRun(a_run())))
    assert pod(state).uid != first
    assert not pod(state).removed


def test_a_silent_node_freezes_what_is_seen_and_its_return_tells_late() -> None:
    """F25."""
    state = started({"berth.dev/sim-duration": "60"})

    state = play(state, (30, FailNode("n0", NodeFailure.SILENT)), (500, None))
    seen = observe_pod(pod(state), state.nodes["n0"], now=after(500))
    assert (seen.phase, seen.last_sign) == (PodPhase.RUNNING, after(30))
    assert heartbeat(state.nodes["n0"], wall=after(500)).renewed_at == after(30)

    state = play(state, (600, RecoverNode("n0")), (601, None))
    assert (pod(state).phase, pod(state).finished_at) == (PodPhase.SUCCEEDED, after(60))


def test_a_delete_that_a_silent_node_missed_is_seen_on_its_return() -> None:
    state = started()

    state = play(state, (10, FailNode("n0", NodeFailure.SILENT)), (20, stop(state, 30)), (400, None))
    assert not pod(state).removed
    state = play(state, (500, RecoverNode("n0")), (505, None))

    assert pod(state).removed


def test_a_node_is_never_over_allocated() -> None:
    state = started()

    state = play(state, (5, CreateRun(a_run(job=8, role=a_role(cards=1)))), (6, None))

    refused = state.pods[PodKey("algo-a-prod", "j8-r1-worker-0")]
    assert (refused.phase, refused.reason, refused.start_at) == (PodPhase.FAILED, "OutOfnvidia.com/gpu", None)


def test_a_node_takes_no_more_pods_than_it_may() -> None:
    small = a_role(cards=0, cpu_millicores=100, memory_mib=10)
    state = play(
        a_cluster(a_node(max_pods=1)),
        (0, CreateRun(a_run(role=small))),
        (0, CreateRun(a_run(job=8, role=small))),
        (1, None),
    )

    assert [each.reason for each in state.pods.values()] == ["", "OutOfpods"]


def test_a_failed_card_takes_no_pod_and_a_recovered_one_does() -> None:
    run = CreateRun(a_run())

    broken = play(a_cluster(), (0, SetCardHealth("n0", 3, healthy=False)), (1, run), (2, None))
    mended = play(
        a_cluster(),
        (0, SetCardHealth("n0", 3, healthy=False)),
        (1, SetCardHealth("n0", 3, healthy=True)),
        (1, run),
        (2, None),
    )

    assert pod(broken).phase is PodPhase.FAILED
    assert pod(mended).cards == tuple(range(8))


def test_a_pod_gets_the_slots_the_plan_named_when_they_are_free() -> None:
    run = a_run(role=a_role(cards=2))
    run = replace(
        run, pods=({**run.pods[0], "metadata": {**run.pods[0]["metadata"], "annotations": {"berth.dev/cards": "5,6"}}},)
    )

    state = play(a_cluster(), (0, CreateRun(run)), (1, None))

    assert pod(state).cards == (5, 6)


def test_a_card_is_given_out_once_for_each_instance_that_it_is_cut_into() -> None:
    """SCH-13: what the plan named where it is free, and never more of a card than it has."""
    node = replace(a_node(cards=2), resource_name="nvidia.com/mig-3g.40gb")
    pods = [(1, 2, (0, 0)), (2, 1, (0,)), (3, 1, (1,)), (4, 1, (1,))]
    roles = {job: a_role(cards=count, resource_name=node.resource_name) for job, count, _ in pods}
    runs = [a_run(job=job, role=roles[job], pods=(PodSpec("worker", 0, 0, "n0", cards),)) for job, _, cards in pods]

    state = play(a_cluster(node), *((0, CreateRun(run)) for run in runs), (5, None))

    found = [state.pods[PodKey("algo-a-prod", f"j{job}-r1-worker-0")] for job, *_ in pods]
    assert [(each.phase.value, each.cards) for each in found] == [
        ("Running", (0, 0)),
        ("Running", (1,)),
        ("Running", (1,)),
        ("Failed", ()),
    ]
    assert (found[3].reason, found[3].message) == (
        "OutOfnvidia.com/mig-3g.40gb",
        "Node didn't have enough resource: nvidia.com/mig-3g.40gb, requested: 1, used: 4, capacity: 4",
    )


def test_cards_report_the_utilisation_of_the_label_and_nothing_without_it() -> None:
    busy = started({"berth.dev/sim-utilisation": "0.85"})
    unknown = started()

    reading = read_cards(pod(busy), busy.nodes["n0"], now=after(2))
    assert reading is not None
    assert reading.utilisation_ppm == 850_000
    assert read_cards(pod(unknown), unknown.nodes["n0"], now=after(2)) is None


def test_an_eviction_notice_stays_on_the_pod() -> None:
    state = started()

    state = play(state, (3, AnnotatePod(KEY, pod(state).uid, {"berth.dev/evict-reason": "reclaim-nominal"})))

    assert pod(state).annotations["berth.dev/evict-reason"] == "reclaim-nominal"


@pytest.mark.parametrize("labels", [{"berth.dev/sim-duration": "long"}, {"berth.dev/sim-outcome": "maybe"}])
def test_a_label_that_cannot_be_read_is_refused(labels: dict[str, str]) -> None:
    outcome = step(a_cluster(), (CreateRun(a_run(labels=labels)),), now=NOW, wall=NOW).outcomes[0]

    assert isinstance(outcome, RunResult)
    assert outcome.refusal is not None


moves = st.lists(
    st.tuples(
        st.integers(0, 40), st.sampled_from(["create", "stop", "force", "fail", "recover", "card"]), st.integers(0, 3)
    ),
    max_size=25,
)


def command_for(state: ClusterState, kind: str, number: int) -> Command | None:
    key = PodKey("algo-a-prod", f"j{number}-r1-worker-0")
    known = state.pods.get(key)
    match kind:
        case "create":
            role = a_role(cards=3, cpu_millicores=1000)
            labels = {"berth.dev/sim-duration": str(7 * number + 3)}
            return CreateRun(a_run(job=number, role=role, labels=labels, nodes=(f"n{number % 2}",)))
        case "stop" | "force":
            return None if known is None else DeletePod(key, known.uid, timedelta(seconds=9), force=kind == "force")
        case "fail":
            return FailNode(f"n{number % 2}", NodeFailure.SILENT)
        case "recover":
            return RecoverNode(f"n{number % 2}")
        case _:
            return SetCardHealth(f"n{number % 2}", number, healthy=False)


@given(moves)
@settings(max_examples=60, deadline=None)
def test_no_card_is_ever_held_twice_and_no_time_runs_backwards(plan: list[tuple[int, str, int]]) -> None:
    state, clock = a_cluster(a_node("n0"), a_node("n1")), 0
    for wait, kind, number in plan:
        clock += wait
        command = command_for(state, kind, number)
        state = play(state, (clock, command))
        for name in state.nodes:
            held = [card for each in state.pods.values() if each.node == name and each.live for card in each.cards]
            assert len(held) == len(set(held))
        for each in state.pods.values():
            assert each.start_at is None or each.finished_at is None or each.start_at <= each.finished_at
