"""The rules of admission, as CEL expressions by the words that a refusal says. PURE: text only.

Every check of a pod looks at containers, init containers and ephemeral ones alike, and at every volume.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PLATFORM_USER = "system:serviceaccount:berth-system:berth"
"""Who Berth is in every cluster, whether it runs there or not."""
PLATFORM = f"request.userInfo.username == '{PLATFORM_USER}'"
BREAK_GLASS = "'system:masters' in request.userInfo.groups"
"""Whom no authorisation holds either: the administrator's way in when everything else is shut."""
PART_OF_CLUSTER = (
    "request.userInfo.username.startsWith('system:serviceaccount:kube-system:')"
    " || request.userInfo.username in ['system:kube-controller-manager', 'system:kube-scheduler', 'system:apiserver']"
    " || 'system:nodes' in request.userInfo.groups"
)


@dataclass(frozen=True, slots=True)
class Rules:
    """`checks`: what is said when a check fails → the expression that has to hold. `variables` stand for parts of them."""

    checks: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)


def _given(path: str, otherwise: str) -> str:
    return f"(has({path}) ? {path} : {otherwise})"


_LABELS = "has(object.metadata.labels) ? object.metadata.labels : {}"
_CONTAINERS = (
    f"object.spec.containers + {_given('object.spec.initContainers', '[]')}"
    f" + {_given('object.spec.ephemeralContainers', '[]')}"
)
_IMAGE = (
    r"^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[a-f0-9]{64})?$"
)
_DEFAULT_TOLERATION = (
    "has(t.key) && has(t.effect)"
    " && ((t.key in ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] && t.effect == 'NoExecute'"
    " && has(t.tolerationSeconds) && t.tolerationSeconds <= 300)"
    " || (t.key == 'node.kubernetes.io/memory-pressure' && t.effect == 'NoSchedule')"
    " || (variables.platform && t.key.startsWith('berth.dev/')))"
)
_HOSTS_OF_PROBES = " && ".join(
    f"(!has(c.{probe}) || ((!has(c.{probe}.httpGet) || !has(c.{probe}.httpGet.host))"
    f" && (!has(c.{probe}.tcpSocket) || !has(c.{probe}.tcpSocket.host))))"
    for probe in ("livenessProbe", "readinessProbe", "startupProbe")
)

POD_RULES = Rules(
    variables={
        "platform": PLATFORM,
        "labels": _LABELS,
        "containers": _CONTAINERS,
        "volumes": _given("object.spec.volumes", "[]"),
    },
    checks={
        "the priority class has to be the one of the run's tier": (
            "!has(object.spec.priorityClassName) || ('berth.dev/tier' in variables.labels"
            " && variables.labels['berth.dev/tier'] in ['production', 'development', 'batch']"
            " && object.spec.priorityClassName == 'berth-' + variables.labels['berth.dev/tier'])"
        ),
        "no tolerations beyond the cluster's own": (
            f"!has(object.spec.tolerations) || object.spec.tolerations.all(t, {_DEFAULT_TOLERATION})"
        ),
        "no node selector, affinity, spread, scheduler or runtime class: Berth places pods by name": (
            "(!has(object.spec.nodeSelector) || size(object.spec.nodeSelector) == 0) && !has(object.spec.affinity)"
            " && (!has(object.spec.topologySpreadConstraints) || size(object.spec.topologySpreadConstraints) == 0)"
            " && (!has(object.spec.schedulerName) || object.spec.schedulerName == 'default-scheduler')"
            " && !has(object.spec.runtimeClassName)"
        ),
        "no access to the host: network, processes, IPC, ports, paths": (
            "!(has(object.spec.hostNetwork) && object.spec.hostNetwork)"
            " && !(has(object.spec.hostPID) && object.spec.hostPID)"
            " && !(has(object.spec.hostIPC) && object.spec.hostIPC)"
            " && !variables.volumes.exists(v, has(v.hostPath))"
            " && variables.containers.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))"
            f" && variables.containers.all(c, !has(c.lifecycle) && {_HOSTS_OF_PROBES})"
        ),
        "volumes are claims, secrets, config maps, the pod's own fields, and empty directories with a size limit": (
            "variables.volumes.all(v, has(v.persistentVolumeClaim) || has(v.secret) || has(v.configMap)"
            " || has(v.downwardAPI) || (has(v.emptyDir) && has(v.emptyDir.sizeLimit)))"
        ),
        "pods run as the account `default`, without its token": (
            "(!has(object.spec.serviceAccountName) || object.spec.serviceAccountName in ['', 'default'])"
            " && has(object.spec.automountServiceAccountToken) && !object.spec.automountServiceAccountToken"
        ),
        "no ephemeral containers": (
            "!has(object.spec.ephemeralContainers) || size(object.spec.ephemeralContainers) == 0"
        ),
        "every container has to ask for CPU and memory and to limit its memory": (
            "variables.containers.all(c, has(c.resources) && has(c.resources.requests) && has(c.resources.limits)"
            " && 'cpu' in c.resources.requests && 'memory' in c.resources.requests && 'memory' in c.resources.limits)"
        ),
        "an image is written in lower case, as registry/path:tag or with a whole sha256 digest": (
            f"variables.containers.all(c, has(c.image) && c.image.matches(r'{_IMAGE}'))"
        ),
        "at most 256 labels and 256 KiB in an environment variable": (
            "size(variables.labels) <= 256 && variables.containers.all(c, !has(c.env)"
            " || c.env.all(e, !has(e.value) || size(e.value) <= 262144))"
        ),
        "the label berth.dev/tenant has to be that of the namespace": (
            "!('berth.dev/tenant' in variables.labels)"
            " || variables.labels['berth.dev/tenant'] == namespaceObject.metadata.labels['berth.dev/tenant']"
        ),
    },
)

IMAGE_LIST_RULES = Rules(
    variables={
        "allowed": (
            "has(params.data) && 'allowed' in params.data"
            r" ? params.data.allowed.split('\n').map(l, l.trim()).filter(l, l != '') : []"
        ),
        "containers": _CONTAINERS,
    },
    checks={
        "the image is not on the list of images that may run here (ConfigMap berth-images)": (
            "size(variables.allowed) == 0 || variables.containers.all(c, has(c.image) && variables.allowed.exists(a,"
            " c.image == a || c.image.startsWith(a.endsWith('/') ? a : a + '/')"
            " || (!a.endsWith('/') && (c.image.startsWith(a + ':') || c.image.startsWith(a + '@')))))"
        )
    },
)
"""An entry is a whole path or a part that ends at `/`, `:` or `@`: `registry.example` never lets `registry.example.evil` in."""

_OURS = (
    "(k.startsWith('berth.dev/') || k.startsWith('label.berth.dev/') || k == 'app.kubernetes.io/managed-by' &&"
    " {of}[k] == 'berth')"
)


def _same(new: str, old: str) -> str:
    """Nothing of ours in one of two maps that is not the same in the other."""
    return (
        f"variables.{new}.all(k, !{_OURS.format(of=f'variables.{new}')}"
        f" || (k in variables.{old} && variables.{old}[k] == variables.{new}[k]))"
        f" && variables.{old}.all(k, !{_OURS.format(of=f'variables.{old}')} || k in variables.{new})"
    )


def _old(path: str, otherwise: str) -> str:
    return f"oldObject != null && has(oldObject.{path}) ? oldObject.{path} : {otherwise}"


_MAPS = {
    "labels": _LABELS,
    "oldLabels": _old("metadata.labels", "{}"),
    "notes": "has(object.metadata.annotations) ? object.metadata.annotations : {}",
    "oldNotes": _old("metadata.annotations", "{}"),
}
IDENTITY_RULES = Rules(
    variables={
        **_MAPS,
        "part": f"request.operation == 'UPDATE' && ({PART_OF_CLUSTER})",
        "binding": "has(request.subResource) && request.subResource == 'binding'",
    },
    checks={
        "labels of berth.dev/ are Berth's alone": f"variables.part || ({_same('labels', 'oldLabels')})",
        "annotations of berth.dev/ are Berth's alone": f"variables.part || ({_same('notes', 'oldNotes')})",
        "finalizers and owners in a tenant's namespace are Berth's alone": (
            "variables.part || variables.binding || request.resource.resource == 'persistentvolumeclaims'"
            f" || ({_given('object.metadata.finalizers', '[]')} == ({_old('metadata.finalizers', '[]')})"
            f" && {_given('object.metadata.ownerReferences', '[]')} == ({_old('metadata.ownerReferences', '[]')}))"
        ),
        "only Berth names a pod's node": (
            "request.resource.resource != 'pods' || (variables.binding"
            " ? request.userInfo.username == 'system:kube-scheduler'"
            " : request.operation != 'CREATE' || !has(object.spec.nodeName) || object.spec.nodeName == '')"
        ),
        "only Berth gives out cards": (
            "request.resource.resource != 'pods' || variables.binding || request.operation != 'CREATE'"
            f" || (object.spec.containers + {_given('object.spec.initContainers', '[]')}).all(c,"
            " !has(c.resources) || ((!has(c.resources.requests) || c.resources.requests.all(k, !k.contains('/')))"
            " && (!has(c.resources.limits) || c.resources.limits.all(k, !k.contains('/')))))"
        ),
    },
)

_MANAGED = "'app.kubernetes.io/managed-by' in {0} && {0}['app.kubernetes.io/managed-by'] == 'berth'"
_SINCE = {
    "labels": "object != null && has(object.metadata.labels) ? object.metadata.labels : {}",
    "oldLabels": _old("metadata.labels", "{}"),
}
OUR_OBJECTS_RULES = Rules(
    variables={
        **_SINCE,
        "ours": f"({_MANAGED.format('variables.oldLabels')}) || ({_MANAGED.format('variables.labels')})",
    },
    checks={
        "what Berth keeps in a tenant's namespace only Berth changes": (
            f"!variables.ours || (request.operation != 'CREATE' && ({PART_OF_CLUSTER}))"
        )
    },
)

SERVICE_RULES = Rules(
    checks={
        "services are of the type ClusterIP, without external addresses or names": (
            "(!has(object.spec.type) || object.spec.type == 'ClusterIP')"
            " && (!has(object.spec.externalIPs) || size(object.spec.externalIPs) == 0)"
            " && (!has(object.spec.externalName) || object.spec.externalName == '')"
        )
    },
)

CLAIM_RULES = Rules(
    variables={"part": PART_OF_CLUSTER},
    checks={
        "a claim names one of Berth's storage classes": (
            "variables.part || (has(object.spec.storageClassName) && object.spec.storageClassName.startsWith('berth-'))"
        ),
        "a claim starts empty and names no volume": (
            "variables.part || ((!has(object.spec.volumeName) || object.spec.volumeName == ''"
            " || (oldObject != null && has(oldObject.spec.volumeName)"
            " && oldObject.spec.volumeName == object.spec.volumeName))"
            " && !has(object.spec.dataSource) && !has(object.spec.dataSourceRef))"
        ),
    },
)

TRAFFIC_RULES = Rules(
    checks={"endpoints and routes of a tenant's namespace are the cluster's own": "false"},
)

_FENCED = "k.startsWith('berth.dev/') || k.startsWith('pod-security.kubernetes.io/')"
NAMESPACE_RULES = Rules(
    variables={
        "platform": PLATFORM,
        "labels": _LABELS,
        "oldLabels": _old("metadata.labels", "{}"),
        "tenants": "'berth.dev/tenant' in variables.labels || 'berth.dev/tenant' in variables.oldLabels",
    },
    checks={
        "labels of berth.dev/ and of Pod Security are Berth's alone in a tenant's namespace": (
            "variables.platform || !variables.tenants"
            f" || (variables.labels.all(k, !({_FENCED}) || (k in variables.oldLabels"
            " && variables.oldLabels[k] == variables.labels[k]))"
            f" && variables.oldLabels.all(k, !({_FENCED}) || k in variables.labels))"
        ),
        "Berth takes no namespace that is not a tenant's, and keeps it restricted": (
            "!variables.platform || ('berth.dev/tenant' in variables.labels"
            " && 'pod-security.kubernetes.io/enforce' in variables.labels"
            " && variables.labels['pod-security.kubernetes.io/enforce'] == 'restricted'"
            " && (oldObject == null || ('berth.dev/tenant' in variables.oldLabels"
            " && variables.oldLabels['berth.dev/tenant'] == variables.labels['berth.dev/tenant'])))"
        ),
    },
)

NODE_RULES = Rules(
    variables={
        **_MAPS,
        "taints": "has(object.spec.taints) ? object.spec.taints : []",
        "oldTaints": _old("spec.taints", "[]"),
    },
    checks={
        "of a node Berth changes whether it takes pods, and annotations of its own": (
            "variables.labels == variables.oldLabels && variables.taints == variables.oldTaints"
            " && variables.notes.all(k, k.startsWith('berth.dev/')"
            " || (k in variables.oldNotes && variables.oldNotes[k] == variables.notes[k]))"
            " && variables.oldNotes.all(k, k.startsWith('berth.dev/') || k in variables.notes)"
        )
    },
)

HOME_RULES = Rules(checks={"Berth writes in tenants' namespaces and nowhere else": "false"})
