"""Pretended nodes: from a small YAML to Node documents. PURE but for reading that file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

STANDARD = Path(__file__).with_name("nodes.yaml")
MAX_PODS = 110


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that are alike: named `prefix` + a number of `digits`, spread over `racks`; `cards` by the resource name of their plugin."""

    prefix: str
    count: int
    flavor: str
    cards: Mapping[str, int]
    cpu: int
    memory_gib: int
    racks: int = 1
    digits: int = 3
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()


def read(path: Path = STANDARD) -> tuple[Group, ...]:
    """Raises TypeError for a key that no group has."""
    return tuple(Group(**entry) for entry in yaml.safe_load(path.read_text()))


def documents(groups: Sequence[Group]) -> Iterator[dict[str, Any]]:
    """One Node document each; what a kubelet and its device plugin would report stands in the status."""
    for group in groups:
        for at in range(group.count):
            name = f"{group.prefix}{at:0{group.digits}d}"
            amounts = {
                "cpu": str(group.cpu),
                "memory": f"{group.memory_gib}Gi",
                "pods": str(MAX_PODS),
                **{resource: str(cards) for resource, cards in group.cards.items()},
            }
            yield {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": _labels(group, name, at)},
                "spec": {"taints": [dict(taint) for taint in group.taints]},
                "status": {"capacity": amounts, "allocatable": amounts},
            }


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether its kubelet says so."""
    conditions = node.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _labels(group: Group, name: str, at: int) -> dict[str, str]:
    return {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": "z1",
        "topology.berth.dev/rack": f"rack-{group.prefix}{at % group.racks}",
        "berth.dev/flavor": group.flavor,
        "type": "kwok",
        **group.labels,
    }
