"""A timeline tells each state at its own instant, not at the one when the loop wrote it down."""

from datetime import UTC, datetime, timedelta

from scheduling.models import Job, Run
from scheduling.selectors.job_events import JobEvent
from scheduling.selectors.job_times import by_cluster_clock

TEN = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return TEN + timedelta(minutes=minutes)


def test_states_that_were_seen_late_stand_where_they_happened() -> None:
    """Pods of a past that was loaded at once: admitted and started at the same instant, seen an hour later."""
    events = [JobEvent(at(0), "job", "queued"), JobEvent(at(5), "job", "starting"), JobEvent(at(65), "job", "running")]
    run = Run(number=1, admitted_at=at(5), started_at=at(5))

    told = by_cluster_clock(Job(submitted_at=at(0)), events, [run])

    assert [(event.code, event.at) for event in told] == [("queued", at(0)), ("starting", at(5)), ("running", at(5))]


def test_each_run_has_its_own_instants_and_none_goes_before_the_state_that_it_follows() -> None:
    codes = ["queued", "starting", "running", "queued", "starting", "running", "succeeded"]
    seen = [0, 2, 4, 12, 14, 17, 31]
    events = [JobEvent(at(minute), "job", code) for minute, code in zip(seen, codes, strict=True)]
    runs = [
        Run(number=1, admitted_at=at(1), started_at=at(3), ended_at=at(10)),
        Run(number=2, admitted_at=at(13), started_at=at(16), ended_at=at(30)),
    ]

    told = by_cluster_clock(Job(submitted_at=at(0), ended_at=at(30)), events, runs)

    assert [event.code for event in told] == codes
    assert [event.at for event in told] == [at(minute) for minute in (0, 1, 3, 10, 13, 16, 30)]
