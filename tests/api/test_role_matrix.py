"""Who may call what: every endpoint by every kind of person, against a table that is read in review (W01, W04).

A new endpoint fails here until it has its row. `ok` is any answer that is about the request and not about the person: 2xx, or a
400 or 409 for the empty body that most rows send. `-` is tested elsewhere: a cluster is never called inside a transaction (Q12),
and every test of this file is one.
"""

import json
from typing import Any

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from tenants.permissions import Action
from tests.api.conftest import ClientFor
from tests.api.endpoints import PREFIX, Endpoint, endpoints
from tests.api.matrix_world import PEOPLE, MatrixWorld, build

pytestmark = pytest.mark.django_db

OK = {200, 201, 204, 400, 409}
JOB = {
    "tenant": "algo",
    "queue": "prod",
    "name": "x",
    "roles": [{"name": "w", "replicas": 1, "image": "i", "resources": {"gpu": 1}}],
}
ASK = {"tenant": "algo", "queue": "prod", "resource": "cpu", "amount": 1, "reason": "x"}
LEND = {
    "giver": "algo/prod",
    "receiver": "algo/dev",
    "resource": "cpu",
    "amount": 1,
    "valid_to": "2099-01-01T00:00:00Z",
}
BODIES: dict[str, dict[str, Any]] = {
    "POST /jobs": JOB,
    "POST /jobs/preview": JOB,
    "POST /quota-requests": ASK,
    "POST /quota-transfers": LEND,
}

#                                                        anonymous outsider member admin finance platform
TABLE = """
GET    /adjustments                                           401   ok   403  ok   ok   ok
POST   /adjustments                                           401   403  403  403  ok   ok
GET    /adjustments/{id}                                      401   404  403  ok   ok   ok
GET    /cluster                                               401   ok   ok   ok   ok   ok
GET    /cycles                                                401   ok   ok   ok   ok   ok
GET    /cycles/{id}                                           401   ok   ok   ok   ok   ok
GET    /flavors                                               401   ok   ok   ok   ok   ok
GET    /flavors/{name}                                        401   ok   ok   ok   ok   ok
GET    /jobs                                                  401   ok   ok   ok   ok   ok
POST   /jobs                                                  401   404  ok   ok   403  ok
POST   /jobs/preview                                          401   404  ok   ok   403  ok
GET    /jobs/{id}                                             401   404  ok   ok   ok   ok
PATCH  /jobs/{id}                                             401   404  403  ok   403  ok
POST   /jobs/{id}/cancel                                      401   404  403  ok   403  ok
POST   /jobs/{id}/clone                                       401   404  ok   ok   403  ok
GET    /jobs/{id}/cost                                        401   404  ok   ok   ok   ok
GET    /jobs/{id}/events                                      401   404  ok   ok   ok   ok
GET    /jobs/{id}/logs                                        401   404  ok   ok   403  ok
GET    /jobs/{id}/pods                                        401   404  ok   ok   ok   ok
POST   /jobs/{id}/resume                                      401   404  403  ok   403  ok
GET    /jobs/{id}/runs                                        401   404  ok   ok   ok   ok
POST   /jobs/{id}/suspend                                     401   404  403  ok   403  ok
GET    /jobs/{id}/usage                                       401   404  ok   ok   ok   ok
GET    /me                                                    401   ok   ok   ok   ok   ok
GET    /nodes                                                 401   ok   ok   ok   ok   ok
GET    /nodes/{cluster}/{name}                                401   ok   ok   ok   ok   ok
POST   /nodes/{cluster}/{name}/cards/{index}/fail             401   403  403  403  403  -
POST   /nodes/{cluster}/{name}/cards/{index}/recover          401   403  403  403  403  -
POST   /nodes/{cluster}/{name}/cordon                         401   403  403  403  403  -
POST   /nodes/{cluster}/{name}/drain                          401   403  403  403  403  -
POST   /nodes/{cluster}/{name}/fail                           401   403  403  403  403  -
POST   /nodes/{cluster}/{name}/recover                        401   403  403  403  403  -
POST   /nodes/{cluster}/{name}/uncordon                       401   403  403  403  403  -
GET    /notifications                                         401   ok   ok   ok   ok   ok
POST   /notifications                                         401   ok   ok   ok   ok   ok
GET    /periods                                               401   ok   ok   ok   ok   ok
POST   /periods/{period}/close                                401   403  403  403  ok   ok
GET    /pools                                                 401   ok   ok   ok   ok   ok
GET    /pools/{name}                                          401   ok   ok   ok   ok   ok
GET    /pools/{name}/moves                                    401   403  403  403  403  ok
GET    /price-books                                           401   ok   ok   ok   ok   ok
POST   /price-books                                           401   403  403  403  ok   ok
GET    /price-books/{id}                                      401   ok   ok   ok   ok   ok
GET    /queues                                                401   ok   ok   ok   ok   ok
POST   /queues                                                401   403  403  403  403  ok
GET    /queues/{tenant}/{name}                                401   404  ok   ok   ok   ok
PATCH  /queues/{tenant}/{name}                                401   404  403  403  403  ok
GET    /quota-requests                                        401   ok   ok   ok   ok   ok
POST   /quota-requests                                        401   404  403  ok   403  ok
GET    /quota-requests/{id}                                   401   404  ok   ok   ok   ok
POST   /quota-requests/{id}/approve                           401   404  403  403  403  ok
POST   /quota-requests/{id}/reject                            401   404  403  403  403  ok
GET    /quota-transfers                                       401   ok   ok   ok   ok   ok
POST   /quota-transfers                                       401   404  403  ok   403  ok
GET    /quota-transfers/{id}                                  401   404  ok   ok   ok   ok
GET    /rates                                                 401   ok   ok   ok   ok   ok
POST   /rates                                                 401   403  403  403  ok   ok
GET    /rates/{id}                                            401   ok   ok   ok   ok   ok
PATCH  /rates/{id}                                            401   403  403  403  ok   ok
GET    /reservations                                          401   ok   ok   ok   ok   ok
POST   /reservations                                          401   403  403  403  403  ok
POST   /reservations/{id}/release                             401   404  403  403  403  ok
POST   /runs/{run_id}/report                                  401   401  401  401  401  401
GET    /statements                                            401   ok   ok   ok   ok   ok
GET    /statements/{number}                                   401   404  ok   ok   ok   ok
GET    /statements/{number}/breakdown                         401   404  ok   ok   ok   ok
GET    /statements/{number}/download                          401   404  ok   ok   ok   ok
GET    /statements/{number}/lines                             401   404  ok   ok   ok   ok
GET    /statements/{number}/lines/{id}/sources                401   404  ok   ok   ok   ok
GET    /tenants                                               401   ok   ok   ok   ok   ok
POST   /tenants                                               401   403  403  403  403  ok
GET    /tenants/{slug}                                        401   404  ok   ok   ok   ok
PATCH  /tenants/{slug}                                        401   404  403  403  403  ok
GET    /tenants/{slug}/kubeconfig                             401   404  ok   ok   403  ok
GET    /tenants/{slug}/members                                401   404  ok   ok   ok   ok
POST   /tenants/{slug}/members                                401   404  403  ok   403  ok
PATCH  /tenants/{slug}/members/{username}                     401   404  403  ok   403  ok
DELETE /tenants/{slug}/members/{username}                     401   404  403  ok   403  ok
GET    /tokens                                                401   ok   ok   ok   ok   ok
POST   /tokens                                                401   ok   ok   ok   ok   ok
GET    /tokens/{id}                                           401   404  404  404  404  404
DELETE /tokens/{id}                                           401   404  404  404  404  404
GET    /usage                                                 401   ok   ok   ok   ok   ok
POST   /utilisation-samples                                   401   403  403  403  403  ok
"""


def _table() -> dict[str, list[str]]:
    rows = (line.split() for line in TABLE.strip().splitlines())
    return {f"{method} {path}": wants for method, path, *wants in rows}


WANTED = _table()
ROUTED = {endpoint.name: endpoint for endpoint in endpoints()}


def test_the_table_has_a_row_for_every_endpoint_and_no_other() -> None:
    """W39: the inventory."""
    assert sorted(ROUTED) == sorted(WANTED)


@pytest.mark.parametrize("name", sorted(ROUTED))
def test_every_handler_declares_its_action(name: str) -> None:
    endpoint = ROUTED[name]
    if endpoint.handler is None:
        assert name == "POST /runs/{run_id}/report", "only pods come without a role"
    else:
        assert isinstance(endpoint.view.required[endpoint.handler], Action)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_each_person_gets_what_the_table_says(name: str, client_for: ClientFor) -> None:
    world = build()

    wanted = {person: want for person, want in zip(PEOPLE, WANTED[name], strict=True) if want != "-"}

    found = {person: _outcome(_call(client_for(world.people[person]), ROUTED[name], world)) for person in wanted}

    assert found == wanted


def _call(client: APIClient, endpoint: Endpoint, world: MatrixWorld) -> Any:
    """The answer; whatever it changed is undone."""
    path = endpoint.path.format(**world.params.get(endpoint.path.split("/")[1], {}))
    body = json.dumps(BODIES.get(endpoint.name, {})) if endpoint.method in {"POST", "PATCH"} else ""
    with transaction.atomic():
        answer = client.generic(endpoint.method, f"{PREFIX}{path}", body, content_type="application/json")
        transaction.set_rollback(True)
    return answer


def _outcome(answer: Any) -> str:
    if answer.status_code in OK:
        return "ok"
    assert answer.headers["Content-Type"] == "application/problem+json"
    return str(answer.status_code)
