"""Which ways the network policies of a tenant's namespace leave open. No plugin enforces them here: they are read from the API server
and judged as Kubernetes defines them (K41)."""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from tests.kubernetes.two_tenants import TwoTenants, two_tenants

NET = "/apis/networking.k8s.io/v1"


@dataclass(frozen=True)
class End:
    """A pod by its namespace and labels, or something outside all namespaces by its address."""

    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    address: str = ""


DNS_LABELS = (("k8s-app", "kube-dns"),)
WEB_LABELS = (("app.kubernetes.io/component", "web"), ("app.kubernetes.io/name", "berth"))
A, B = End("sec-a-prod", (("berth.dev/job", "1"),)), End("sec-b-prod", (("berth.dev/job", "2"),))
ENDS = {
    "itself": A,
    "other tenant": B,
    "own other environment": End("sec-a-dev"),
    "Berth's web": End("berth-system", WEB_LABELS),
    "Berth's worker": End("berth-system", (("app.kubernetes.io/name", "berth"),)),
    "DNS": End("kube-system", DNS_LABELS),
    "kube-system": End("kube-system", (("app", "metrics"),)),
    "API server": End(address="10.0.0.1"),
    "metadata service": End(address="169.254.169.254"),
    "metadata service by IPv6": End(address="fd00:ec2::254"),
    "a node": End(address="10.0.5.7"),
    "internet": End(address="93.184.216.34"),
}
PORTS = (22, 53, 80, 443, 6443, 8000, 8080, 10250, 29500)
OPEN = {
    ("itself", "out"): set(PORTS),
    ("itself", "in"): set(PORTS),
    ("DNS", "out"): {53},
    ("Berth's web", "out"): {8000},
}
"""All ways there are: between pods of the namespace, to DNS, and to Berth's own door for run reports."""


@pytest.fixture(scope="module")
def tenants() -> TwoTenants:
    return two_tenants()


def is_open(policies: list[dict[str, Any]], *, of: End, other: End, way: str, port: int) -> bool:
    """Whether pods of a namespace with these policies may be reached from, or reach, the other end: the union of what any allows."""
    name, side, direction = ("ingress", "from", "Ingress") if way == "in" else ("egress", "to", "Egress")
    chosen = [
        policy["spec"]
        for policy in policies
        if direction in policy["spec"]["policyTypes"] and _selects(policy["spec"]["podSelector"], of.labels)
    ]
    if not chosen:
        return True
    return any(
        _has_port(rule, port) and _has_peer(rule.get(side), of, other)
        for spec in chosen
        for rule in spec.get(name) or []
    )


def _has_port(rule: dict[str, Any], port: int) -> bool:
    return not rule.get("ports") or any(each.get("port", port) == port for each in rule["ports"])


def _has_peer(peers: list[dict[str, Any]] | None, of: End, other: End) -> bool:
    return not peers or any(_is_peer(peer, of, other) for peer in peers)


def _is_peer(peer: dict[str, Any], of: End, other: End) -> bool:
    if "ipBlock" in peer:
        block = peer["ipBlock"]
        inside = bool(other.address) and ip_address(other.address) in ip_network(block["cidr"])
        return inside and not any(ip_address(other.address) in ip_network(each) for each in block.get("except") or [])
    if other.address:
        return False
    named = (("kubernetes.io/metadata.name", other.namespace),)
    at_home = (
        _selects(peer["namespaceSelector"], named) if "namespaceSelector" in peer else other.namespace == of.namespace
    )
    return at_home and ("podSelector" not in peer or _selects(peer["podSelector"], other.labels))


def _selects(selector: dict[str, Any], labels: tuple[tuple[str, str], ...]) -> bool:
    assert "matchExpressions" not in selector, "not read here"
    return set((selector.get("matchLabels") or {}).items()) <= set(labels)


@pytest.mark.parametrize("name", list(ENDS))
@pytest.mark.parametrize("way", ["in", "out"])
def test_only_the_documented_ways_are_open(tenants: TwoTenants, name: str, way: str) -> None:
    """K41."""
    policies = tenants.admin.send("GET", f"{NET}/namespaces/{tenants.a}/networkpolicies")["items"]

    found = {port for port in PORTS if is_open(policies, of=A, other=ENDS[name], way=way, port=port)}

    assert found == OPEN.get((name, way), set())


def test_an_opened_fence_would_be_seen(tenants: TwoTenants) -> None:
    """The judge itself: without a policy everything is open, and a rule without peers lets everybody in."""
    everybody = {"spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]}}

    assert is_open([], of=A, other=B, way="in", port=22)
    assert is_open([everybody], of=A, other=B, way="in", port=22)
