"""How long one cold cycle of the engine takes: a cluster 95 % full, many tenants, waiting jobs in classes. Prints one JSON object.

    python benchmarks/bench_plan.py --nodes 1250 --tenants 100 --waiting 5000 --classes 200

The population is made from a fixed seed. The snapshot is built before the clock starts; every repeat plans it anew.
"""

import argparse
import gc
import json
import platform
import random
import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from scheduling.engine.cycle import run_cycle
from scheduling.engine.plan import Plan
from scheduling.engine.policy import PRESETS
from scheduling.engine.snapshot import (
    Cards,
    Flavor,
    Nodes,
    Pending,
    Pods,
    Pool,
    Queue,
    RoleAsk,
    Running,
    Shape,
    Snapshot,
    TreeNode,
)
from scheduling.engine.units import CARD, NEVER
from scheduling.engine.vocabulary import Tier, TopologyMode

NOW_MS = 10**9
HOUR_MS = 3_600_000
CARDS_PER_NODE = 8
SIZES = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8))
"""(pods, cards a pod), small ones far more often."""
SIZE_WEIGHTS = (40, 15, 15, 14, 8, 6, 2)


class Population:
    """One random cluster with its queues, runs and waiting jobs."""

    def __init__(
        self, *, nodes: int, tenants: int, waiting: int, classes: int, full: float, seed: int, skew: float = 0.3
    ) -> None:
        self.random = random.Random(seed)
        self.nodes, self.tenants, self.waiting, self.classes, self.full = nodes, tenants, waiting, classes, full
        self.skew = skew
        self.shapes = [self._shape(size, cpu) for size in SIZES for cpu in (1, 2, 4)]

    def _shape(self, size: tuple[int, int], cpu: int) -> Shape:
        pods, cards = size
        role = RoleAsk("worker", pods, pods, cards * CARD, (0,), cpu_m=cpu * cards * 1000, memory_mib=cards * 8192)
        mode = TopologyMode.PREFERRED if pods > 1 else TopologyMode.NONE
        return Shape(roles=(role,), topology=mode, level="rack" if pods > 1 else "")

    def _pick_shape(self) -> int:
        size = self.random.choices(range(len(SIZES)), weights=SIZE_WEIGHTS)[0]
        return size * 3 + self.random.randrange(3)

    def snapshot(self) -> Snapshot:
        running, pods = self._running()
        return Snapshot(
            flavors=(Flavor(0, "a100", 0, vram_mib=81920),), pools=(Pool(0, "main"),), nodes=self._nodes(), cards=self._cards(),
            tree=self._tree(), queues=self._queues(), shapes=tuple(self.shapes), pending=self._pending(), running=running, pods=pods,
        )  # fmt: skip

    def _nodes(self) -> Nodes:
        size = self.nodes
        racks = -(-size // 16)
        return Nodes(
            ids=tuple(range(size)), names=tuple(f"n{node:06d}" for node in range(size)), pool=np.zeros(size, np.int32),
            flavor=np.zeros(size, np.int32), cpu_m=np.full(size, 128_000, np.int64), memory_mib=np.full(size, 1 << 20, np.int64),
            max_pods=np.full(size, 110, np.int32), state=np.zeros(size, np.int8), levels=("rack",),
            domains=(tuple(f"r{rack:05d}" for rack in range(racks)),), domain=(np.arange(size, dtype=np.int32) // 16).reshape(1, size),
            measured_ppm=np.full(size, -1, np.int64),
        )  # fmt: skip

    def _cards(self) -> Cards:
        size = self.nodes * CARDS_PER_NODE
        index = np.arange(size, dtype=np.int32)
        return Cards(index // CARDS_PER_NODE, index % CARDS_PER_NODE, np.zeros(size, np.int32), np.ones(size, np.bool_))

    def _tree(self) -> tuple[TreeNode, ...]:
        nominal = self.nodes * CARDS_PER_NODE * CARD // self.tenants
        none: tuple[None, ...] = (None,) * 4
        tree = [TreeNode(0, "root", "cohort", -1, none, none, none)]
        tree += [TreeNode(1 + t, f"t{t:05d}", "tenant", 0, none, none, none) for t in range(self.tenants)]
        for tenant in range(self.tenants):
            line = (nominal, None, None, None)
            tree.append(TreeNode(1 + self.tenants + tenant, "main", "queue", 1 + tenant, line, none, none))
        return tuple(tree)

    def _queues(self) -> tuple[Queue, ...]:
        return tuple(Queue(t, "main", f"t{t:05d}", 1 + self.tenants + t, 0, "root") for t in range(self.tenants))

    def _running(self) -> tuple[Running, Pods]:
        """Whole-cluster filling, run after run on the first node with room, until `full` of the cards are held."""
        free = [CARDS_PER_NODE] * self.nodes
        left, node = int(self.nodes * CARDS_PER_NODE * self.full), 0
        rows: list[tuple[int, int, int, int]] = []
        jobs: list[tuple[int, int]] = []
        while left > 0:
            shape = self._pick_shape()
            role = self.shapes[shape].roles[0]
            cards = min(role.cards_m // CARD, left)
            for rank in range(role.replicas):
                while node < self.nodes and free[node] < cards:
                    node += 1
                if node == self.nodes or left < cards:
                    left = 0
                    break
                rows.append((len(jobs), rank, node, cards))
                free[node] -= cards
                left -= cards
            jobs.append((shape, self._some_queue(skewed=True)))
        return self._as_columns(rows, jobs)

    def _as_columns(self, rows: list[tuple[int, int, int, int]], jobs: list[tuple[int, int]]) -> tuple[Running, Pods]:
        """Rows are (run, rank, node, cards), jobs (shape, queue); tiers, starts and limits are drawn here."""
        count = len(jobs)
        tiers = self.random.choices((Tier.BATCH, Tier.DEVELOPMENT, Tier.PRODUCTION), weights=(2, 6, 2), k=count)
        starts = [NOW_MS - self.random.randrange(HOUR_MS * 10) for _ in range(count)]
        limits = [self.random.choice((NEVER, HOUR_MS * 4, HOUR_MS * 12)) for _ in range(count)]
        i64, i32 = np.int64, np.int32
        running = Running(
            ids=tuple(range(count)), runs=tuple(range(count)), queue=np.array([job[1] for job in jobs], i32),
            shape=np.array([job[0] for job in jobs], i32), tier=np.array(tiers, np.int8), priority=np.full(count, 500, i32),
            submit_ms=np.array(starts, i64), start_ms=np.array(starts, i64), limit_ms=np.array(limits, i64),
            leaving_ms=np.full(count, NEVER, i64), last_checkpoint_ms=np.full(count, -1, i64), checkpoints=np.zeros(count, np.bool_),
            loan_expires_ms=np.full(count, NEVER, i64), last_resize_ms=np.zeros(count, i64), attained_card_ms=np.zeros(count, i64),
            split_known=np.zeros(count, np.bool_),
        )  # fmt: skip
        run, rank, at, cards = (np.array(column, i64) for column in zip(*rows, strict=True))
        size = len(rows)
        pods = Pods(
            run=run.astype(i32), role=np.zeros(size, i32), rank=rank.astype(i32), node=at.astype(i32), flavor=np.zeros(size, i32),
            cards_m=cards * CARD, borrowed_m=np.zeros(size, i64), cpu_m=cards * 2000, memory_mib=cards * 8192, vram_mib=cards * 81920,
            cards=((),) * size,
        )  # fmt: skip
        return running, pods

    def _some_queue(self, *, skewed: bool) -> int:
        if skewed and self.random.random() < self.skew:
            return self.random.randrange(max(1, self.tenants // 10))
        return self.random.randrange(self.tenants)

    def _pending(self) -> Pending:
        kinds = []
        for _ in range(self.classes):
            tier = self.random.choices((Tier.BATCH, Tier.DEVELOPMENT, Tier.PRODUCTION), weights=(3, 6, 1))[0]
            kinds.append((self._some_queue(skewed=False), self._pick_shape(), tier))
        picks = [kinds[job % self.classes] for job in range(self.waiting)]
        self.random.shuffle(picks)
        size, i64, i32 = self.waiting, np.int64, np.int32
        submit = np.array([NOW_MS - self.random.randrange(HOUR_MS * 5) for _ in range(size)], i64)
        limits = np.array([self.random.choice((NEVER, HOUR_MS, HOUR_MS * 8)) for _ in range(size)], i64)
        return Pending(
            ids=tuple(10**7 + job for job in range(size)), queue=np.array([pick[0] for pick in picks], i32),
            shape=np.array([pick[1] for pick in picks], i32), tier=np.array([pick[2] for pick in picks], np.int8),
            priority=np.full(size, 500, i32), submit_ms=submit, eligible_ms=submit, limit_ms=limits, expected_ms=limits,
            deadline_ms=np.full(size, NEVER, i64), hold=np.zeros(size, np.int8), backoff_ms=np.zeros(size, i64),
            attained_card_ms=np.zeros(size, i64), checkpoints=np.ones(size, np.bool_),
        )  # fmt: skip


def measure(snapshot: Snapshot, repeats: int) -> tuple[list[tuple[float, float]], Plan]:
    """(wall, CPU) milliseconds of each repeat, and the plan they agree on: on a busy machine only the CPU time means something.

    As in the loop, no garbage is collected while it plans.
    """
    times = []
    for _ in range(repeats):
        gc.collect()
        gc.disable()
        begin, cpu = time.perf_counter(), time.process_time()
        plan = run_cycle(snapshot, PRESETS["default"], NOW_MS)
        times.append(((time.perf_counter() - begin) * 1000, (time.process_time() - cpu) * 1000))
        gc.enable()
    return times, plan


def _spread(times: list[float]) -> dict[str, float]:
    return {"p50": round(statistics.median(times), 1), "max": round(max(times), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (
        ("nodes", 1250),
        ("tenants", 100),
        ("waiting", 5000),
        ("classes", 200),
        ("repeats", 7),
        ("seed", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--full", type=float, default=0.95)
    parser.add_argument(
        "--skew",
        type=float,
        default=0.3,
        help="part of the runs that a tenth of the tenants hold: how much is borrowed",
    )
    ask = parser.parse_args()
    population = Population(
        nodes=ask.nodes, tenants=ask.tenants, waiting=ask.waiting, classes=ask.classes, full=ask.full, seed=ask.seed, skew=ask.skew
    )  # fmt: skip
    times, plan = measure(population.snapshot(), ask.repeats)
    print(
        json.dumps({
            "benchmark": "plan",
            **{name: getattr(ask, name) for name in ("nodes", "tenants", "waiting", "classes", "full", "skew", "repeats", "seed")},
            "plan_ms": _spread([wall for wall, _ in times]), "cpu_ms": _spread([cpu for _, cpu in times]),
            "starts": len(plan.starts), "evicts": len(plan.evicts), "waits": len(plan.waits),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "machine": {"python": platform.python_version(), "cpu": platform.processor() or platform.machine()},
        })
    )  # fmt: skip


if __name__ == "__main__":
    main()
