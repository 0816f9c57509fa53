"""Builders for runs and virtual clusters: say only what a test is about."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from scheduling.cluster.manifests import build_run
from scheduling.cluster.port import RunManifests
from scheduling.cluster.run_spec import PodSpec, RoleSpec, RunSpec
from scheduling.cluster.virtual import ClusterState, VirtualNode

NOW = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    """`seconds` after the tests' morning."""
    return NOW + timedelta(seconds=seconds)


def a_node(name: str = "n0", *, cards: int = 8, max_pods: int = 110) -> VirtualNode:
    return VirtualNode(
        name=name,
        uid=f"uid-{name}",
        labels={},
        resource_name="nvidia.com/gpu",
        card_count=cards,
        cpu_millicores=128_000,
        memory_mib=1_048_576,
        max_pods=max_pods,
        ready_since=NOW - timedelta(days=1),
        vram_mib=81_920,
    )


def a_cluster(*nodes: VirtualNode) -> ClusterState:
    return ClusterState(nodes={node.name: node for node in nodes or (a_node(),)})


def a_role(**changes: object) -> RoleSpec:
    role = RoleSpec(name="worker", image="registry.example/train:1", cpu_millicores=8000, memory_mib=65_536, cards=8)
    return replace(role, **changes)  # type: ignore[arg-type]


def a_spec(
    *,
    job: int = 7,
    run: int = 1,
    nodes: tuple[str, ...] = ("n0",),
    labels: Mapping[str, str] | None = None,
    role: RoleSpec | None = None,
    **changes: object,
) -> RunSpec:
    role = role or a_role()
    spec = RunSpec(
        job_id=job,
        run_number=run,
        namespace="algo-a-prod",
        tenant="algo-a",
        queue="prod",
        tier="production",
        proof="proof-7-1",
        grace_s=30,
        roles=(role,),
        pods=tuple(PodSpec(role.name, i, i, node) for i, node in enumerate(nodes)),
        labels=labels or {},
        api_url="http://berth.example/api/v1",
    )
    return replace(spec, **changes)  # type: ignore[arg-type]


def a_run(**changes: object) -> RunManifests:
    """The documents of `a_spec(**changes)`."""
    return build_run(a_spec(**changes))  # type: ignore[arg-type]
