"""Node losses on a real control plane: how long until the work of a lost node is placed again, and that nothing runs twice.

    DATABASE_URL=... REDIS_URL=... PYTHONPATH=deploy python -m benchmarks.node_losses [--losses 50] [--seed N]

Starts a control plane of its own and makes a database of its own on the given server; both are gone afterwards. Jobs (whole nodes,
halves, gangs of two) fill half of forty nodes; the watcher's own step runs every second, as where no worker lives. Nodes fall silent,
say that they are not ready, go dark by the rack, and flap, at most as many a minute as may be lost; then they return. A loss counts when
the node held a live run. The time of a job runs from the last sign of life of its node (the Lease's renewal as the cluster has it; the
transition to Ready=False) until every pod of its next run stands in the cluster, bound to its node. Prints one JSON object, also into
benchmarks/results/.
"""

import argparse
import json
import math
import os
import platform
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parents[1]
NODES, RACKS, FLAVOR, CARDS = 40, 5, "a100-80g", 8
SINGLES, HALVES, GANGS = 10, 8, 4
WAVE, LIMIT_S, SETTLED_S, WINDOW_S = 6, 30.0, 120.0, 61.0
PERIOD_S, FLAP_S = 1.0, 20.0
SILENT, NOT_READY = "berth.dev/test-silent", "berth.dev/test-not-ready"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    server, name = os.environ["DATABASE_URL"].rpartition("/")[0], f"bench_{secrets.token_hex(4)}"
    sys.path += [str(ROOT), str(ROOT / "platform"), str(ROOT / "deploy")]
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            result = _measure(f"{server}/{name}", given.losses, random.Random(given.seed))
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    text = json.dumps({**result, "seed": given.seed}, indent=2)
    (folder / "node_losses.json").write_text(text + "\n")
    print(text)
    return 0 if result["all_within_limit"] and not result["run_twice"] else 1


def _measure(url: str, losses: int, choose: random.Random) -> dict[str, Any]:
    os.environ.update(DATABASE_URL=url, BERTH_CLUSTER="kubernetes")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections
    from testplane.nodes import Group
    from testplane.plane import Plane

    call_command("migrate", verbosity=0)
    nodes = Group("n", NODES, FLAVOR, {"nvidia.com/gpu": CARDS}, cpu=128, memory_gib=1024, racks=RACKS)
    with Plane(node_groups=(nodes,)) as plane:
        rig = _Rig(plane.client(), choose)
        rig.furnish(str(plane.kubeconfig()))
        rig.lose(losses)
        result = rig.told()
    connections.close_all()
    return result


@dataclass
class _Lost:
    """One job that lost its node: how, and when its node last gave a sign of life."""

    how: str
    run: int
    last_sign: datetime


@dataclass
class _Rig:
    client: Any
    choose: random.Random
    lost_nodes: Counter[str] = field(default_factory=Counter)
    lost: dict[int, _Lost] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)
    overlaps: set[str] = field(default_factory=set)
    steps_s: list[float] = field(default_factory=list)
    _signs: dict[str, tuple[str, str, datetime]] = field(default_factory=dict)
    _seen_lost: set[tuple[str, datetime]] = field(default_factory=set)
    _losses_at: list[float] = field(default_factory=list)

    # --- the world ---

    def furnish(self, kubeconfig: str) -> None:
        from scheduling.control.tenant_spaces import reconcile_tenants
        from scheduling.control.watching import Watcher
        from tenants.models import Cluster
        from tests.factories import a_flavor, a_job, a_pool, a_queue, a_quota, a_tenant

        self.watcher = Watcher()
        cluster = Cluster.objects.create(name="bench", kind="kubernetes", credential_ref=kubeconfig)
        flavor = a_flavor(FLAVOR, pool=a_pool(cluster=cluster))
        queue = a_queue(tenant=a_tenant(), pool=flavor.pool, default_tier="development")
        a_quota(queue, flavor=flavor, nominal=NODES * CARDS)
        reconcile_tenants()
        self.until(lambda: self._states()["ready"] == NODES, "nodes")
        reconcile_tenants()
        shapes = [(8, 1)] * SINGLES + [(4, 1)] * HALVES + [(8, 2)] * GANGS
        for cards, pods in shapes:
            a_job(queue, flavor=flavor, gpu=cards, replicas=pods, cpu=4, memory_gib=8, max_restarts=0)
        self.jobs = len(shapes)
        self.until(self._all_run, "jobs")

    def lose(self, losses: int) -> None:
        waves = (
            ("silent", self._silent),
            ("not-ready", self._not_ready),
            ("rack", self._rack),
            ("flapping", self._flapping),
        )
        number = 0
        while self.lost_nodes.total() < losses:
            how, wave = waves[number % len(waves)]
            number += 1
            self._wait_for_room()
            began = self.lost_nodes.total()
            wave()
            print(
                f"{how}: {self.lost_nodes.total() - began} nodes, {self.lost_nodes.total()} in all",
                file=sys.stderr,
                flush=True,
            )

    def _silent(self) -> None:
        self._lose_and_return("silent", SILENT, self._busy()[:WAVE])

    def _not_ready(self) -> None:
        self._lose_and_return("not-ready", NOT_READY, self._busy()[:WAVE])

    def _rack(self) -> None:
        """The rack with the most work, whole."""
        busy = Counter(int(name[1:]) % RACKS for name in self._busy())
        rack = busy.most_common(1)[0][0]
        self._lose_and_return("rack", SILENT, [f"n{at:03d}" for at in range(NODES) if at % RACKS == rack])

    def _flapping(self) -> None:
        """Twenty seconds away, twenty there, twice: away long enough to be lost each time."""
        names = self._busy()[: WAVE // 2]
        for _ in range(2):
            self._go("flapping", NOT_READY, names)
            self._step_for(FLAP_S)
            self._label(names, NOT_READY, None)
            self._step_for(FLAP_S)
        self._return()

    def _lose_and_return(self, how: str, label: str, names: Sequence[str]) -> None:
        self._go(how, label, names)
        self.until(lambda: set(names) <= self._now_lost(), f"{how}: losses")
        self.until(self._all_run, f"{how}: replacements")
        self._label(names, label, None)
        self._return()

    def _return(self) -> None:
        self.until(lambda: self._states()["ready"] == NODES, "the nodes' return")
        self.until(self._all_run, "all jobs")
        self.until(self._one_run_each, "old pods to go")

    def _go(self, how: str, label: str, names: Sequence[str]) -> None:
        for name in names:
            self._signs[name] = how, label, datetime.now(UTC)
        self._label(names, label, "yes")

    def _label(self, names: Iterable[str], label: str, value: str | None) -> None:
        for name in names:
            self.client.merge(f"/api/v1/nodes/{name}", {"metadata": {"labels": {label: value}}})

    def _wait_for_room(self) -> None:
        """A wave is no larger than what may be lost in a minute, after the wave before."""
        while self._losses_at and time.monotonic() - self._losses_at[-1] < WINDOW_S:
            self._step()

    # --- looking ---

    def until(self, happened: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SETTLED_S
        while not happened():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {SETTLED_S:.0f} s for {what}")
            self._step()

    def _step_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._step()

    def _step(self) -> None:
        """A second of the product's life, and a look past it at the cluster itself."""
        began = time.monotonic()
        self.watcher.step()
        self.steps_s.append(time.monotonic() - began)
        self._note_losses()
        self._note_doubles()
        time.sleep(max(0.0, PERIOD_S - (time.monotonic() - began)))

    def _note_losses(self) -> None:
        from scheduling.models import Node, Run

        for node in Node.objects.filter(lost_at__isnull=False):
            if node.lost_at is None or (node.name, node.lost_at) in self._seen_lost:
                continue
            self._seen_lost.add((node.name, node.lost_at))
            self._losses_at.append(time.monotonic())
            how, label, asked_at = self._signs[node.name]
            runs = Run.objects.filter(end_reason="node-lost", end_message__startswith=f"{node.name}:")
            mine = [run for run in runs if run.pk not in self.lost]
            self.lost_nodes[how] += bool(mine)
            for run in mine:
                sign = self._renewed_at(node.name) if label == SILENT else self._not_ready_since(node.name) or asked_at
                self.lost[run.pk] = _Lost(how, run.pk, sign)

    def _renewed_at(self, name: str) -> datetime:
        lease = self.client.send("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")
        return datetime.fromisoformat(lease["spec"]["renewTime"])

    def _not_ready_since(self, name: str) -> datetime:
        """In whole seconds, so at most one second too early."""
        conditions = self.client.send("GET", f"/api/v1/nodes/{name}")["status"]["conditions"]
        return datetime.fromisoformat(
            next(each["lastTransitionTime"] for each in conditions if each["type"] == "Ready")
        )

    def _note_doubles(self) -> None:
        """Two unfenced runs of a job, two pods of one rank: never. A fenced pod that is asked to go beside its successor: counted."""
        from scheduling.models import Run

        live = Counter(Run.objects.exclude(state="ended").values_list("job_id", flat=True))
        self.twice |= {f"job {job} has {count} live runs" for job, count in live.items() if count > 1}
        fenced = {(run.job_id, run.number) for run in Run.objects.filter(fenced=True)}
        ranks: dict[tuple[int, str], set[int]] = {}
        for pod in self._pods():
            labels = pod["metadata"]["labels"]
            job, run = int(labels["berth.dev/job"]), int(labels["berth.dev/run"])
            rank = f"{labels['berth.dev/role']}-{labels['berth.dev/index']}"
            ranks.setdefault((job, rank), set()).add(run)
        for (job, rank), runs in ranks.items():
            unfenced = {run for run in runs if (job, run) not in fenced}
            if len(unfenced) > 1:
                self.twice.add(f"job {job} {rank} runs {sorted(unfenced)}")
            if len(runs) > 1:
                self.overlaps.add(f"{job}-{rank}-{min(runs)}")

    def _pods(self) -> Iterator[dict[str, Any]]:
        found = self.client.send("GET", "/api/v1/pods?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dberth")["items"]
        return (pod for pod in found if pod["status"].get("phase") in ("Pending", "Running"))

    def _busy(self) -> list[str]:
        from scheduling.models import Lease

        names = sorted(set(Lease.objects.filter(closed_at__isnull=True).values_list("node__name", flat=True)))
        self.choose.shuffle(names)
        return names

    def _states(self) -> Counter[str]:
        from scheduling.models import Node

        return Counter(Node.objects.values_list("state", flat=True))

    def _now_lost(self) -> set[str]:
        from scheduling.models import Node

        return set(Node.objects.filter(state="lost").values_list("name", flat=True))

    def _all_run(self) -> bool:
        from scheduling.models import Job

        return Job.objects.filter(state="running").count() == self.jobs

    def _one_run_each(self) -> bool:
        runs = {
            (pod["metadata"]["labels"]["berth.dev/job"], pod["metadata"]["labels"]["berth.dev/run"])
            for pod in self._pods()
        }
        return len(runs) == self.jobs

    # --- what came of it ---

    def told(self) -> dict[str, Any]:
        from scheduling.models import Job, Node, Run

        decided: dict[str, list[float]] = {}
        placed: dict[str, list[float]] = {}
        for run in Run.objects.filter(pk__in=self.lost).select_related("job"):
            following = Run.objects.filter(job=run.job, number=run.number + 1).get()
            lost = self.lost[run.pk]
            assert following.dispatched_at is not None
            decided.setdefault(lost.how, []).append((following.admitted_at - lost.last_sign).total_seconds())
            placed.setdefault(lost.how, []).append((following.dispatched_at - lost.last_sign).total_seconds())
        everything = [second for seconds in placed.values() for second in seconds]
        self.twice |= _billed_twice()
        return {
            "machine": f"{platform.machine()} {os.cpu_count()} cores, Python {platform.python_version()}",
            "load_average": [round(each, 1) for each in os.getloadavg()],
            "size": {
                "nodes": NODES,
                "racks": RACKS,
                "jobs": self.jobs,
                "cards_held": (SINGLES + 2 * GANGS) * 8 + HALVES * 4,
            },
            "node_losses": {**self.lost_nodes, "all": self.lost_nodes.total()},
            "runs_replaced": len(everything),
            "placed_s": {**{how: _spread(each) for how, each in placed.items()}, "all": _spread(everything)},
            "decided_s": _spread([second for seconds in decided.values() for second in seconds]),
            "limit_s": LIMIT_S,
            "all_within_limit": max(everything) <= LIMIT_S,
            "run_twice": sorted(self.twice),
            "fenced_pods_beside_their_successor": len(self.overlaps),
            "runs_a_job": dict(
                sorted(
                    Counter(
                        Job.objects.get(pk=job).runs.count() for job in Job.objects.values_list("pk", flat=True)
                    ).items()
                )
            ),
            "nodes_quarantined": Node.objects.filter(quarantined_until__isnull=False).count(),
            "step_s": _spread(self.steps_s),
        }


def _billed_twice() -> set[str]:
    """Jobs that were charged for two runs at one time."""
    from scheduling.models import LeaseSegment

    found: set[str] = set()
    ends: dict[int, tuple[int, datetime]] = {}
    rows = LeaseSegment.objects.filter(kind="billable").order_by("lease__run__job_id", "lease__run__number", "during")
    for job, number, during in rows.values_list("lease__run__job_id", "lease__run__number", "during"):
        last = ends.get(job)
        if last is not None and last[0] < number and during.lower < last[1]:
            found.add(f"job {job} is charged for runs {last[0]} and {number} at once")
        if last is None or during.upper > last[1]:
            ends[job] = number, during.upper
    return found


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    """By nearest rank."""
    ordered = sorted(seconds)
    at = {part: ordered[max(0, math.ceil(share * len(ordered)) - 1)] for part, share in (("p50", 0.5), ("p95", 0.95))}
    return {part: round(value, 2) for part, value in {**at, "max": ordered[-1]}.items()} | {"count": len(ordered)}


if __name__ == "__main__":
    sys.exit(main())
