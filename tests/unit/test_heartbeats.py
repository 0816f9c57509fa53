"""What follows from heartbeats as one process sees them: late, lost, settling, deleted. F24, F26, F27."""

from datetime import UTC, datetime, timedelta

from scheduling.cluster.port import NodeLease, NodeObservation
from scheduling.control.heartbeats import Heartbeats, Vitals

BEGIN = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def a_node(name: str = "n0", *, ready: bool | None = True) -> NodeObservation:
    return NodeObservation(name, "u", ready, BEGIN, False, {}, "nvidia.com/gpu", 8, (), 1, 1, 1)


class Watch:
    """A node whose kubelet renews every ten seconds while it is `alive`, looked at every second."""

    def __init__(self) -> None:
        self.beats, self.at_s = Heartbeats(), 0
        self._renewed_s = 0

    def look(
        self, seconds: int, *, alive: bool = True, ready: bool | None = True, there: bool = True, step: int = 1
    ) -> Vitals:
        for _ in range(0, seconds, step):
            self.at_s += step
            if alive and self.at_s - self._renewed_s >= 10:
                self._renewed_s = self.at_s
            lease = NodeLease("n0", BEGIN + timedelta(seconds=self._renewed_s))
            vitals = self.beats.note(
                [lease] if there else [],
                [a_node(ready=ready)] if there else [],
                mono=float(self.at_s),
                at=BEGIN + timedelta(seconds=self.at_s),
                expected={"n0"},
            )
        return vitals


def said(vitals: Vitals) -> tuple[str, bool] | None:
    ailment = vitals.ailing.get("n0")
    return None if ailment is None else (ailment.why, ailment.lost)


def test_a_silent_node_is_first_late_and_then_lost_since_its_last_beat() -> None:
    """F24."""
    watch = Watch()
    watch.look(10)

    at = {seconds: watch.look(6, alive=False) for seconds in (16, 22, 28, 34)}

    assert [said(at[seconds]) for seconds in (16, 22)] == [None, None]
    assert said(at[28]) == ("silent", False)
    assert said(at[34]) == ("silent", True)
    assert at[34].ailing["n0"].last_sign == BEGIN + timedelta(seconds=10)


def test_ready_unknown_and_ready_false_count_alike_from_the_last_time_it_was_true() -> None:
    """F24."""
    for ready in (False, None):
        watch = Watch()
        watch.look(10)
        first, then = watch.look(15, ready=ready), watch.look(1, ready=ready)

        assert (said(first), said(then)) == (("not-ready", False), ("not-ready", True))
        assert then.ailing["n0"].last_sign == BEGIN + timedelta(seconds=10)


def test_a_node_that_was_lost_is_believed_only_when_it_has_stayed() -> None:
    """F26."""
    watch = Watch()
    watch.look(10)
    watch.look(17, ready=False)

    settling = [sorted(watch.look(seconds).settling) for seconds in (5, 9, 2)]

    assert settling == [["n0"], ["n0"], []]


def test_a_break_begins_the_wait_anew() -> None:
    """F26."""
    watch = Watch()
    watch.look(10)
    watch.look(17, ready=False)
    watch.look(12)
    watch.look(2, ready=False)

    assert watch.look(12).settling == {"n0"}


def test_a_deleted_node_is_lost_after_more_than_one_list_without_it() -> None:
    watch = Watch()
    watch.look(10)

    once, long = watch.look(1, there=False), watch.look(15, there=False)

    assert (said(once), said(long)) == (("deleted", False), ("deleted", True))
    assert long.ailing["n0"].last_sign == BEGIN + timedelta(seconds=10)


def test_time_in_which_nobody_could_list_proves_nothing() -> None:
    """F27."""
    watch = Watch()
    watch.look(10)
    watch.at_s += 60

    assert said(watch.look(17, alive=False)) is None
    assert said(watch.look(7, alive=False)) == ("silent", False)
