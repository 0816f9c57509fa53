"""Load, plan and apply of whole turns of the loop on a full database: 1,250 nodes × 8 cards, 95 % full, 100 tenants, 5,000 waiting.

    DATABASE_URL=... python -m benchmarks.bench_cycle [--turns N]

Makes a database of its own on the given server and drops it. The first turn is cold (it starts what fits and writes every reason),
the others are steady; both are given. Prints one JSON object, also into benchmarks/results/.
"""

import argparse
import json
import os
import platform
import secrets
import statistics
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parents[1]
NODES, CARDS, TENANTS, WAITING, SHAPES_A_QUEUE = 1250, 8, 100, 5000, 2
FREE_EVERY = 20
SPLITS = ((8,), (4, 4), (2, 2, 2, 2), (1,) * 8)
ASKS = ((1, 1), (1, 8), (2, 8), (4, 8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=8, help="turns after the first")
    given = parser.parse_args()
    server, name = os.environ["DATABASE_URL"].rpartition("/")[0], f"bench_{secrets.token_hex(4)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            result = _run(f"{server}/{name}", given.turns)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "cycle.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def _run(url: str, turns: int) -> dict[str, Any]:
    os.environ["DATABASE_URL"] = url
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    sys.path.append(str(ROOT / "platform"))
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    _populate()
    from scheduling.control.loop import Loop

    loop = Loop()
    taken = [loop.turn() for _ in range(turns + 1)]
    connections.close_all()
    done = [turn for turn in taken if turn is not None]
    return {
        "machine": f"{platform.machine()} {os.cpu_count()} cores, Python {platform.python_version()}",
        "size": {"nodes": NODES, "cards": NODES * CARDS, "tenants": TENANTS, "waiting": WAITING},
        "cold": _times(done[:1]),
        "steady": _times(done[1:]),
        "started": sum(len(turn.started) for turn in done),
    }


def _times(turns: list[Any]) -> dict[str, Any]:
    return {
        part: {
            "p50_ms": statistics.median(getattr(turn, f"{part}_ms") for turn in turns),
            "max_ms": max(getattr(turn, f"{part}_ms") for turn in turns),
        }
        for part in ("load", "plan", "apply")
    }


def _populate() -> None:
    """Rows by COPY: the cluster, tenants with 100 cards of nominal quota each, running leases, waiting jobs."""
    from berth.common import clock
    from berth.demo.build import build_organisation
    from berth.demo.organisation import A100, NodeSpec, Organisation, QueueSpec, QuotaSpec, TenantSpec
    from scheduling.models import Card, Node
    from tenants.models import Flavor, Queue, User

    now = clock.now()
    tenants = tuple(
        TenantSpec(
            f"t{i:03d}",
            f"t{i:03d}",
            "",
            (QueueSpec("main", "dev", "development", "shared", (QuotaSpec("a100-80g", NODES * CARDS // TENANTS),)),),
            cohort="all",
        )
        for i in range(TENANTS)
    )
    organisation = Organisation((A100,), (NodeSpec("n{i:05d}", NODES, "a100-80g"),), tenants, ("all",))
    build_organisation(organisation, since=now - timedelta(days=1))
    user = User.objects.create_user("bench")
    queues = list(Queue.objects.select_related("pool").order_by("pk"))
    cards: dict[int, list[int]] = {}
    for pk, node in Card.objects.order_by("node_id", "index").values_list("pk", "node_id"):
        cards.setdefault(node, []).append(pk)
    _Writer(queues, user.pk, Flavor.objects.get().pk, now).write(list(Node.objects.order_by("name")), cards)


class _Writer:
    def __init__(self, queues: list[Any], user: int, flavor: int, now: Any) -> None:
        self.queues, self.user, self.flavor, self.now = queues, user, flavor, now
        self.rows: dict[Any, list[Any]] = {}

    def write(self, nodes: list[Any], cards: dict[int, list[int]]) -> None:
        from berth.demo.copying import copy_rows
        from scheduling.models import Job, Lease, Pod, Role, RoleFlavor, Run

        for number, node in enumerate(nodes):
            if number % FREE_EVERY:
                self._fill(node, cards[node.pk], number)
        for number in range(WAITING):
            queue = self.queues[number % TENANTS]
            pods, size = ASKS[(number // TENANTS) % SHAPES_A_QUEUE + 2 * (number % 2)]
            self._job(queue, "queued", pods, size, self.now - timedelta(seconds=WAITING - number))
        for model in (Job, Role, RoleFlavor, Run, Pod, Lease):
            copy_rows(model, self.rows[model])

    def _add(self, model: Any, **values: Any) -> Any:
        found = self.rows.setdefault(model, [])
        row = model(id=len(found) + 1, **values)
        found.append(row)
        return row

    def _job(self, queue: Any, state: str, pods: int, size: int, at: Any) -> Any:
        from scheduling.models import Job, Role, RoleFlavor

        job = self._add(
            Job, tenant_id=queue.tenant_id, queue_id=queue.pk, user_id=self.user, name="bench", tier="development", state=state,
            shape_key=f"{pods}x{size}", submitted_at=at, order_at=at, eligible_at=at, max_runtime_s=86_400,
            runs_count=int(state != "queued"),
        )  # fmt: skip
        role = self._add(
            Role, job_id=job.pk, position=0, name="worker", replicas=pods, minimum=pods, cards_m=size * 1000,
            cpu_m=size * 8000, memory_mib=size * 65_536, image="registry.example/bench:1",
        )  # fmt: skip
        self._add(RoleFlavor, role_id=role.pk, flavor_id=self.flavor, position=0)
        return job

    def _fill(self, node: Any, cards: list[int], number: int) -> None:
        from scheduling.models import Lease, Pod, Run

        taken, start = 0, self.now - timedelta(hours=1)
        queue = self.queues[number % TENANTS]
        for size in SPLITS[number % len(SPLITS)]:
            job = self._job(queue, "running", 1, size, start)
            run = self._add(
                Run, job_id=job.pk, number=1, cluster_id=queue.pool.cluster_id, namespace="bench", state="running",
                admitted_at=start, admitted_wall=start, dispatched_at=start, started_at=start,
            )  # fmt: skip
            pod = self._add(
                Pod, run_id=run.pk, role_name="worker", rank=0, index=0, name=f"j{job.pk}-r1-worker-0", node_id=node.pk,
                phase="running", created_at=start, started_at=start,
            )  # fmt: skip
            for slot in range(size):
                self._add(
                    Lease, run_id=run.pk, pod_id=pod.pk, slot=slot, node_id=node.pk, card_id=cards[taken + slot],
                    flavor_id=self.flavor, quantity=7000, cpu_m=size * 8000 if slot == 0 else 0,
                    memory_mib=size * 65_536 if slot == 0 else 0, opened_at=start,
                )  # fmt: skip
            taken += size


if __name__ == "__main__":
    main()
