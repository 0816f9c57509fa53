"""Random small traces, replayed: whatever comes, no card is held twice, gangs are whole, production is never stopped, work ends."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.engine.cycle import run_cycle
from scheduling.engine.invariants import check
from scheduling.engine.plan import Plan
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.vocabulary import Tier
from scheduling.simulator import simulation
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.simulation import Tools, replay
from scheduling.simulator.summary import jobs_csv, summarise

CLUSTER = """\
flavors: {g: {cards: any}}
nodes: [{count: 3, name: "n{i}", flavor: g, gpus: 4, cpu: 16, topology: {rack: "r{i//2}"}}]
cohorts: [{name: root}]
tenants:
  - {name: a, cohort: root, queues: [{name: q, quota: {gpu: {g: {nominal: 8}}}}]}
  - {name: b, cohort: root, queues: [{name: q, quota: {gpu: {g: {nominal: 4, lending_limit: 2}}}}]}
  - {name: c, cohort: root, queues: [{name: q, quota: {gpu: {g: {nominal: 0, borrowing_limit: 6}}}}]}
"""
HEADER = "job_id,tenant,queue,tier,submit_s,duration_s,pods,gpus_per_pod,cpu_per_pod,max_runtime_s"
KNOWN = parse_cluster(CLUSTER, "cluster.yaml", str)

job = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from(["production", "development", "batch"]),
    st.integers(0, 60),
    st.integers(0, 90),
    st.integers(1, 3),
    st.sampled_from((0, 0.3, 0.5, 1, 1, 2, 3, 4)),
    st.integers(0, 4),
    st.one_of(st.just(""), st.integers(1, 120)),
)


def borrowed_by_leases(snapshot: Snapshot) -> Counter[tuple[int, int]]:
    """Borrowed milli-cards of pods, by run and flavor."""
    found = Counter[tuple[int, int]]()
    pods = snapshot.pods
    for run, flavor, amount in zip(pods.run.tolist(), pods.flavor.tolist(), pods.borrowed_m.tolist(), strict=True):
        found[run, flavor] += amount
    return +found


def borrowed_by_loans(snapshot: Snapshot) -> Counter[tuple[int, int]]:
    """What open loans say, by run and flavor."""
    found = Counter[tuple[int, int]]()
    for loan in snapshot.loans:
        found[loan.run, loan.flavor] += loan.amount_m
    return +found


class Watcher:
    """Stands in the engine's door and looks at every snapshot that the replay makes and at every plan."""

    def decide(self, snapshot: Snapshot, policy: Policy, now_ms: int) -> Plan:
        held = np.zeros((3, len(snapshot.nodes)), dtype=np.int64)
        for row, amounts in enumerate((snapshot.pods.cards_m, snapshot.pods.cpu_m)):
            np.add.at(held[row], snapshot.pods.node, amounts)
        assert held[0].max(initial=0) <= 4000
        assert held[1].max(initial=0) <= 16000
        assert borrowed_by_leases(snapshot) == borrowed_by_loans(snapshot)
        plan = run_cycle(snapshot, policy, now_ms)
        assert check(snapshot, plan) == ()
        tiers = dict(zip(snapshot.running.ids, snapshot.running.tier.tolist(), strict=True))
        shapes = dict(zip(snapshot.pending.ids, snapshot.pending.shape.tolist(), strict=True))
        assert all(tiers[evict.job] != Tier.PRODUCTION for evict in plan.evicts)
        for start in plan.starts:
            assert len(start.pods) == snapshot.shapes[shapes[start.job]].roles[0].replicas
        decided = sorted([start.job for start in plan.starts] + [wait.job for wait in plan.waits], key=str)
        assert decided == list(snapshot.pending.ids)
        return plan


@settings(max_examples=60, deadline=None)
@given(jobs=st.lists(job, min_size=1, max_size=14), preset=st.sampled_from(sorted(PRESETS)))
def test_a_replay_keeps_the_invariants_and_comes_to_an_end(jobs: list[tuple[object, ...]], preset: str) -> None:
    rows = [
        ",".join(map(str, (f"j{i:02d}", tenant, "q", tier, submit, length, pods, gpus, cpu, limit)))
        for i, (tenant, tier, submit, length, pods, gpus, cpu, limit) in enumerate(jobs)
    ]
    trace = parse_jobs("\n".join((HEADER, *rows)) + "\n", "jobs.csv", KNOWN)

    result = replay(KNOWN, trace, PRESETS[preset], Tools(Watcher().decide))

    ended = result.end_ms >= 0
    assert np.all(result.held_ms[ended] <= (result.end_ms - trace.submit_ms)[ended])
    assert result.meters.held_m == 0
    assert result.meters.borrowed_m == 0


@settings(max_examples=60, deadline=None)
@given(jobs=st.lists(job, min_size=1, max_size=14), preset=st.sampled_from(sorted(PRESETS)))
def test_what_is_plain_is_what_the_engine_would_decide(jobs: list[tuple[object, ...]], preset: str) -> None:
    rows = [
        ",".join(map(str, (f"j{i:02d}", tenant, "q", tier, submit, length, pods, gpus, cpu, limit)))
        for i, (tenant, tier, submit, length, pods, gpus, cpu, limit) in enumerate(jobs)
    ]
    trace = parse_jobs("\n".join((HEADER, *rows)) + "\n", "jobs.csv", KNOWN)

    told, asked = (
        replay(KNOWN, trace, PRESETS[preset], Tools(run_cycle, ask_always=always)) for always in (False, True)
    )

    assert jobs_csv(told) == jobs_csv(asked)
    assert summarise(told) == summarise(asked)


@settings(max_examples=30, deadline=None)
@given(jobs=st.lists(job, min_size=4, max_size=20))
def test_a_strict_line_is_decided_alike_from_its_front_and_as_a_whole(jobs: list[tuple[object, ...]]) -> None:
    rows = [
        ",".join(map(str, (f"j{i:02d}", tenant, "q", tier, submit, length, pods, gpus, cpu, limit)))
        for i, (tenant, tier, submit, length, pods, gpus, cpu, limit) in enumerate(jobs)
    ]
    trace = parse_jobs("\n".join((HEADER, *rows)) + "\n", "jobs.csv", KNOWN)

    texts = []
    for front in (2, len(jobs)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulation, "FRONT", front)
            texts.append(jobs_csv(replay(KNOWN, trace, PRESETS["fifo"], Tools(run_cycle))))

    assert texts[0] == texts[1]
