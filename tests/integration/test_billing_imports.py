"""Usage from elsewhere: counted once whatever happens to the file, and refused whole when anything is wrong: B12 to B24, B50."""

import random
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from billing.models import LedgerEntry, StatementLine
from billing.services.usage_import import import_usage
from scheduling.models import Card, ImportedEvent, Job, Lease, LeaseSegment, Node, Run
from tests.integration.money_world import MoneyWorld, amounts, cards, csv_of, hours, row

pytestmark = pytest.mark.django_db

HOUR = ("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z")


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld().with_prices()


def problems_of(*rows: str) -> list[str]:
    return [f"{problem.line}: {problem.column}: {problem.message}" for problem in import_usage(csv_of(rows)).problems]


def test_a_card_has_one_holder_at_a_time(world: MoneyWorld) -> None:
    """B12: two rows that touch are 12,600 s; a third that reaches one second into them is refused."""
    world.load(
        row("2026-04-10T14:30:00Z", "2026-04-10T16:00:00Z", job="a"),
        row("2026-04-10T16:00:00Z", "2026-04-10T18:00:00Z", job="b"),
    )

    refused = problems_of(row("2026-04-10T17:59:59Z", "2026-04-10T19:00:00Z", job="c"))

    assert refused == ["2: card: card 0 of n000 is held by more than one card, see usage that is stored"]
    assert sum(entry.seconds for entry in LedgerEntry.objects.all()) == 12_600


@pytest.mark.parametrize(
    "card",
    [
        pytest.param(["0", "0"], id="a whole card twice"),
        pytest.param(["0", "0:1/7"], id="a whole card and a seventh"),
        pytest.param(["0:4/7", "0:3/7", "0:1"], id="shares that are a milli-card too much"),
    ],
)
def test_rows_of_one_file_that_hold_too_much_of_a_card_are_listed(world: MoneyWorld, card: list[str]) -> None:
    """B12, B25."""
    refused = problems_of(*(row(*HOUR, card=each, job=str(number)) for number, each in enumerate(card)))

    assert refused == [
        f"{len(card) + 1}: card: card 0 of n000 is held by more than one card, see line 2",
    ]
    assert not Job.objects.exists()


def test_nothing_is_charged_after_a_nodes_last_sign_of_life(world: MoneyWorld) -> None:
    """B14: 8,160 card-seconds are 28.33; the 2,400 up to the detection are shown, at 0, as a platform fault."""
    world.load(
        *cards(
            8,
            "2026-04-10T10:00:00Z",
            "2026-04-10T10:22:00Z",
            reason="node-lost",
            last_alive="2026-04-10T10:17:00Z",
        )
    )

    lines = {line.kind: line for line in world.close("2026-04").lines.all()}

    assert (lines["usage"].quantity, lines["usage"].amount) == (Decimal(8_160 * 7000), Decimal("28.33"))
    assert (lines["excluded"].quantity, lines["excluded"].amount) == (Decimal(2_400 * 7000), Decimal(0))
    assert (lines["excluded"].reason, lines["excluded"].held_as) == ("platform-fault", "after-last-sign")
    assert lines["excluded"].worth == Decimal("8.33")


def test_a_row_delivered_four_times_bills_once(world: MoneyWorld, frozen_clock) -> None:
    """B15, B16: in one file, in another, and 40 days later."""
    once = cards(8, *HOUR)
    world.load(*once, *once)
    world.load(*once)
    frozen_clock("2026-06-11T00:00:00Z")

    again = world.load(*once)

    assert (again.new, again.repeated) == (0, 8)
    assert amounts(world.close("2026-04")) == ["100.00"]
    assert ImportedEvent.objects.count() == Lease.objects.count() == 8


def test_a_repeat_with_other_content_is_an_error(world: MoneyWorld) -> None:
    """B15."""
    world.load(row(*HOUR, event="x"))

    changed = problems_of(row(HOUR[0], "2026-04-10T12:00:00Z", event="x"))
    in_one_file = problems_of(row(*HOUR, event="y", card="1"), row(*HOUR, event="y", card="2"))

    assert changed == ["2: event_id: repeats what is stored with other content"]
    assert in_one_file == ["3: event_id: repeats line 2 with other content"]


def test_the_same_row_written_differently_is_a_repeat(world: MoneyWorld) -> None:
    """B15: another offset, another way to write a quarter."""
    world.load(row(*HOUR, event="x", card="1:250"))

    again = world.load(row("2026-04-10T18:00:00+08:00", "2026-04-10T19:00:00+08:00", event="x", card="1:1/4"))

    assert (again.new, again.repeated) == (0, 1)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_events_does_not_matter(world: MoneyWorld, seed: int) -> None:
    """B17: any order of rows, in any number of files, gives the same lines."""
    rows = [
        *cards(2, "2026-04-10T10:00:00Z", "2026-04-10T10:20:00Z", job="p", run=1, reason="preempted"),
        *cards(2, "2026-04-10T11:00:00Z", "2026-04-10T11:40:00Z", job="p", run=2),
        row("2026-04-10T12:00:00Z", "2026-04-10T13:00:01Z", job="q", card="0", borrowed=True),
        row("2026-04-10T10:30:00Z", "2026-04-10T10:50:00Z", job="q", card="1:3/7", run=2),
        row("2026-04-10T10:20:00Z", "2026-04-10T10:55:00Z", job="r", reason="node-lost", last_alive="2026-04-10T10:40:00Z"),
    ]  # fmt: skip
    random.Random(seed).shuffle(rows)
    split = random.Random(seed).randint(1, len(rows) - 1)
    world.load(*rows[:split])
    world.load(*rows[split:])

    statement = world.close("2026-04")

    found = sorted(
        (line.job_name, line.kind, line.borrowed, str(hours(line).quantize(Decimal("1.000000"))))
        for line in statement.lines.all()
    )
    assert found == [
        ("p", "usage", False, "2.000000"),
        ("q", "usage", False, "0.142857"),
        ("q", "usage", True, "1.000278"),
        ("r", "excluded", False, "0.250000"),
        ("r", "usage", False, "0.333333"),
    ]
    assert statement.total == Decimal("43.46")


def test_a_wrong_file_stores_nothing_and_lists_every_wrong_cell(world: MoneyWorld) -> None:
    """B23: the good rows are not stored either."""
    found = problems_of(
        row(*HOUR, card="5"),
        row(HOUR[1], HOUR[0], event="backwards", flavor="h900"),
        row(HOUR[0], HOUR[0], card="3", event="empty"),
        row(*HOUR, tenant="nobody", flavor="h900"),
        row(*HOUR, queue="nowhere"),
        row("2026-04-10T10:00:00", "soon", card="3:8/7", reason="bored", run=0),
        "too,few,cells",
        row(*HOUR, card="6", reason="succeeded", last_alive=HOUR[0]),
    )

    assert [line.split(": ", 2)[:2] for line in found] == [
        ["3", "end"],
        ["3", "flavor"],
        ["4", "end"],
        ["5", "flavor"],
        ["5", "tenant"],
        ["6", "queue"],
        ["7", "card"],
        ["7", "end"],
        ["7", "end_reason"],
        ["7", "run"],
        ["7", "start"],
        ["8", "row"],
        ["9", "last_alive"],
    ]
    assert [model.objects.count() for model in (Job, Node, LedgerEntry)] == [0, 0, 0]


FROM_TO = "is not from 2000-01-01 to 2200-01-01"


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("start", "end", "want"),
    [
        ("0001-01-01T00:00:00+23:59", HOUR[1], f"start: '0001-01-01T00:00:00+23:59' {FROM_TO}"),
        ("1999-12-31T23:59:59Z", HOUR[1], f"start: '1999-12-31T23:59:59Z' {FROM_TO}"),
        (HOUR[0], "9999-12-31T23:59:60Z", f"end: '9999-12-31T23:59:60Z' {FROM_TO}"),
        (HOUR[0], "9999-12-31T00:00:00-23:00", f"end: '9999-12-31T00:00:00-23:00' {FROM_TO}"),
        (HOUR[0], "2199-01-01T00:00:00Z", "end: after 2028-05-02T00:00:00Z"),
        (HOUR[0], "2028-05-02T00:00:01Z", "end: after 2028-05-02T00:00:00Z"),
    ],
)
def test_usage_of_another_age_is_refused_in_one_line_by_both_runs(
    world: MoneyWorld, tmp_path, capsys, dry_run: bool, start: str, end: str, want: str
) -> None:
    file = tmp_path / "usage.csv"
    file.write_text("\n".join(csv_of([row(start, end)])), encoding="utf-8")

    with pytest.raises(CommandError, match="1 problem; nothing was stored") as stopped:
        call_command("import_usage", str(file), *(["--dry-run"] if dry_run else []))

    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith(str(file))]
    assert stopped.value.returncode == 2
    assert told == [f"{file}:2: {want}"]
    assert not Job.objects.exists()


def test_usage_that_ends_now_is_taken(world: MoneyWorld) -> None:
    assert world.load(row("2026-05-01T23:00:00Z", "2026-05-02T00:00:00Z")).new == 1


def test_names_that_cannot_be_seen_are_refused(world: MoneyWorld) -> None:
    assert problems_of(row(*HOUR, job="a\u202eb"), row(*HOUR, user="\u200b")) == [
        "2: job: holds a character that cannot be seen, U+202E",
        "3: user: holds a character that cannot be seen, U+200B",
    ]


def test_a_month_of_another_age_cannot_be_closed(world: MoneyWorld) -> None:
    with pytest.raises(CommandError, match="9999-12 is not a month from 2000-01 to 2199-12"):
        call_command("close_period", "9999-12")


def test_a_header_that_is_none_is_said_so(world: MoneyWorld) -> None:
    found = import_usage(["a,b,c", row(*HOUR)]).problems

    assert [(problem.line, problem.column) for problem in found] == [(1, "header")]


def test_a_dry_run_stores_nothing(world: MoneyWorld) -> None:
    done = import_usage(csv_of([row(*HOUR)]), dry_run=True)

    assert (done.new, done.problems) == (1, [])
    assert not Job.objects.exists()


def test_an_imported_job_can_be_walked_down_to(world: MoneyWorld) -> None:
    """B50, BIL-08: line → entry → segment → lease → pod → node and card; the job is terminal and says its source."""
    from billing.selectors.documents import entries_of

    world.load(*cards(2, "2026-04-10T22:00:00Z", "2026-04-11T02:00:00Z", job="4711", run=3, reason="failed"))
    line = world.close("2026-04").lines.get()

    job = Job.objects.get()
    entries = list(entries_of(line))
    assert (job.source, job.source_ref, job.state, job.end_reason) == ("slurm", "algo/4711", "failed", "failed")
    assert [run.number for run in Run.objects.filter(job=job)] == [3]
    assert sum(entry.seconds * entry.cards_u7000 for entry in entries) == line.quantity == 8 * 3600 * 7000
    assert line.job == job
    leases = Lease.objects.filter(segments__in=[entry.segment_id for entry in entries])
    assert set(leases.values_list("pod__name", flat=True)) == {f"j{job.pk}-r3-imported-0"}
    assert set(leases.values_list("node__name", "card__index")) == {("n000", 0), ("n000", 1)}
    assert line.rate is not None
    assert line.rate.price == Decimal("12.50")


def test_what_only_an_import_knows_is_never_capacity(world: MoneyWorld) -> None:
    """A node of the past must not be planned on."""
    world.load(row(*HOUR, node="gone"))

    node = Node.objects.get(name="gone")
    assert (node.state, node.gpus, node.cordoned) == ("lost", 0, True)
    assert [card.health for card in Card.objects.filter(node=node)] == ["failed"]


def test_the_cost_of_an_imported_job_is_final(world: MoneyWorld) -> None:
    world.load(*cards(8, *HOUR))

    job = Job.objects.get()
    assert (job.cost_amount, job.cost_currency, job.cost_final) == (Decimal("100.00"), "CNY", True)


def test_a_job_has_one_queue_and_one_user(world: MoneyWorld) -> None:
    found = problems_of(row(*HOUR, job="1", user="ann"), row(*HOUR, job="1", user="bob", card="1"))

    assert found == ["3: user: job 1 is of another user"]


def test_two_tenants_may_call_their_jobs_the_same(world: MoneyWorld) -> None:
    world.add_tenant("beta")
    world.load(row(*HOUR, job="1"), row(*HOUR, job="1", tenant="beta", card="1"))

    assert Job.objects.count() == 2


def test_segments_are_stored_in_the_times_of_the_source(world: MoneyWorld) -> None:
    """B20: the end is the cluster's own, to the microsecond; only the bill floors it."""
    world.load(row("2026-04-10T10:00:00.25Z", "2026-04-10T12:00:00.75Z"))

    during = LeaseSegment.objects.get().during
    assert (during.upper - during.lower).total_seconds() == 7200.5
    assert LedgerEntry.objects.get().seconds == 7200


def test_the_command_says_where_a_file_is_wrong(world: MoneyWorld, tmp_path, capsys) -> None:
    """FILE:LINE: column: what; exit 2."""
    file = tmp_path / "usage.csv"
    file.write_text("\n".join(csv_of([row(*HOUR), row(HOUR[1], HOUR[0])])))

    with pytest.raises(CommandError, match="nothing was stored") as stopped:
        call_command("import_usage", str(file))

    assert stopped.value.returncode == 2
    assert f"{file}:3: end: not after the start" in capsys.readouterr().err


def test_the_commands_import_and_close(world: MoneyWorld, tmp_path, capsys) -> None:
    file = tmp_path / "usage.csv"
    file.write_text("\n".join(csv_of(cards(8, *HOUR))))

    call_command("import_usage", str(file))
    call_command("close_period", "2026-04")
    call_command("close_period", "2026-04", tenant="algo")

    out = capsys.readouterr().out
    assert "8 rows: 8 new, 0 known" in out
    assert out.count("algo: 000001 100.00 CNY") == 2
    assert StatementLine.objects.count() == 1
    with pytest.raises(CommandError, match="cannot be closed before"):
        call_command("close_period", "2026-05", tenant="algo")
