"""Dispatch and observation on a real API server: rate against a bare loop, 2,000 pods from waiting to Running, 5,000 pods observed.

    DATABASE_URL=... PYTHONPATH=deploy python -m benchmarks.bench_dispatch

Starts a test control plane with 640 pretended nodes and a database of its own, and removes both. The bare loops make the same
documents with the same client, side by side in as many threads as the adapter has, and one after the other; they record nothing.
Prints one JSON object, also into benchmarks/results/.
"""

import json
import os
import platform
import secrets
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parents[1]
NODES, PAIRS, RUNS, PODS = 640, 5, 25, 8
TO_RUNNING, CHANGES, REST_S, LONGEST_S = 2000, 200, 30.0, 600.0


def main() -> None:
    server, name = os.environ["DATABASE_URL"].rpartition("/")[0], f"bench_{secrets.token_hex(4)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            result = _run(f"{server}/{name}")
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "dispatch.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def _run(url: str) -> dict[str, Any]:
    os.environ["DATABASE_URL"] = url
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    sys.path += [str(ROOT / "platform"), str(ROOT / "deploy")]
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections
    from testplane.nodes import Group
    from testplane.plane import Plane

    call_command("migrate", verbosity=0)
    group = Group("n", NODES, "a100-80g", {"nvidia.com/gpu": 8}, cpu=128, memory_gib=1024, racks=32)
    with Plane(node_groups=(group,)) as plane:
        bench = _Bench(plane)
        result: dict[str, Any] = {
            "machine": f"{platform.machine()} {os.cpu_count()} cores, Python {platform.python_version()}",
            "size": {"nodes": NODES, "pairs": PAIRS, "runs_a_pair": RUNS, "pods_a_run": PODS},
        }
        for name in ("rate", "to_running", "observed"):
            result[name] = getattr(bench, name)()
            print(name, json.dumps(result[name]), file=sys.stderr, flush=True)
        connections.close_all()
    return result


class _Bench:
    """One tenant with all nodes; one process's loop and observer."""

    def __init__(self, plane: Any) -> None:
        from scheduling.control.clusters import port_of
        from scheduling.control.dispatch import Dispatcher
        from scheduling.control.loop import Loop
        from scheduling.control.observe import Observer
        from scheduling.control.tenant_spaces import reconcile_tenants
        from tenants.models import Cluster
        from tests.factories import a_flavor, a_pool, a_queue, a_quota, a_tenant

        self.plane = plane
        self.cluster = Cluster.objects.create(
            name="bench", kind="kubernetes", credential_ref=str(plane.kubeconfig("admin"))
        )
        self.flavor = a_flavor("a100-80g", pool=a_pool(cluster=self.cluster))
        self.queue = a_queue(tenant=a_tenant(), pool=self.flavor.pool, default_tier="development")
        a_quota(self.queue, flavor=self.flavor, nominal=8 * NODES)
        self.port: Any = port_of(self.cluster)
        self.dispatcher = Dispatcher()
        self.loop, self.observer = Loop(holder="bench"), Observer()
        self.looks: list[float] = []
        reconcile_tenants()
        self._until(self._nodes_are_known, "the nodes")
        reconcile_tenants()
        self._until(
            lambda: self.port.spaces.check_space(self.namespace, timeout_s=5).kind == "accepted", "the namespace"
        )

    @property
    def namespace(self) -> str:
        return f"{self.queue.tenant.slug}-{self.queue.environment}"

    def rate(self) -> dict[str, Any]:
        """Pods a second of each, by pair, and the medians of the ratios."""
        pairs = []
        for number in range(PAIRS):
            arms: list[tuple[str, Callable[[list[Any]], float]]] = [
                ("dispatcher", self._dispatched), ("bare_side_by_side", self._bare(16)), ("bare_one_by_one", self._bare(1)),
            ]  # fmt: skip
            pair = {}
            for name, measure in arms if number % 2 else arms[::-1]:
                runs = self._admitted()
                pair[name] = round(RUNS * PODS / measure(runs), 1)
                self._take_over(runs)
            pairs.append(pair)
        return {
            "pods_per_s": pairs,
            "median_share_of_bare_side_by_side": _median_share(pairs, "bare_side_by_side"),
            "median_share_of_bare_one_by_one": _median_share(pairs, "bare_one_by_one"),
        }

    def to_running(self) -> dict[str, Any]:
        """From jobs that wait to jobs whose pods all run, as the rows say, with loop and observer in one process."""
        from scheduling.models import Job

        jobs = self._submit(TO_RUNNING // PODS)
        began = time.monotonic()
        running = Job.objects.filter(pk__in=jobs, state="running")
        self._until(lambda: running.count() == len(jobs), "all to run")
        took = time.monotonic() - began
        return {"pods": TO_RUNNING, "seconds": round(took, 1), "pods_per_s": round(TO_RUNNING / took, 1)}

    def observed(self) -> dict[str, Any]:
        """Lag from a pod's change in the API server to our row; requests at rest; memory of each process (MiB)."""
        from django.db import connection

        from scheduling.models import Pod

        live = Pod.objects.exclude(run__state="ended")
        self._until(lambda: not live.exclude(phase="running").exists(), "all to run")
        calls = _count_calls(self.port)
        began, looks = time.monotonic(), 0
        while time.monotonic() < began + REST_S:
            self._look_each_second()
            looks += 1
        at_rest = {name: round(count / (time.monotonic() - began), 2) for name, count in sorted(calls.items())}
        changes = _Changes(self.plane.client("admin"), self.namespace, self._names(CHANGES))
        changes.start()
        while changes.is_alive():
            self._look_each_second()
        for _ in range(5):
            self._look_each_second()
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, min(at) FROM scheduling_observation WHERE name = ANY(%s) AND document->>'phase' = 'succeeded' GROUP BY name", [changes.names])  # fmt: skip
            seen = dict(cursor.fetchall())
        lags = sorted((seen[name] - at).total_seconds() for name, at in changes.at.items() if name in seen)
        return {
            "pods": Pod.objects.filter(phase="running").count() + len(changes.names),
            "changes": len(changes.names), "seen": len(lags), "looks_at_rest": looks,
            "look_s": {"p50": _at(sorted(self.looks), 0.5), "max": _at(sorted(self.looks), 1.0)},
            "lag_s": {"p50": _at(lags, 0.5), "p95": _at(lags, 0.95), "p99": _at(lags, 0.99), "max": _at(lags, 1.0)},
            "requests_per_s_at_rest": {**at_rest, "all": round(sum(at_rest.values()), 2)},
            "memory_mib": {"observer_and_loop": _rss(os.getpid()), **_rss_of_plane(self.plane)},
        }  # fmt: skip

    # --- inside ---

    def _nodes_are_known(self) -> bool:
        from scheduling.models import Node

        return Node.objects.filter(state="ready").count() == NODES

    def _names(self, count: int) -> list[str]:
        from scheduling.models import Pod

        rows = Pod.objects.filter(phase="running", index=0).order_by("pk")
        return list(rows.values_list("name", flat=True)[:count])

    def _submit(self, runs: int) -> list[int]:
        from tests.factories import a_job

        return [
            a_job(self.queue, flavor=self.flavor, gpu=1, replicas=PODS, cpu=1, memory_gib=1, shape_key="bench", tier="development").pk
            for _ in range(runs)
        ]  # fmt: skip

    def _admitted(self) -> list[Any]:
        """Runs that are decided and not sent yet."""
        from scheduling.control.apply import apply_plan
        from scheduling.control.lock import rest, take_lead
        from scheduling.control.loop import plan_now
        from scheduling.models import Run

        jobs = self._submit(RUNS)
        lead = take_lead("bench")
        assert lead is not None
        planned, now = plan_now()
        apply_plan(planned, now=now, leadership=lead)
        rest(lead)
        runs = list(
            Run.objects.filter(job__in=jobs, state="admitted").select_related("job__tenant", "job__queue", "cluster")
        )
        assert len(runs) == RUNS
        return runs

    def _dispatched(self, runs: list[Any]) -> float:
        from scheduling.control.lock import rest, take_lead
        from scheduling.models import Run

        lead = take_lead("bench")
        assert lead is not None
        began = time.monotonic()
        while Run.objects.filter(state="admitted").exists():
            self.dispatcher.dispatch(lead, lambda: None)
            assert time.monotonic() < began + LONGEST_S
        took = time.monotonic() - began
        rest(lead)
        return took

    def _take_over(self, runs: list[Any]) -> None:
        """What a bare loop made is read and taken for what it is: a name tried twice would count twice in the quota for minutes."""
        self.dispatcher._unsure |= {run.pk for run in runs}
        self._dispatched([])

    def _bare(self, threads: int) -> Callable[[list[Any]], float]:
        return partial(self._made_by_hand, threads)

    def _made_by_hand(self, threads: int, runs: list[Any]) -> float:
        """Documents are built before the watch starts to run."""
        from scheduling.cluster.kube_kinds import path_of
        from scheduling.cluster.manifests import build_run, own_by_service
        from scheduling.control.run_specs import read_run_specs

        built = [build_run(spec) for spec in read_run_specs(runs).values()]
        calls = self.port._calls

        def make(document: Any) -> str:
            path = path_of(document["kind"], document["metadata"]["namespace"])
            answer = calls.call("POST", path, query=(("fieldManager", "berth"),), body=dict(document), timeout_s=10)
            assert answer.status == 201, answer.body
            return str(answer.body["metadata"]["uid"])

        began = time.monotonic()
        with ThreadPoolExecutor(threads) as pool:
            owners = list(pool.map(make, [run.service for run in built]))
            rest = [
                own_by_service(dict(document), service_name=run.name, service_uid=uid)
                for run, uid in zip(built, owners, strict=True)
                for document in (*((run.secret,) if run.secret else ()), *run.pods)
            ]
            list(pool.map(make, rest))
        return time.monotonic() - began

    def _look_each_second(self) -> None:
        began = time.monotonic()
        self.observer.observe_all()
        self.looks.append(time.monotonic() - began)
        time.sleep(max(0.05, 1.0 - self.looks[-1]))

    def _until(self, happened: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LONGEST_S
        while not happened():
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            self.observer.observe_all()
            self.loop.turn()


class _Changes(threading.Thread):
    """Ends pods as their kubelets would, one by one at moments that follow no beat, and notes when the server had taken it."""

    def __init__(self, client: Any, namespace: str, names: list[str]) -> None:
        super().__init__(daemon=True)
        self.client, self.namespace, self.names = client, namespace, names
        self.at: dict[str, Any] = {}

    def run(self) -> None:
        from berth.common import clock

        for number, name in enumerate(self.names):
            self.client.merge(
                f"/api/v1/namespaces/{self.namespace}/pods/{name}/status", {"status": {"phase": "Succeeded"}}
            )
            self.at[name] = clock.now()
            time.sleep(0.1 + 0.017 * (number % 13))


def _count_calls(port: Any) -> dict[str, int]:
    """Requests by what they ask for, from now on."""
    counts: dict[str, int] = {}
    calls = port._calls
    ask = calls._ask

    def counted(api: Any, method: str, path: str, query: Any, *rest: Any) -> Any:
        verb = "watch" if ("watch", "true") in query else "list" if method == "GET" else method
        what = f"{verb} {path.rpartition('/')[2]}"
        counts[what] = counts.get(what, 0) + 1
        return ask(api, method, path, query, *rest)

    calls._ask = counted
    return counts


def _median_share(pairs: list[dict[str, float]], bare: str) -> float:
    return round(statistics.median(pair["dispatcher"] / pair[bare] for pair in pairs), 3)


def _at(values: list[float], share: float) -> float | None:
    return round(values[min(len(values) - 1, int(share * len(values)))], 3) if values else None


def _rss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


def _rss_of_plane(plane: Any) -> dict[str, int]:
    return {name: _rss(plane._children.pid(name)) for name in plane._children.names()}


if __name__ == "__main__":
    main()
