"""What pods a tenant's namespace admits. The tenant has no right to make any; a role that RBAC lets through is denied by admission.

Each pod is right but for one thing, and a pod that is right is admitted.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from testplane import installed

from tests.kubernetes.callers import is_denied, is_refused_by_policy, is_refused_by_rights, words_of
from tests.kubernetes.two_tenants import DRY, SMALL, TwoTenants, a_pod, run_of, two_tenants, until

POD_SECURITY = "violates PodSecurity"
NEVER = "disallowed by cluster policy"
"""Of an API server that allows no privileged container at all."""
WEAK = {
    "privileged": {"privileged": True, "allowPrivilegeEscalation": True},
    "escalation": {"allowPrivilegeEscalation": True},
    "capabilities": {"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}},
    "root": {"runAsUser": 0},
    "unmasked-proc": {"procMount": "Unmasked"},
    "seccomp": {"seccompProfile": {"type": "Unconfined"}},
    "apparmor": {"appArmorProfile": {"type": "Unconfined"}},
    "selinux": {"seLinuxOptions": {"type": "spc_t"}},
}
HOST = {
    "network": a_pod(hostNetwork=True),
    "pid": a_pod(hostPID=True),
    "ipc": a_pod(hostIPC=True),
    "port": a_pod(container={"ports": [{"containerPort": 80, "hostPort": 8080}]}),
    "init-port": a_pod(init={"ports": [{"containerPort": 80, "hostPort": 8080}]}),
    "path": a_pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]),
    "probe": a_pod(container={"livenessProbe": {"tcpSocket": {"host": "10.0.0.1", "port": 22}}}),
    "lifecycle": a_pod(container={"lifecycle": {"postStart": {"httpGet": {"host": "10.0.0.1", "port": 80}}}}),
}
FAR = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {}, "labelSelector": {}}
    ]
}
RESERVED = {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "berth.dev/pool", "operator": "In", "values": ["ext-d"]}]}]
}
PLACED = {
    "node-name": a_pod(nodeName="n0"),
    "node-selector": a_pod(nodeSelector={"berth.dev/pool": "ext-d"}),
    "node-affinity": a_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": RESERVED}}),
    "scheduler": a_pod(schedulerName="another"),
    "runtime-class": a_pod(runtimeClassName="foreign"),
    "spread": a_pod(
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    ),
    "anti-affinity": a_pod(affinity={"podAntiAffinity": FAR}),
}
FOR_EVER = {"effect": "NoExecute", "operator": "Exists"}
TOLERATED = {
    "everything": {"operator": "Exists"},
    "control-plane": {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
    "pool": {"key": "berth.dev/pool", "value": "ext-d", "effect": "NoSchedule"},
    "not-ready": {"key": "node.kubernetes.io/not-ready", **FOR_EVER},
    "unreachable": {"key": "node.kubernetes.io/unreachable", **FOR_EVER, "tolerationSeconds": 86_400},
}
MOUNTED = {
    "nfs": {"nfs": {"server": "10.0.0.1", "path": "/"}},
    "iscsi": {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.example:a", "lun": 0}},
    "cephfs": {"cephfs": {"monitors": ["10.0.0.1"]}},
    "csi": {"csi": {"driver": "secrets-store.csi.k8s.io"}},
    "flex": {"flexVolume": {"driver": "example/driver"}},
    "git": {"gitRepo": {"repository": "https://example.org/x.git"}},
    "image": {"image": {"reference": "registry.example/data:1"}},
    "ephemeral": {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
    "token": {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    "boundless": {"emptyDir": {}},
}  # fmt: skip
NO_REQUEST = {"limits": {"memory": "1Gi"}}
ASKED = {
    "nothing": a_pod(container={"resources": {}}),
    "no-cpu": a_pod(container={"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}}),
    "no-memory-limit": a_pod(container={"resources": {"requests": SMALL["requests"]}}),
    "init-nothing": a_pod(init={"resources": {}}),
    "more-than-any-node": a_pod(
        container={"resources": {"requests": {"cpu": "1", "memory": "9Ti"}, "limits": {"memory": "9Ti"}}}
    ),
    "cards-unlike": a_pod(container={"resources": {**SMALL, "requests": {**SMALL["requests"], "nvidia.com/gpu": "1"}}}),
}


@pytest.fixture(scope="module")
def tenants() -> TwoTenants:
    return two_tenants()


@pytest.fixture(scope="module")
def unguarded(tenants: TwoTenants) -> str:
    """A tenant's namespace whose Pod Security somebody broke open: the policies stand by themselves."""
    name = "sec-open-prod"
    metadata = {"name": name, "labels": {"berth.dev/tenant": "sec-open"}}
    installed.apply(tenants.admin, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until(lambda: tenants.admin.ask("GET", account).status == 200, "the namespace's account")
    return name


def check_tried_twice(tenants: TwoTenants, pod: dict[str, Any], *words: str) -> None:
    """403 by rights for the tenant, and denied for a role that has them, in words that name the cause."""
    for tenant in (tenants.job, tenants.member):
        assert is_refused_by_rights(tenant.ask("POST", tenants.pods() + DRY, pod))
    answer = tenants.permitted.ask("POST", tenants.pods() + DRY, pod)
    assert is_denied(answer, *words), words_of(answer)


def test_a_pod_that_is_right_is_admitted(tenants: TwoTenants, unguarded: str) -> None:
    for namespace in (tenants.a, unguarded):
        answer = tenants.permitted.ask("POST", tenants.pods(namespace) + DRY, a_pod(init={}))
        assert answer.status == 201, words_of(answer)


@pytest.mark.parametrize("where", ["container", "init"])
@pytest.mark.parametrize("security", WEAK.values(), ids=list(WEAK))
def test_no_container_with_more_than_restricted_rights(tenants: TwoTenants, where: str, security: Any) -> None:
    """K16."""
    check_tried_twice(tenants, a_pod(**{where: {"securityContext": security}}), POD_SECURITY, NEVER, "hostUsers")


def test_no_unsafe_kernel_settings(tenants: TwoTenants) -> None:
    """K16."""
    security = {**a_pod()["spec"]["securityContext"], "sysctls": [{"name": "kernel.msgmax", "value": "1"}]}

    check_tried_twice(tenants, a_pod(securityContext=security), POD_SECURITY)


def test_no_ephemeral_container_comes_in(tenants: TwoTenants) -> None:
    """K16, K12: whatever it asks for."""
    run = run_of(tenants.a, job=21)
    assert tenants.cluster.create_run(run, timeout_s=30).whole
    path = f"{tenants.pods()}/{run.pods[0]['metadata']['name']}/ephemeralcontainers{DRY}"
    added = {"name": "debug", "image": "registry.example/team/shell:1", "securityContext": {"privileged": True}}
    body = {"spec": {"ephemeralContainers": [added]}}
    try:
        for tenant in (tenants.job, tenants.member):
            assert is_refused_by_rights(tenant.ask("PATCH", path, body, kind="strategic-merge-patch+json"))
        for security in ({"privileged": True}, a_pod()["spec"]["containers"][0]["securityContext"]):
            body = {"spec": {"ephemeralContainers": [{**added, "securityContext": security}]}}
            answer = tenants.permitted.ask("PATCH", path, body, kind="strategic-merge-patch+json")
            assert is_denied(answer, POD_SECURITY, NEVER, "no ephemeral containers"), words_of(answer)
    finally:
        tenants.cluster.delete_run(tenants.a, run.name, timeout_s=30)


@pytest.mark.parametrize("pod", HOST.values(), ids=list(HOST))
def test_no_pod_reaches_its_host(tenants: TwoTenants, unguarded: str, pod: dict[str, Any]) -> None:
    """K17: by Pod Security, and by the policy where that was broken open."""
    check_tried_twice(tenants, pod, POD_SECURITY, "no access to the host")

    answer = tenants.permitted.ask("POST", tenants.pods(unguarded) + DRY, pod)
    assert is_refused_by_policy(answer), words_of(answer)
    assert "no access to the host" in words_of(answer)


TEMPLATES = {
    "deployments": "/apis/apps/v1", "statefulsets": "/apis/apps/v1", "replicasets": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1", "jobs": "/apis/batch/v1", "cronjobs": "/apis/batch/v1",
    "podtemplates": "/api/v1", "replicationcontrollers": "/api/v1",
}  # fmt: skip


@pytest.mark.parametrize("plural", list(TEMPLATES))
def test_no_controller_makes_pods_for_a_tenant(tenants: TwoTenants, plural: str) -> None:
    """K18: not even for pods that nothing is wrong with."""
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": a_pod()["spec"]}
    always = {**template, "spec": {**template["spec"], "restartPolicy": "Always"}}
    specs: dict[str, Any] = {
        "jobs": {"spec": {"template": template}},
        "cronjobs": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}},
        "podtemplates": {"template": template},
        "replicationcontrollers": {"spec": {"selector": labels, "template": always}},
        "statefulsets": {"spec": {"selector": {"matchLabels": labels}, "serviceName": "x", "template": always}},
    }
    body = specs.get(plural, {"spec": {"selector": {"matchLabels": labels}, "template": always}})
    path = f"{TEMPLATES[plural]}/namespaces/{tenants.a}/{plural}{DRY}"
    document = {"metadata": {"name": "x"}, **body}

    for tenant in (tenants.job, tenants.member):
        assert is_refused_by_rights(tenant.ask("POST", path, document))
    answer = tenants.permitted.ask("POST", path, document)
    assert is_denied(answer, "exceeded quota: berth"), words_of(answer)


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical", "berth-production"])
def test_no_priority_is_taken(tenants: TwoTenants, name: str) -> None:
    """K21."""
    check_tried_twice(tenants, a_pod(priorityClassName=name), "the priority class has to be", "system-")
    check_tried_twice(tenants, a_pod(priority=1_000_000), "priority")


def test_berth_itself_gives_a_run_no_class_but_its_tiers(tenants: TwoTenants) -> None:
    """K21."""
    pod = copy.deepcopy(dict(run_of(tenants.a, job=22).pods[0]))
    right = tenants.berth.ask("POST", tenants.pods() + DRY, pod)
    pod["spec"]["priorityClassName"] = "berth-production"

    above = tenants.berth.ask("POST", tenants.pods() + DRY, pod)

    assert right.status == 201, words_of(right)
    assert is_refused_by_policy(above)


@pytest.mark.parametrize("toleration", TOLERATED.values(), ids=list(TOLERATED))
def test_no_taint_is_tolerated(tenants: TwoTenants, toleration: dict[str, Any]) -> None:
    """K22."""
    check_tried_twice(tenants, a_pod(tolerations=[toleration]), "no tolerations beyond")


@pytest.mark.parametrize("pod", PLACED.values(), ids=list(PLACED))
def test_no_pod_chooses_its_place(tenants: TwoTenants, pod: dict[str, Any]) -> None:
    """K23, K24."""
    foreign = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "foreign"}, "handler": "x"}
    tenants.admin.ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", foreign)

    check_tried_twice(tenants, pod, "only Berth names a pod's node", "Berth places pods by name", "RuntimeClass")


@pytest.mark.parametrize("pod", ASKED.values(), ids=list(ASKED))
def test_a_pod_says_what_it_needs_and_no_more_than_a_node_has(tenants: TwoTenants, pod: dict[str, Any]) -> None:
    """K25."""
    check_tried_twice(
        tenants, pod, "every container has to ask", "No limit is specified", "No request is specified",
        "maximum memory usage per Pod", "must be equal to nvidia.com/gpu", "Limit must be set",
    )  # fmt: skip


@pytest.mark.parametrize("volume", MOUNTED.values(), ids=list(MOUNTED))
def test_no_volume_but_of_the_allowed_kinds(tenants: TwoTenants, volume: dict[str, Any]) -> None:
    """K31."""
    pod = a_pod(volumes=[{"name": "v", **volume}])

    check_tried_twice(tenants, pod, POD_SECURITY, "volumes are claims", "spec.volumes[0]")


@pytest.mark.parametrize("labels", [{"berth.dev/job": "7"}, {"label.berth.dev/x": "y"}, {"berth.dev/tenant": "sec-b"}])
def test_no_pod_passes_for_one_of_berths(tenants: TwoTenants, labels: dict[str, str]) -> None:
    """K14, F03."""
    check_tried_twice(tenants, a_pod(metadata={"labels": labels}), "are Berth's alone", "has to be that of the")


@pytest.mark.parametrize("account", ["berth-members", "another"])
def test_no_pod_runs_as_another_account(tenants: TwoTenants, account: str) -> None:
    """K05, K20."""
    check_tried_twice(tenants, a_pod(serviceAccountName=account), "pods run as the account", "not found")
    check_tried_twice(tenants, a_pod(automountServiceAccountToken=True), "pods run as the account", "volumes are")


STRANGE = {
    "upper-case": "registry.example/Team/train:1",
    "unicode": "registry.example/tеam/train:1",
    "newline": "registry.example/team/train:1\n",
    "space": "registry.example/team/train: 1",
    "short-digest": "registry.example/team/train@sha256:abc",
    "scheme": "https://registry.example/team/train:1",
    "climbing": "registry.example/team/../other:1",
}


@pytest.mark.parametrize("image", STRANGE.values(), ids=list(STRANGE))
def test_no_image_by_a_strange_name(tenants: TwoTenants, image: str) -> None:
    """K34."""
    check_tried_twice(tenants, a_pod(container={"image": image}), "an image is written in lower case", ".image")
    check_tried_twice(tenants, a_pod(init={"image": image}), "an image is written in lower case", ".image")


@contextmanager
def listed_images(tenants: TwoTenants, *allowed: str) -> Iterator[None]:
    """Only these may run, until the end of the block."""
    name = {"name": "berth-images", "namespace": "berth-system"}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"allowed": "\n".join(allowed)}}
    path = "/api/v1/namespaces/berth-system/configmaps"
    other = a_pod(container={"image": "elsewhere.example/x:1"})

    def is_in_force() -> bool:
        return tenants.permitted.ask("POST", tenants.pods() + DRY, other).status != 201

    tenants.admin.send("POST", path, document)
    try:
        until(is_in_force, "the list to be in force")
        yield
    finally:
        tenants.admin.send("DELETE", f"{path}/berth-images")
        until(lambda: not is_in_force(), "the list to be gone")


def test_only_listed_images_run_where_there_is_a_list(tenants: TwoTenants) -> None:
    """K34: an entry is a whole path or a part of one, never the beginning of a name."""
    not_listed = (
        "elsewhere.example/team/train:1",
        "registry.example.evil/team/train:1",
        "registry.example/teams/train:1",
        "registry.example/tools/fetch:3",
        "registry.example/tools/fetch:2x",
        "python:3",
    )

    with listed_images(tenants, "registry.example/team/", "registry.example/tools/fetch:2"):
        for image in not_listed:
            check_tried_twice(tenants, a_pod(container={"image": image}), "not on the list of images")
            check_tried_twice(tenants, a_pod(init={"image": image}), "not on the list of images")
        for image in ("registry.example/team/a:1", "registry.example/tools/fetch:2"):
            answer = tenants.permitted.ask("POST", tenants.pods() + DRY, a_pod(container={"image": image}))
            assert answer.status == 201, words_of(answer)


def test_an_object_too_large_is_refused_and_the_server_goes_on(tenants: TwoTenants) -> None:
    """K29."""
    labels = {f"x{number}": "y" for number in range(10_000)}
    long = [{"name": "LONG", "value": "x" * 1_000_000}]
    check_tried_twice(tenants, a_pod(metadata={"labels": labels}), "at most 256 labels")
    check_tried_twice(tenants, a_pod(container={"env": long}), "at most 256 labels and 256 KiB")
    large = {"metadata": {"name": "large"}, "data": {"x": "y" * (1024 * 1024 + 1)}}
    path = f"/api/v1/namespaces/{tenants.a}/configmaps{DRY}"

    assert is_refused_by_rights(tenants.member.ask("POST", path, large))
    assert is_denied(tenants.permitted.ask("POST", path, large), "Too long", "may not be more than")
    assert tenants.member.ask("GET", tenants.pods()).status == 200
