"""Tenants' namespaces are kept as they should be: drift, strangers, opened fences, second passes, and what is said of it. K39."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from testplane.installed import documents

from scheduling.control.one_pass import one_pass
from scheduling.control.tenant_spaces import reconcile_tenants
from tenants.models import AuditEvent
from tests.factories import a_queue, a_tenant, unique
from tests.kubernetes.scene import Real, a_tenant_on_pods
from tests.kubernetes.two_tenants import until

RBAC = "/apis/rbac.authorization.k8s.io/v1"
NET = "/apis/networking.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def places(real: Real) -> dict[str, str]:
    return {
        "quota": f"/api/v1/namespaces/{real.namespace}/resourcequotas/berth",
        "limits": f"/api/v1/namespaces/{real.namespace}/limitranges/berth",
        "fence": f"{NET}/namespaces/{real.namespace}/networkpolicies/berth-deny",
        "binding": f"{RBAC}/namespaces/{real.namespace}/rolebindings/berth-members",
    }


def contents(real: Real) -> dict[str, Any]:
    """What stands in each, without what the server notes beside it."""
    parts = ("spec", "subjects", "roleRef")
    found = {name: real.client.send("GET", path) for name, path in places(real).items()}
    return {name: {part: each.get(part) for part in parts} for name, each in found.items()}


def test_what_an_admin_deletes_or_edits_is_restored_and_kept_in_the_trail(real: Real) -> None:
    """K39."""
    before, at = contents(real), places(real)
    stranger = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
    real.client.merge(f"{at['quota']}?fieldManager=eve", {"spec": {"hard": {"pods": "7"}}})
    real.client.send("DELETE", at["limits"])
    real.client.merge(f"{at['fence']}?fieldManager=eve", {"spec": {"ingress": [{}], "egress": [{}]}})
    real.client.merge(f"{at['binding']}?fieldManager=eve", {"subjects": [stranger]})

    done = reconcile_tenants()

    assert contents(real) == before
    told = {line.split(" ", 1)[1] for line in done.changed}
    assert f"LimitRange {real.namespace}/berth: missing" in told
    assert f"NetworkPolicy {real.namespace}/berth-deny: spec (also written by eve)" in told
    assert f"RoleBinding {real.namespace}/berth-members: subjects (also written by eve)" in told
    assert len(told) == 4
    events = AuditEvent.objects.filter(action="cluster.drift-repaired", tenant=real.queue.tenant)
    assert {(event.detail["object"], event.detail["by"]) for event in events} == {
        (f"ResourceQuota {real.namespace}/berth", "also written by eve"),
        (f"LimitRange {real.namespace}/berth", ""),
        (f"NetworkPolicy {real.namespace}/berth-deny", "also written by eve"),
        (f"RoleBinding {real.namespace}/berth-members", "also written by eve"),
    }
    assert reconcile_tenants().changed == []


def test_a_binding_that_was_made_anew_to_another_role_is_put_right(real: Real) -> None:
    """K39: what a binding refers to cannot be edited, so it was deleted and made again."""
    path = places(real)["binding"]
    whole = real.client.send("GET", path)
    real.client.send("DELETE", path)
    role = {**whole["roleRef"], "name": "cluster-admin"}
    metadata = {"name": "berth-members", "labels": whole["metadata"]["labels"]}
    real.client.send(
        "POST", path.rpartition("/")[0], {"metadata": metadata, "roleRef": role, "subjects": whole["subjects"]}
    )

    reconcile_tenants()

    assert real.client.send("GET", path)["roleRef"]["name"] == "berth-members"


def test_making_a_namespace_leaves_no_trail_of_drift(real: Real) -> None:
    assert not AuditEvent.objects.filter(action="cluster.drift-repaired").exists()


def test_a_strangers_namespace_of_our_name_is_left_alone_and_told(real: Real) -> None:
    tenant = a_tenant(unique("taken"))
    queue = a_queue(tenant=tenant, pool=real.flavor.pool)
    name = f"{tenant.slug}-{queue.environment}"
    place = f"/api/v1/namespaces/{name}"
    real.client.send(
        "POST", "/api/v1/namespaces?fieldManager=eve", {"metadata": {"name": name, "labels": {"own": "yes"}}}
    )
    try:
        foreseen = reconcile_tenants(dry_run=True)
        done = reconcile_tenants()
        there = real.client.send("GET", place)["metadata"]["labels"]
        quotas = real.client.send("GET", f"{place}/resourcequotas")["items"]
    finally:
        real.client.send("DELETE", place)

    (line,) = done.failed
    assert f"Namespace {name}: a namespace of this name is there and not Berth's" in line
    assert "eve" in line
    assert foreseen.failed == done.failed
    assert (foreseen.changed, done.changed) == ([], [])
    assert there == {"kubernetes.io/metadata.name": name, "own": "yes"}
    assert quotas == []


def test_a_dry_run_says_what_the_next_run_does_and_does_nothing(real: Real) -> None:
    before = contents(real)
    real.client.send("DELETE", places(real)["limits"])
    a_queue(tenant=a_tenant(unique("fresh")), pool=real.flavor.pool)

    foreseen = reconcile_tenants(dry_run=True)
    untouched = real.client.ask("GET", places(real)["limits"]).status
    done = reconcile_tenants()

    assert untouched == 404
    assert foreseen.changed == done.changed
    assert len(done.changed) > 10
    assert contents(real) == before
    assert not AuditEvent.objects.filter(detail__object__contains="fresh").exists()


@contextmanager
def another_process_at(number: int) -> Iterator[None]:
    """A connection of its own that holds the pass."""
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with one_pass(number) as alone:
            assert alone
            holds.set()
            release.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(30)
    try:
        yield
    finally:
        release.set()
        thread.join(30)


def test_a_second_pass_leaves_a_cluster_to_the_first(real: Real, capsys: Any) -> None:
    real.client.send("DELETE", places(real)["limits"])
    cluster = real.flavor.pool.cluster

    with another_process_at(cluster.pk):
        call_command("reconcile_tenants")
        told = capsys.readouterr().out
        left = real.client.ask("GET", places(real)["limits"]).status
    done = reconcile_tenants()

    assert f"another process is at it: {cluster.name}" in told
    assert left == 404
    assert len(done.changed) == 1


def test_a_policy_that_was_weakened_is_told_to_the_administrator(real: Real, capsys: Any) -> None:
    """K39: Berth may not mend its own fence."""
    policy = next(
        each
        for each in documents()
        if each["kind"] == "ValidatingAdmissionPolicyBinding" and each["metadata"]["name"] == "berth-traffic"
    )
    path = f"{ADMISSION}/validatingadmissionpolicybindings"
    whole = reconcile_tenants().unguarded
    real.client.send("DELETE", f"{path}/berth-traffic")
    try:
        call_command("reconcile_tenants")
        told = capsys.readouterr().err
    finally:
        real.client.send("POST", path, policy)
    except_one = {"spec": {"matchResources": {"excludeResourceRules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": ["endpoints"]}]}}}  # fmt: skip
    real.client.merge(f"{path}/berth-traffic", except_one)
    weakened = reconcile_tenants().unguarded
    real.client.merge(f"{path}/berth-traffic", {"spec": {"matchResources": None}})

    assert whole == []
    assert "ValidatingAdmissionPolicyBinding berth-traffic: missing" in told
    assert "apply deploy/kubernetes/cluster" in told
    assert ["spec.matchResources" in line for line in weakened] == [True]
    until(lambda: reconcile_tenants().unguarded == [], "the policy to be whole again")
