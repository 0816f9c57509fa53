"""The scenes of `figures`, written as `manage.py plan` reads them: nodes of 8 cards in racks of 16, tenants `a`, `b`, … of one cohort."""

import json
from typing import Any, Final

from scheduling.engine.snapshot import Snapshot
from scheduling.simulator.plan_file import parse_plan

NOW: Final = "2026-11-30T10:00:00Z"
CARDS: Final = 8
RACK, ZONE = 16, 128
"""Nodes of a rack and of a zone."""


def scene(*, nodes: int, quotas: dict[str, int], running: list[Any], pending: list[Any]) -> tuple[Snapshot, int]:
    """The snapshot and its instant in ms. `quotas` are nominal cards by tenant, with neither borrowing nor lending limits."""
    rows = [
        {"name": f"n{at:05d}", "flavor": "a100", "gpus": CARDS, "cpu": 128, "memory_gib": 1024,
         "topology": {"zone": f"z{at // ZONE:03d}", "rack": f"r{at // RACK:04d}"}}
        for at in range(nodes)
    ]  # fmt: skip
    tenants = [
        {"name": name, "cohort": "root", "queues": [{"name": "main", "quota": {"gpu": {"a100": {"nominal": nominal}}}}]}
        for name, nominal in quotas.items()
    ]
    cluster = {
        "flavors": {"a100": {"cards": "whole", "vram_gib": 80}},
        "nodes": rows,
        "cohorts": [{"name": "root"}],
        "tenants": tenants,
    }
    document = {"now": NOW, "cluster": cluster, "running": running, "pending": pending}
    question = parse_plan(json.dumps(document), "scene", _no_file)
    return question.snapshot, question.now_ms


def run(name: str, tenant: str, node: int, *, tier: str = "development") -> dict[str, Any]:
    """A job on one whole node, an hour old, of at most four hours."""
    return {
        "job": name, "tenant": tenant, "queue": "main", "tier": tier, "priority": 500, "submitted": "2026-11-30T09:00:00Z",
        "started": "2026-11-30T09:00:00Z", "max_runtime": 14400,
        "roles": [{"name": "worker", "replicas": 1, "nodes": [f"n{node:05d}"], "resources": {"gpu": CARDS}}],
    }  # fmt: skip


def job(
    name: str, tenant: str, pods: int, *, cards: int = CARDS, tier: str = "development", **fields: Any
) -> dict[str, Any]:
    """A gang that waits, of at most four hours."""
    return {
        "job": name, "tenant": tenant, "queue": "main", "tier": tier, "submitted": "2026-11-30T09:30:00Z", "max_runtime": 14400,
        "roles": [{"name": "worker", "replicas": pods, "resources": {"gpu": cards}}], **fields,
    }  # fmt: skip


def _no_file(_name: str) -> str:
    raise FileNotFoundError
