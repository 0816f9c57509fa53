"""Kueue's published generator in real time: 15,000 workloads against the whole control loop and its database.

    DATABASE_URL=... REDIS_URL=... python -m benchmarks.kueue_live [--cohorts 5]

Makes a database of its own on the given server and drops it. One process creates the workloads when the generator does (rows in
batches, every 100 ms), another observes and turns the loop without a pause. As in Kueue's own measurement nothing runs: pods are kept
in memory (`instant_cluster`), start the moment they are asked for, end when their time is over, and leave at once. What is measured is everything that Berth does for a workload:
snapshot, plan, the transaction that admits it, dispatch, observation, its end, and its history. Prints one JSON object.
"""

import argparse
import json
import os
import platform
import secrets
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.kueue_shapes import BORROWING, FLOOR_S, KINDS, NOMINAL, PUBLISHED, QUEUES

ROOT = Path(__file__).resolve().parents[1]
BATCH_S, LONGEST_S = 0.1, 1800.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohorts", type=int, default=5)
    parser.add_argument("--create", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.create:
        _start_django()
        _create()
        return
    server, name = os.environ["DATABASE_URL"].rpartition("/")[0], f"bench_{secrets.token_hex(4)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            os.environ["DATABASE_URL"] = f"{server}/{name}"
            result = _run(given.cohorts)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    print(json.dumps(result, indent=2))


def _start_django() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    sys.path.append(str(ROOT / "platform"))
    import django

    django.setup()


def _run(cohorts: int) -> dict[str, Any]:
    _start_django()
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    settings.CLUSTER_ADAPTERS["simulated"] = "benchmarks.instant_cluster.InstantCluster"
    call_command("migrate", verbosity=0)
    _populate(cohorts)
    creating = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.kueue_live", "--create", "--cohorts", str(cohorts)], cwd=ROOT
    )
    try:
        cycles = _turn_until_done(cohorts, creating)
    finally:
        creating.kill()
    result = _measure()
    connections.close_all()
    machine = f"{platform.machine()} {os.cpu_count()} cores, Python {platform.python_version()}"
    return {
        "benchmark": "kueue_live", "cohorts": cohorts, "floor_s": FLOOR_S, "berth": result | {"cycles": len(cycles), "cycle_ms": _spread(cycles)},
        "kueue": PUBLISHED, "machine": machine,
    }  # fmt: skip


def _spread(times: list[int]) -> dict[str, float]:
    return {"p50": statistics.median(times), "max": max(times)}


def _populate(cohorts: int) -> None:
    """One node large enough, a tenant for each queue, quota of CPU."""
    from berth.common import clock
    from scheduling.control.simulated_nodes import furnish_simulated_clusters
    from scheduling.models import Node
    from tenants.models import Cluster, Cohort, Pool, Queue, Quota, Tenant, User

    since = clock.now() - timedelta(days=1)
    pool = Pool.objects.create(name="main", cluster=Cluster.objects.create(name="sim"))
    Node.objects.create(
        cluster=pool.cluster, pool=pool, name="n0", gpus=0, cpu_m=cohorts * QUEUES * NOMINAL * 1000, memory_mib=1 << 20,
        max_pods=cohorts * QUEUES * NOMINAL, ready_since=since,
    )  # fmt: skip
    User.objects.create_user("bench")
    for number in range(cohorts):
        cohort = Cohort.objects.create(name=f"c{number}")
        for place in range(QUEUES):
            tenant = Tenant.objects.create(
                slug=f"c{number}q{place}", name=f"c{number}q{place}", cohort=cohort, created_at=since
            )
            queue = Queue.objects.create(name="main", tenant=tenant, pool=pool, default_tier="development")
            Quota.objects.create(
                queue=queue, resource="cpu", nominal=NOMINAL * 1000, borrowing_limit=BORROWING * 1000, valid_from=since
            )
    furnish_simulated_clusters()


def _workloads() -> Iterator[tuple[float, Any, int]]:
    """(seconds after the beginning, kind, number) of one queue's, in order of time."""
    yield from sorted(
        ((number * kind.every_ms / 1000, kind, number) for kind in KINDS for number in range(kind.count)),
        key=lambda each: (each[0], each[1].name),
    )


def _create() -> None:
    """Every queue's workloads when their time has come, the queues side by side."""
    from django.db import transaction

    from scheduling.models import Job, Role
    from tenants.models import Queue, User

    queues, user = list(Queue.objects.order_by("pk")), User.objects.get(username="bench")
    coming, began = list(_workloads()), time.monotonic()
    while coming:
        now_s = time.monotonic() - began
        due = [each for each in coming if each[0] <= now_s]
        coming = coming[len(due) :]
        with transaction.atomic():
            jobs = Job.objects.bulk_create(
                [_job(queue, user.pk, kind, number) for _, kind, number in due for queue in queues]
            )
            Role.objects.bulk_create([
                Role(job=job, position=0, name="worker", replicas=1, minimum=1, cards_m=0, cpu_m=int(job.shape_key) * 1000, memory_mib=0, image="none:1")
                for job in jobs
            ])  # fmt: skip
        time.sleep(max(0.0, BATCH_S - (time.monotonic() - began - now_s)))


def _job(queue: Any, user: int, kind: Any, number: int) -> Any:
    from berth.common import clock
    from scheduling.models import Job

    now = clock.now()
    labels = {"berth.dev/sim-duration": f"{kind.run_ms / 1000}", "berth.dev/sim-stop-delay": "0"}
    return Job(
        tenant_id=queue.tenant_id, queue_id=queue.pk, user_id=user, name=f"{kind.name}-{number}", tier="development", shape_key=str(kind.units),
        priority=kind.priority, submitted_at=now, order_at=now, eligible_at=now, labels=labels,
    )  # fmt: skip


def _turn_until_done(cohorts: int, creating: subprocess.Popen[bytes]) -> list[int]:
    """Observe and turn until every workload has ended; the duration of each turn in ms."""
    from scheduling.control.loop import Loop
    from scheduling.control.observe import Observer
    from scheduling.engine.policy import PRESETS
    from scheduling.models import Job

    loop, observer = Loop(policy=replace(PRESETS["default"], minimum_run_ms=0)), Observer()
    every, turns, until = (
        cohorts * QUEUES * sum(kind.count for kind in KINDS),
        list[int](),
        time.monotonic() + LONGEST_S,
    )
    while time.monotonic() < until:
        observer.observe_all()
        turn = loop.turn()
        if turn is not None:
            turns.append(turn.duration_ms)
        if creating.poll() is not None and Job.objects.filter(state="succeeded").count() == every:
            return turns
    raise SystemExit(f"not done after {LONGEST_S:g} s")


def _measure() -> dict[str, Any]:
    """Wall times by the rows that the product keeps."""
    from django.db.models import Max, Min

    from scheduling.models import Job, Run

    first, last = Job.objects.aggregate(first=Min("submitted_at"), last=Max("ended_at")).values()
    waits: dict[str, list[float]] = defaultdict(list)
    admitted = dict(Run.objects.filter(number=1).values_list("job_id", "admitted_at"))
    for pk, name, at in Job.objects.values_list("pk", "name", "submitted_at"):
        waits[name.partition("-")[0]].append((admitted[pk] - at).total_seconds())
    makespan_s = (last - first).total_seconds()
    work_s = sum(kind.count * kind.units * kind.run_ms for kind in KINDS) / 1000
    return {
        "workloads": sum(map(len, waits.values())), "makespan_s": round(makespan_s, 1),
        **{kind.name: round(statistics.mean(waits[kind.name]), 1) for kind in KINDS},
        "queue_use": round(work_s / (NOMINAL * makespan_s), 3), "preempted": Run.objects.filter(end_reason="preempted").count(),
    }  # fmt: skip


if __name__ == "__main__":
    main()
