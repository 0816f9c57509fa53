"""Who may come to the API server at all, and that nobody comes again under another's name."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from testplane.api import RefusedError

from scheduling.cluster.tenant_objects import TenantSpace, tenant_objects
from tests.kubernetes.callers import UNAUTHORISED, Caller
from tests.kubernetes.plane import plane
from tests.kubernetes.two_tenants import TwoTenants, a_space, account_token, two_tenants, until

EVERYBODY = ("system:authenticated", "system:unauthenticated", "system:serviceaccounts")
STOCK = {
    "system:basic-user",
    "system:discovery",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
}
VERSION_OF_ALL = "/version"


@pytest.fixture(scope="module")
def tenants() -> TwoTenants:
    return two_tenants()


def test_no_right_is_given_to_everybody_but_the_stock_ones(tenants: TwoTenants) -> None:
    """K35."""
    root = "/apis/rbac.authorization.k8s.io/v1"
    bindings = [
        *tenants.admin.send("GET", f"{root}/clusterrolebindings")["items"],
        *tenants.admin.send("GET", f"{root}/rolebindings")["items"],
    ]

    given = {
        binding["roleRef"]["name"]
        for binding in bindings
        for subject in binding.get("subjects") or []
        if subject["name"] in EVERYBODY or subject["name"].startswith("system:serviceaccounts:")
    }

    assert given <= STOCK


def test_without_a_token_or_with_a_made_up_one_nobody_is_let_in(tenants: TwoTenants) -> None:
    """K36."""
    for caller in (
        Caller("made-up", "x", once=True),
        Caller("unsigned", _token(tenants, good_for_s=600, signed=False), once=True),
    ):
        assert caller.ask("GET", VERSION_OF_ALL).status == UNAUTHORISED
    assert (
        Caller("nobody", "", once=True).ask("GET", VERSION_OF_ALL, headers={"Authorization": ""}).status == UNAUTHORISED
    )


def test_a_token_ends_with_its_time(tenants: TwoTenants) -> None:
    """K36: signed as the API server signs, and a minute old or a minute to go."""
    assert Caller("fresh", _token(tenants, good_for_s=60), once=True).ask("GET", VERSION_OF_ALL).status == 200
    assert Caller("old", _token(tenants, good_for_s=-60), once=True).ask("GET", VERSION_OF_ALL).status == UNAUTHORISED


def test_a_deleted_tenants_tokens_and_belongings_are_not_inherited_by_its_name(tenants: TwoTenants) -> None:
    """K36, K37."""
    space = TenantSpace("sec-again", "prod", {"nvidia.com/gpu": 4})
    name = a_space(tenants.cluster, space)
    place = f"/api/v1/namespaces/{name}"
    member = tenants.spaces.member_access(name, seconds=3600, timeout_s=10)
    job = account_token(name, "default")
    tenants.admin.send("POST", f"{place}/configmaps", {"metadata": {"name": "left"}})
    tenants.admin.send("POST", f"{place}/secrets", {"metadata": {"name": "left"}})
    callers = [Caller("member", member.token, once=True), Caller("job", job, once=True)]
    assert [caller.ask("GET", VERSION_OF_ALL).status for caller in callers] == [200, 200]

    tenants.admin.send("DELETE", place)
    until(lambda: tenants.admin.ask("GET", place).status == 404, "the namespace to be gone")
    a_space(tenants.cluster, space)

    until(
        lambda: {each.ask("GET", VERSION_OF_ALL).status for each in callers} == {UNAUTHORISED}, "old tokens to be dead"
    )
    with pytest.raises(RefusedError):
        tenants.admin.send("GET", f"{place}/configmaps/left")
    assert tenants.admin.send("GET", f"{place}/secrets")["items"] == []
    quota = tenants.admin.send("GET", f"{place}/resourcequotas/berth")
    assert quota["status"]["used"]["requests.nvidia.com/gpu"] == "0"
    wanted = sum(1 for document in tenant_objects(space) if document["kind"] == "RoleBinding")
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}/rolebindings"
    assert len(tenants.admin.send("GET", bindings)["items"]) == wanted


def _token(tenants: TwoTenants, *, good_for_s: int, signed: bool = True) -> str:
    """A token of A's job account, as the API server would have given it at another time."""
    account = tenants.admin.send("GET", f"/api/v1/namespaces/{tenants.a}/serviceaccounts/default")
    genuine = tenants.job.token.split(".")
    claims: dict[str, Any] = json.loads(_decoded(genuine[1]))
    now = int(time.time())
    claims |= {"iat": now - 3600, "nbf": now - 3600, "exp": now + good_for_s}
    assert claims["kubernetes.io"]["serviceaccount"]["uid"] == account["metadata"]["uid"]
    content = f"{genuine[0]}.{_encoded(json.dumps(claims).encode())}"
    if not signed:
        return f"{content}.{genuine[2]}"
    key = load_pem_private_key((plane().folder / "sa.key").read_bytes(), None)
    assert isinstance(key, RSAPrivateKey)
    return f"{content}.{_encoded(key.sign(content.encode(), PKCS1v15(), SHA256()))}"


def _encoded(text: bytes) -> str:
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
