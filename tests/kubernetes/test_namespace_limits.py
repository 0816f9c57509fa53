"""How much of what a tenant's namespace holds: cards, objects, storage, addresses. Tried by the tenant, and by a role RBAC lets through."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from scheduling.cluster.tenant_objects import TenantSpace
from tests.kubernetes.callers import Caller, is_denied, is_refused_by_rights, words_of
from tests.kubernetes.plane import plane
from tests.kubernetes.two_tenants import (
    CARDS,
    DRY,
    SMALL,
    TwoTenants,
    a_pod,
    a_space,
    is_ready,
    make_space,
    two_tenants,
    until,
)

GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def tenants() -> TwoTenants:
    return two_tenants()


def with_cards(count: int) -> dict[str, Any]:
    amounts = {key: {**values, GPU: str(count)} for key, values in SMALL.items()}
    return a_pod(container={"resources": amounts})


def check_tried_twice(tenants: TwoTenants, method: str, path: str, document: Any, *words: str) -> None:
    """403 by rights for the tenant, and denied for a role that has them, in words that name the cause."""
    for tenant in (tenants.job, tenants.member):
        assert is_refused_by_rights(tenant.ask(method, path, document))
    answer = tenants.permitted.ask(method, path, document)
    assert is_denied(answer, *words), words_of(answer)


def test_cards_beyond_the_quota_are_refused_even_to_berth_and_any_card_to_others(tenants: TwoTenants) -> None:
    """K27."""
    for cards in (1, 17):
        check_tried_twice(tenants, "POST", tenants.pods() + DRY, with_cards(cards), "only Berth gives out cards")

    answer = tenants.berth.ask("POST", tenants.pods() + DRY, with_cards(17))
    assert is_denied(answer, "exceeded quota: berth, requested: requests.nvidia.com/gpu=17"), words_of(answer)


def test_many_at_once_never_hold_more_than_the_quota(tenants: TwoTenants) -> None:
    """K27: eight at a time ask for four cards each of sixteen."""
    space = a_space(tenants.cluster, TenantSpace("sec-many", "prod", CARDS))

    def create(_number: int) -> int:
        caller = Caller("berth", tenants.berth.token, once=True)
        return caller.ask("POST", tenants.pods(space), with_cards(4)).status

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(create, range(8)))

    there = tenants.admin.send("GET", tenants.pods(space))["items"]
    assert answers.count(201) == len(there)
    assert 0 < len(there) <= 4
    assert set(answers) <= {201, 403, 409}


def test_a_namespace_that_is_not_counted_yet_takes_nothing(tenants: TwoTenants) -> None:
    """K27: in its first second, and while nobody counts, a quota holds nothing back. Others get no card, and Berth sends no run."""
    space = TenantSpace("sec-early", "prod", CARDS)
    with plane().paused("kube-controller-manager"):
        make_space(tenants.cluster, space)
        early = tenants.permitted.ask("POST", tenants.pods(space.namespace), with_cards(1))
        ready_early = is_ready(tenants.cluster, space.namespace)

    until(lambda: is_ready(tenants.cluster, space.namespace), "the namespace to be counted")

    assert is_denied(early, "only Berth gives out cards"), words_of(early)
    assert not ready_early
    assert is_denied(tenants.berth.ask("POST", tenants.pods(space.namespace), with_cards(17)), "exceeded quota")


def test_no_pod_keeps_other_tenants_away_by_affinity(tenants: TwoTenants) -> None:
    """K24: behind the policy stands a quota of none."""
    quota = f"/api/v1/namespaces/{tenants.a}/resourcequotas/berth-other-namespaces"

    until(lambda: tenants.admin.send("GET", quota)["status"].get("hard") == {"pods": "0"}, "the quota")


COUNTED: dict[str, Any] = {
    "pods": a_pod(),
    "services": {"metadata": {"generateName": "x-"}, "spec": {"clusterIP": "None"}},
    "configmaps": {"metadata": {"generateName": "x-"}},
    "secrets": {"metadata": {"generateName": "x-"}},
    "persistentvolumeclaims": {
        "metadata": {"generateName": "x-"},
        "spec": {
            "storageClassName": "berth-fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
}


def test_a_flood_of_objects_ends_at_the_limit(tenants: TwoTenants) -> None:
    """K28. Events are not among them: no quota counts them, they go by themselves after an hour, and no tenant may write one."""
    space = a_space(tenants.cluster, TenantSpace("sec-flood", "prod", CARDS))
    quota = f"/api/v1/namespaces/{space}/resourcequotas/berth"
    certificates = f"/api/v1/namespaces/{space}/configmaps/kube-root-ca.crt"
    until(lambda: tenants.admin.ask("GET", certificates).status == 200, "the cluster's own config map")
    few = dict.fromkeys(COUNTED, "2")
    tenants.admin.merge(quota, {"spec": {"hard": few}})
    until(lambda: few.items() <= tenants.admin.send("GET", quota)["status"]["hard"].items(), "the limits to be counted")

    for plural, document in COUNTED.items():
        path = f"/api/v1/namespaces/{space}/{plural}"
        answers = [tenants.permitted.ask("POST", path, document) for _number in range(3)]
        made = [answer.status for answer in answers].count(201)
        assert made == (1 if plural == "configmaps" else 2), plural
        assert is_denied(answers[-1], "exceeded quota: berth"), words_of(answers[-1])
        assert is_refused_by_rights(tenants.member.ask("POST", f"/api/v1/namespaces/{tenants.a}/{plural}", document))


@pytest.mark.parametrize(
    "path", ["/apis/batch/v1/namespaces/{}/jobs", "/apis/coordination.k8s.io/v1/namespaces/{}/leases"]
)
def test_what_nobody_needs_in_a_namespace_is_not_made(tenants: TwoTenants, path: str) -> None:
    """K28."""
    template = {"spec": {**a_pod()["spec"]}}
    spec = {"template": template} if path.endswith("jobs") else {"holderIdentity": "x"}
    document = {"metadata": {"name": "x"}, "spec": spec}

    check_tried_twice(tenants, "POST", path.format(tenants.a) + DRY, document, "exceeded quota: berth")


def a_claim(size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    whole = {
        "storageClassName": "berth-fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        **spec,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"generateName": "x-"}, "spec": whole}


OTHERS_DATA = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "of-b"}
CLAIMS = {
    "class-not-granted": (a_claim(storageClassName="premium"), "names one of Berth's storage classes"),
    "no-class": (a_claim(storageClassName=""), "names one of Berth's storage classes"),
    "above-the-quota": (a_claim("101Gi"), "exceeded quota: berth"),
    "volume-of-another": (a_claim(volumeName="pv-of-b"), "a claim starts empty"),
    "snapshot-of-another": (a_claim(dataSource=OTHERS_DATA), "a claim starts empty"),
    "claim-of-another": (
        a_claim(dataSourceRef={"kind": "PersistentVolumeClaim", "name": "x"}),
        "a claim starts empty",
    ),
}


@pytest.mark.parametrize(("claim", "words"), CLAIMS.values(), ids=list(CLAIMS))
def test_a_claim_is_of_a_granted_class_within_the_quota_and_empty(
    tenants: TwoTenants, claim: dict[str, Any], words: str
) -> None:
    """K30."""
    path = f"/api/v1/namespaces/{tenants.a}/persistentvolumeclaims{DRY}"

    check_tried_twice(tenants, "POST", path, claim, words)


def test_a_claim_does_not_grow_above_the_quota(tenants: TwoTenants) -> None:
    """K30."""
    place = f"/api/v1/namespaces/{tenants.a}/persistentvolumeclaims"
    name = tenants.permitted.ask("POST", place, a_claim()).body["metadata"]["name"]
    larger = {"spec": {"resources": {"requests": {"storage": "101Gi"}}}}
    try:
        for caller in (tenants.job, tenants.member):
            assert is_refused_by_rights(caller.ask("PATCH", f"{place}/{name}", larger, kind="merge-patch+json"))
        answer = tenants.permitted.ask("PATCH", f"{place}/{name}", larger, kind="merge-patch+json")
        assert is_denied(answer, "exceeded quota: berth", "can be resized", "immutable"), words_of(answer)
    finally:
        tenants.admin.send("DELETE", f"{place}/{name}")


PORTS = [{"port": 80}]
SERVICES = {
    "node-port": {"type": "NodePort", "ports": PORTS},
    "load-balancer": {"type": "LoadBalancer", "ports": PORTS},
    "external-name": {"type": "ExternalName", "externalName": "kubernetes.default.svc"},
    "external-ips": {"externalIPs": ["10.0.0.7"], "ports": PORTS},
}


@pytest.mark.parametrize("spec", SERVICES.values(), ids=list(SERVICES))
def test_a_service_stays_inside_the_cluster(tenants: TwoTenants, spec: dict[str, Any]) -> None:
    """K32."""
    path = f"/api/v1/namespaces/{tenants.a}/services{DRY}"

    check_tried_twice(tenants, "POST", path, {"metadata": {"name": "x"}, "spec": spec}, "services are of the type")


ADDRESS = {"addresses": ["10.1.0.9"], "conditions": {"ready": True}}
TRAFFIC: dict[str, tuple[str, dict[str, Any]]] = {
    "endpoints": ("/api/v1", {"subsets": [{"addresses": [{"ip": "10.1.0.9"}], "ports": PORTS}]}),
    "endpointslices": ("/apis/discovery.k8s.io/v1", {"addressType": "IPv4", "endpoints": [ADDRESS], "ports": []}),
    "ingresses": (
        "/apis/networking.k8s.io/v1",
        {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}},
    ),
}


@pytest.mark.parametrize("plural", list(TRAFFIC))
def test_no_traffic_is_led_elsewhere(tenants: TwoTenants, plural: str) -> None:
    """K32."""
    root, body = TRAFFIC[plural]
    path = f"{root}/namespaces/{tenants.a}/{plural}{DRY}"

    check_tried_twice(tenants, "POST", path, {"metadata": {"name": "x"}, **body}, "the cluster's own")
