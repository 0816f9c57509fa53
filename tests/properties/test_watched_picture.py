"""Between two lists a picture follows the watch: whatever a watch may do wrong, after the next whole telling it shows what is there.

The cluster here is a stand-in that keeps a log of changes as an API server does and tells it again, doubled and out of order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from threading import Event, Lock
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.cluster.port import (
    Capabilities,
    ChangeKind,
    Listing,
    NodeLease,
    NodeObservation,
    PodChange,
    PodKey,
    PodObservation,
    PodPhase,
    WatchExpiredError,
)
from scheduling.control import picture
from scheduling.control.picture import Picture

AT = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = ("a", "b", "c")
STEPS = st.lists(
    st.tuples(st.sampled_from(["make", "run", "end", "delete", "look", "look", "forget"]), st.sampled_from(NAMES)),
    max_size=40,
)


@dataclass
class LoggedCluster:
    """Pods, every change ever made to them, and how many lists were asked for."""

    random: Random
    pods: dict[str, PodObservation] = field(default_factory=dict)
    log: list[PodChange] = field(default_factory=list)
    kept_from: int = 0
    lists: int = 0
    is_silent: bool = False
    at_once: int = 1
    may_answer: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def capabilities(self) -> Capabilities:
        return Capabilities(True, True, False, False, self.at_once)

    def do(self, what: str, name: str) -> None:
        there = self.pods.get(name)
        if what == "make" and there is None:
            uid = f"{name}-{len(self.log)}"
            self._tell(ChangeKind.ADDED, PodObservation(PodKey("ns", name), uid, {}, "n1", PodPhase.PENDING, AT, AT))
        elif what in ("run", "end") and there is not None:
            phase = PodPhase.RUNNING if what == "run" else PodPhase.SUCCEEDED
            self._tell(ChangeKind.MODIFIED, replace(there, phase=phase))
        elif what == "delete" and there is not None:
            self._tell(ChangeKind.DELETED, there)
        elif what == "forget":
            self.kept_from = len(self.log)

    def _tell(self, kind: ChangeKind, pod: PodObservation) -> None:
        with self._lock:
            if kind is ChangeKind.DELETED:
                del self.pods[pod.key.name]
            else:
                self.pods[pod.key.name] = pod
            self.log.append(PodChange(kind, pod, str(len(self.log) + 1)))

    def list_pods(self, *, timeout_s: float) -> Listing[PodObservation]:
        self.lists += 1
        with self._lock:
            listing = Listing(tuple(self.pods[name] for name in sorted(self.pods)), str(len(self.log)), AT)
        assert self.may_answer.wait(60)
        return listing

    def watch_pods(self, cursor: str, *, timeout_s: float) -> list[PodChange]:
        if int(cursor) < self.kept_from:
            raise WatchExpiredError("too old resource version")
        if self.is_silent:
            return []
        told = self.log[int(cursor) :]
        told += self.random.sample(self.log, min(2, len(self.log)))
        self.random.shuffle(told)
        return told


@pytest.fixture
def costly_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with thousands of pods: a list is asked for once a minute."""
    monkeypatch.setattr(picture, "COST_SHARE", 10**9)


@pytest.fixture
def lists_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each list counts as long, and the next one is due at once."""
    monkeypatch.setattr(picture, "LONG_S", -1.0)
    monkeypatch.setattr(picture, "COST_SHARE", 0)


@pytest.fixture(autouse=True)
def _at_rest() -> Iterator[None]:
    with picture.clock.frozen_at(AT):
        yield


@pytest.mark.usefixtures("costly_lists")
@settings(max_examples=200)
@given(STEPS, st.integers(0, 2**16))
def test_what_was_seen_is_what_is_there_and_no_end_is_missed(steps: list[tuple[str, str]], seed: int) -> None:
    """F19, F20: doubled and reordered changes, and a watch that is too old."""
    cluster, seen = LoggedCluster(Random(seed)), Picture()
    port: Any = cluster
    told: set[str] = set()
    seen.look(port, None)
    expired = False
    for what, name in [*steps, ("look", "a")]:
        if what != "look":
            cluster.do(what, name)
            expired = expired or what == "forget"
            continue
        look = seen.look(port, None)
        told |= set(look.deleted)
        assert {(pod.uid, pod.phase) for pod in look.pods.items} == {
            (pod.uid, pod.phase) for pod in cluster.pods.values()
        }
    gone = {change.pod.uid for change in cluster.log if change.kind is ChangeKind.DELETED and change.pod is not None}
    assert told <= gone
    assert expired or (told == gone and cluster.lists == 1)


@pytest.mark.usefixtures("lists_in_threads")
@settings(max_examples=100, deadline=None)
@given(STEPS, st.integers(0, 2**16))
def test_lists_that_come_in_meanwhile_change_nothing_of_that(steps: list[tuple[str, str]], seed: int) -> None:
    """F19: whenever they were asked for, and whenever they come."""
    cluster, seen = LoggedCluster(Random(seed), at_once=8), Picture()
    port: Any = cluster
    seen.look(port, None)
    for what, name in [*steps, ("look", "a")]:
        cluster.do(what, name)
        if what == "look":
            look = seen.look(port, None)
            found = {(pod.uid, pod.phase) for pod in look.pods.items}
            assert found == {(pod.uid, pod.phase) for pod in cluster.pods.values()}


@pytest.mark.usefixtures("lists_in_threads")
def test_a_list_that_takes_long_holds_up_nothing() -> None:
    """Thousands of pods take seconds to list; an end is seen meanwhile."""
    cluster, seen = LoggedCluster(Random(1), at_once=8), Picture()
    port: Any = cluster
    seen.look(port, None)
    cluster.may_answer.clear()
    cluster.do("make", "a")
    seen.look(port, None)
    cluster.do("end", "a")

    (pod,) = seen.look(port, None).pods.items
    cluster.may_answer.set()

    assert (pod.phase, cluster.lists) == (PodPhase.SUCCEEDED, 2)


@pytest.mark.usefixtures("costly_lists")
def test_a_silent_watch_is_believed_no_longer_than_to_the_next_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """F19: nothing is told, and nothing seems to happen; the list that is due shows it."""
    cluster, seen = LoggedCluster(Random(1)), Picture()
    port: Any = cluster
    seen.look(port, None)
    cluster.is_silent = True
    cluster.do("make", "a")

    assert seen.look(port, None).pods.items == ()
    now = picture.clock.monotonic()
    monkeypatch.setattr(picture.clock, "monotonic", lambda: now + picture.LONGEST_S)

    assert [pod.key.name for pod in seen.look(port, None).pods.items] == ["a"]


@pytest.mark.usefixtures("costly_lists")
@pytest.mark.parametrize("fault", ["not-ready", "silent"])
def test_pods_are_listed_again_at_once_where_a_node_is_not_well(fault: str) -> None:
    """Section 6: what is known of the last sign of life of its pods has to be asked for."""
    cluster, seen = LoggedCluster(Random(1)), Picture()
    port: Any = cluster
    seen.look(port, None)
    lease = NodeLease("n1", AT)
    began = picture.clock.monotonic()
    seen.note_nodes([_node(ready=True)], [lease], mono=began - picture.SILENT_AFTER_S)
    seen.look(port, None)
    assert cluster.lists == 1

    if fault == "silent":
        seen.note_nodes([_node(ready=True)], [lease], mono=began + 1)
    else:
        seen.note_nodes([_node(ready=False)], [NodeLease("n1", AT + timedelta(seconds=10))], mono=began + 1)
    seen.look(port, None)

    assert cluster.lists == 2


def _node(*, ready: bool) -> NodeObservation:
    return NodeObservation("n1", "u1", ready, AT, False, {}, "nvidia.com/gpu", 8, (), 8000, 8192, 110)
