"""A member's kubeconfig on real nodes: logs of its own tenant's pods, and nothing else."""

import base64
from pathlib import Path

from testplane.api import Client

from scheduling.control.member_access import kubeconfig_of
from scheduling.models import Run
from tenants.models import Tenant
from tests.factories import a_member_of
from tests.kubernetes.real.scene import OnNodes, namespace

FORBIDDEN = 403


def as_member(tenant: Tenant, folder: Path) -> Client:
    """As somebody who saved the kubeconfig and uses its first context."""
    document = kubeconfig_of(by=a_member_of(tenant), tenant=tenant)
    server = document["clusters"][0]["cluster"]
    authority = folder / "authority.crt"
    authority.write_bytes(base64.b64decode(server["certificate-authority-data"]))
    return Client(server["server"], document["users"][0]["user"]["token"], authority)


def test_a_members_kubeconfig_reads_logs_of_its_own_pods_and_does_nothing_else(real: OnNodes, tmp_path: Path) -> None:
    mine, foreign = real.submit("waiting.py"), real.submit("waiting.py", queue=real.borrower)
    for job in (mine, foreign):
        real.until_said(job, "waiting")
    member = as_member(real.lender.tenant, tmp_path)
    own, other = (
        f"/api/v1/namespaces/{namespace(job.queue)}/pods/{Run.objects.get(job=job).pods.get().name}"
        for job in (mine, foreign)
    )

    assert member.ask("GET", f"{own}/log").body == "waiting\n"
    assert member.ask("GET", own).status == 200
    refused = [
        member.ask("GET", f"{other}/log"),
        member.ask("GET", other),
        member.ask("POST", f"{own}/exec?command=id&stdout=true"),
        member.ask("POST", f"{own}/portforward"),
        member.ask("DELETE", own),
        member.ask("GET", own.rpartition("/pods/")[0] + "/secrets"),
        member.ask("GET", "/api/v1/nodes/r0/proxy/pods"),
        member.ask("GET", "/api/v1/nodes"),
    ]
    assert [each.status for each in refused] == [FORBIDDEN] * len(refused)
