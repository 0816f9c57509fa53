"""`GET /tenants/{slug}/kubeconfig`: what a member is given reads the tenant's own pods and logs, and nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from scheduling.cluster.kube_calls import Answer, KubeCalls
from tenants.models import AuditEvent, User
from tests.factories import a_finance_user, a_member_of, a_platform_admin, a_tenant, a_token, an_admin_of
from tests.kubernetes.scene import Real, a_tenant_on_pods

PATIENCE_S = 30.0
HOUR_S = 3600


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def ask(user: User, slug: str, *, accept: str = "*/*", scopes: list[str] | None = None) -> Any:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {a_token(user, scopes=scopes)}", HTTP_ACCEPT=accept)
    return client.get(f"/api/v1/tenants/{slug}/kubeconfig")


@pytest.fixture
def calls(real: Real, tmp_path: Path) -> KubeCalls:
    """A member's connection by the file as it was downloaded."""
    answer = ask(a_member_of(real.queue.tenant), real.queue.tenant.slug)
    path = tmp_path / "kubeconfig"
    path.write_bytes(answer.content)
    return KubeCalls(str(path))


def get(calls: KubeCalls, path: str) -> Answer:
    return calls.call("GET", path, timeout_s=PATIENCE_S)


def test_it_reads_pods_of_its_own_namespace_and_nothing_else(real: Real, calls: KubeCalls) -> None:
    """K02, K04, W43."""
    job = real.submit(cards=1, replicas=1)
    real.until_state(job, "running")
    (pod,) = real.there("pods")
    place = f"/api/v1/namespaces/{real.namespace}"

    listed = get(calls, f"{place}/pods")
    log = get(calls, f"{place}/pods/{pod['metadata']['name']}/log")
    closed = (
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/api/v1/nodes",
        f"{place}/secrets",
        "/api/v1/namespaces/kube-system/pods",
    )

    assert [each["metadata"]["name"] for each in listed.body["items"]] == [pod["metadata"]["name"]]
    # Pretended nodes have no logs to give: it is not refused, the node does not answer.
    assert log.status not in (401, 403)
    assert {path: get(calls, path).status for path in closed} == dict.fromkeys(closed, 403)
    assert calls.call("DELETE", f"{place}/pods/{pod['metadata']['name']}", timeout_s=PATIENCE_S).status == 403


def test_it_is_a_file_for_kubectl_that_ends_after_an_hour_and_is_kept_in_the_trail(real: Real) -> None:
    tenant = real.queue.tenant
    member = a_member_of(tenant)

    answer = ask(member, tenant.slug, accept="application/yaml")
    document = json.loads(answer.content)

    name = f"{real.namespace}@{real.flavor.pool.cluster.name}"
    assert document["current-context"] == name
    assert document["contexts"][0]["context"]["namespace"] == real.namespace
    assert document["clusters"][0]["cluster"]["certificate-authority-data"]
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{tenant.slug}.kubeconfig"'
    assert answer.headers["Cache-Control"] == "no-store"
    event = AuditEvent.objects.get(action="tenant.kubeconfig")
    assert (event.actor, event.tenant, event.detail["contexts"]) == (member, tenant, [name])
    assert document["users"][0]["user"]["token"] not in json.dumps(event.detail)


def test_who_may_have_it(real: Real) -> None:
    """W04: members, tenant admins and platform admins; nobody learns of a tenant that is not his."""
    tenant, elsewhere = real.queue.tenant, a_tenant()
    people = {
        "member": a_member_of(tenant),
        "admin": an_admin_of(tenant),
        "platform": a_platform_admin(),
        "finance": a_finance_user(),
        "outsider": an_admin_of(elsewhere),
    }

    answers = {name: ask(user, tenant.slug).status_code for name, user in people.items()}
    narrow = ask(people["member"], tenant.slug, scopes=["usage:read"]).status_code

    assert answers == {"member": 200, "admin": 200, "platform": 200, "finance": 403, "outsider": 404}
    assert narrow == 403


def test_without_a_namespace_it_says_so(real: Real) -> None:
    tenant = a_tenant()

    answer = ask(a_member_of(tenant), tenant.slug)

    assert (answer.status_code, answer.json()["code"]) == (409, "no-namespace")


def test_a_cluster_that_does_not_answer_is_told(real: Real) -> None:
    cluster = real.flavor.pool.cluster
    cluster.credential_ref = "/nowhere/kubeconfig"
    cluster.save()

    answer = ask(a_member_of(real.queue.tenant), real.queue.tenant.slug)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
