"""The wall behind RBAC: what a cluster admits into tenants' namespaces, and what only Berth may do there (section 7).

PURE: plain documents, installed by the cluster's administrator from deploy/kubernetes/cluster/ and only compared by Berth: a stolen
credential of Berth's must not be able to open its own fence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduling.cluster import names
from scheduling.cluster.admission_rules import (
    BREAK_GLASS,
    CLAIM_RULES,
    HOME_RULES,
    IDENTITY_RULES,
    IMAGE_LIST_RULES,
    NAMESPACE_RULES,
    NODE_RULES,
    OUR_OBJECTS_RULES,
    PART_OF_CLUSTER,
    PLATFORM,
    POD_RULES,
    SERVICE_RULES,
    TRAFFIC_RULES,
    Rules,
)

Document = dict[str, Any]

SYSTEM_NAMESPACE = "berth-system"
IMAGES = "berth-images"
"""A ConfigMap of the system namespace: the images that tenants may run, one prefix a line of `allowed`. Without it, all."""
_VERSION = "admissionregistration.k8s.io/v1"
_IN_TENANTS = {"matchExpressions": [{"key": names.TENANT, "operator": "Exists"}]}
_ELSEWHERE = {"matchExpressions": [{"key": names.TENANT, "operator": "DoesNotExist"}]}
_WRITES = ("CREATE", "UPDATE")


def admission_objects() -> tuple[Document, ...]:
    """Every policy, each followed by its binding."""
    pods = (_rule("", _WRITES, "pods"), _rule("", ("UPDATE",), "pods/ephemeralcontainers"))
    named = (
        _rule("", _WRITES, "pods", "services", "secrets", "configmaps", "persistentvolumeclaims"),
        _rule("", ("CREATE",), "pods/binding"),
    )
    managed = (
        _rule("", (*_WRITES, "DELETE"), "resourcequotas", "limitranges", "serviceaccounts"),
        _rule("rbac.authorization.k8s.io", (*_WRITES, "DELETE"), "roles", "rolebindings"),
        _rule("networking.k8s.io", (*_WRITES, "DELETE"), "networkpolicies"),
    )
    traffic = (
        _rule("", _WRITES, "endpoints"),
        _rule("discovery.k8s.io", _WRITES, "endpointslices"),
        _rule("networking.k8s.io", _WRITES, "ingresses"),
        _rule("gateway.networking.k8s.io", _WRITES, "*"),
    )
    changed = "request.operation == 'CREATE' || object.spec != oldObject.spec"
    others, strangers = {"no-break-glass": f"!({BREAK_GLASS})"}, {"not-berth": f"!({BREAK_GLASS}) && !({PLATFORM})"}
    return (
        *_policy("berth-pods", pods, POD_RULES, conditions={"content-changes": changed}),
        *_policy("berth-images", pods, IMAGE_LIST_RULES, conditions={"content-changes": changed}, images=True),
        *_policy("berth-identity", named, IDENTITY_RULES, conditions=strangers),
        *_policy("berth-managed", managed, OUR_OBJECTS_RULES, conditions=strangers),
        *_policy("berth-services", (_rule("", _WRITES, "services"),), SERVICE_RULES, conditions=others),
        *_policy("berth-claims", (_rule("", _WRITES, "persistentvolumeclaims"),), CLAIM_RULES, conditions=others),
        *_policy("berth-traffic", traffic, TRAFFIC_RULES, conditions={**others, "no-part": f"!({PART_OF_CLUSTER})"}),
        *_policy(
            "berth-namespaces", (_rule("", _WRITES, "namespaces"),), NAMESPACE_RULES, conditions=others, where=None
        ),
        *_policy(
            "berth-nodes", (_rule("", ("UPDATE",), "nodes"),), NODE_RULES, conditions={"berth": PLATFORM}, where=None
        ),
        *_policy(
            "berth-stays-home",
            (_rule("*", (*_WRITES, "DELETE", "CONNECT"), "*/*", scope="Namespaced"),),
            HOME_RULES,
            conditions={"berth": PLATFORM},
            where=_ELSEWHERE,
        ),
    )


def _rule(group: str, operations: Sequence[str], *resources: str, scope: str = "*") -> Document:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": scope,
    }


def _policy(
    name: str,
    matched: Sequence[Document],
    rules: Rules,
    *,
    conditions: Mapping[str, str],
    where: Document | None = _IN_TENANTS,
    images: bool = False,
) -> tuple[Document, Document]:
    """A policy that fails closed, and the binding that makes it deny. With `images` its parameter is the list of images."""
    selector = {} if where is None else {"namespaceSelector": where}
    spec: Document = {
        "failurePolicy": "Fail",
        **({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}} if images else {}),
        "matchConstraints": {**selector, "resourceRules": list(matched)},
        "matchConditions": [{"name": key, "expression": value} for key, value in conditions.items()],
        "variables": [{"name": key, "expression": value} for key, value in rules.variables.items()],
        "validations": [{"expression": rule, "message": words} for words, rule in rules.checks.items()],
    }
    given = {"name": IMAGES, "namespace": SYSTEM_NAMESPACE, "parameterNotFoundAction": "Allow"}
    bound: Document = {
        "policyName": name,
        **({"paramRef": given} if images else {}),
        "validationActions": ["Deny"],
    }
    return (
        _document("ValidatingAdmissionPolicy", name, {key: value for key, value in spec.items() if value}),
        _document("ValidatingAdmissionPolicyBinding", name, bound),
    )


def _document(kind: str, name: str, spec: Document) -> Document:
    metadata = {"name": name, "labels": {"app.kubernetes.io/part-of": "berth"}}
    return {"apiVersion": _VERSION, "kind": kind, "metadata": metadata, "spec": spec}
