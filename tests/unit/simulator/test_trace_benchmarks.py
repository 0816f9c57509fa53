"""The lists that benchmarks replay: made alike every time, with the sums they promise; and how quotas are cut and figures told."""

import pytest

from benchmarks import helios, kueue_shapes, long_replay, philly, thirty_to_seventy, trace_pictures
from benchmarks.replays import run_list, split_whole, table
from scheduling.engine.policy import PRESETS


@pytest.mark.parametrize(
    ("weights", "least", "want"),
    [
        pytest.param({"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 5, "b": 5}, id="in proportion"),
        pytest.param({"a": 9, "b": 1}, {"a": 1, "b": 4}, {"a": 6, "b": 4}, id="nobody below its least"),
        pytest.param({"a": 1, "b": 1, "c": 1}, dict.fromkeys("abc", 0), {"a": 4, "b": 3, "c": 3}, id="ties by name"),
        pytest.param(
            {"a": 8, "b": 1, "c": 1}, {"a": 0, "b": 4, "c": 2}, {"a": 4, "b": 4, "c": 2}, id="again until nobody is"
        ),
    ],
)
def test_whole_parts_add_up(weights: dict[str, int], least: dict[str, int], want: dict[str, int]) -> None:
    assert split_whole(10, weights, least) == want


def test_the_philly_stretch_is_the_published_one() -> None:
    jobs = philly.read_jobs()

    assert len(jobs) == 24_065
    assert len({job.tenant for job in jobs}) == 11
    quota = philly.quotas(jobs)
    assert sum(quota.values()) == 576
    assert all(quota[job.tenant] >= job.cards for job in jobs)


def test_the_philly_goals_are_judged_against_fixed_quotas() -> None:
    fixed = {"p90_queue_s": 100, "worst_tenant_mean_queue_s": 10, "jain_tenants": 0.5}
    ours = {"p90_queue_s": 50, "worst_tenant_mean_queue_s": 11, "jain_tenants": 0.6}

    assert list(philly.goals({"default": ours, "static-quota": fixed}).values()) == [True, False, True]


def test_the_helios_series_waits_beside_idle_cards_as_published() -> None:
    steps = helios.read_steps()

    assert len(steps) == 2880
    assert round(sum(sum(step.pending.values()) for step in steps) / len(steps), 1) == 54.5
    assert {sum(step.quota.values()) for step in steps} == {856}
    assert helios.Step({"a": 8, "b": 8}, {"a": 8, "b": 2}, {"a": 10, "b": 0}).servable() == 6


def test_borrowing_serves_what_idle_quota_could_and_owners_wait_no_longer_than_the_grace() -> None:
    quota = {"a": 8, "b": 8}
    steps = [
        helios.Step(quota, {"a": 8, "b": 0}, {"a": 8, "b": 0}),
        helios.Step(quota, {"a": 8, "b": 4}, {"a": 8, "b": 0}),
    ]

    borrowing, fixed = (helios.measure(PRESETS[name], steps) for name in ("default", "static-quota"))

    assert borrowing["served_pct"] == 100
    assert fixed["served_pct"] == 0
    assert borrowing["owner_wait_s"] == {"asked": 12, "waited": 4, "longest": 300, "mean_of_those": 300}
    assert borrowing["evictions"] == 4


def test_kueues_generator_is_whole_and_asks_for_66_seconds_of_each_queue() -> None:
    workloads = list(kueue_shapes.workloads(5))

    assert len(workloads) == 15_000
    assert kueue_shapes.FLOOR_S == 66
    units = sum(int(str(row["cpu_per_pod"])) * float(str(row["duration_s"])) for row in workloads)
    assert round(units) == 66 * 30 * 20


def test_lists_from_a_seed_are_the_same_every_time() -> None:
    scene = long_replay.Scene(jobs=200)

    assert long_replay.jobs_text(scene) == long_replay.jobs_text(scene)
    assert long_replay.jobs_text(scene) != long_replay.jobs_text(long_replay.Scene(jobs=200, seed=2))
    assert sum(long_replay.split(1024, [2, 2, 1])) == 1024
    assert list(thirty_to_seventy.jobs_of(1, 1)) == list(thirty_to_seventy.jobs_of(1, 1))
    assert sum(thirty_to_seventy.NOMINAL.values()) == thirty_to_seventy.NODES * thirty_to_seventy.CARDS


def test_use_is_told_of_the_days_on_which_jobs_keep_coming() -> None:
    cluster = "flavors: {a: {cards: any}}\nnodes: [{count: 1, name: n, flavor: a, gpus: 2}]\ntenants: [{name: t, queues: [{name: main}]}]\n"
    jobs = f"job_id,tenant,queue,submit_s,duration_s,pods,gpus_per_pod\nj1,t,main,0,{2 * 86_400},1,1\n"

    run, summary = run_list(cluster, jobs, PRESETS["fifo"])

    assert thirty_to_seventy.use_pct(run, 1) == 50
    assert summary["finished"] == 1


def test_tables_are_aligned() -> None:
    assert table(("", "s"), [("default", 7), ("fifo", 12)]) == "          s\ndefault   7\nfifo     12"


def test_a_picture_has_a_bar_for_each_row() -> None:
    result = {"floor_s": 66, "berth": {"makespan_s": 66.5}, "kueue": {"published": {"makespan_s": 351}}}

    picture = "\n".join(trace_pictures.draw(*trace_pictures.of_kueue_shapes(result)))

    assert picture.count("<rect") == 1 + 3
    assert "66.5" in picture
    assert 'width="420.0"' in picture
