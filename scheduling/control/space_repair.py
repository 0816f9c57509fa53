"""Writes one object of a tenant's namespace as it should be, and leaves a trail of what somebody else had made of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from scheduling.cluster import names
from scheduling.cluster.kube_drift import EXACT
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, Manifest, ResultKind, WriteResult
from scheduling.cluster.space_port import SpacePort
from tenants.models import Cluster, Tenant
from tenants.services.audit import record_event

Key = tuple[str, str, str]
"""Kind, namespace, name."""
DONE = (ResultKind.CREATED, ResultKind.ACCEPTED)


@dataclass(frozen=True, slots=True)
class Repair:
    """One cluster's. With `dry_run` it writes nothing and says that it did. Raises ClusterUnreachableError where nothing is known."""

    cluster: Cluster
    port: ClusterPort
    spaces: SpacePort
    dry_run: bool
    timeout_s: float

    def create(self, document: Manifest) -> str:
        """Why not; empty where it was made."""
        return "" if self.dry_run else _why_not(self.spaces.create_object(document, timeout_s=self.timeout_s))

    def mend(self, document: Manifest, found: Manifest | None, why: str, *, expected: bool) -> str:
        """Why not; empty where it was done. Server-side apply keeps what others added; where that may be nothing, the whole is replaced."""
        if self.dry_run:
            return ""
        refused = _why_not(self._write(document, found))
        if not refused and expected and (found is None or writers_of(found)):
            self._note(document, found, why)
        return refused

    def _write(self, document: Manifest, found: Manifest | None) -> WriteResult:
        kind, namespace, name = key_of(document)
        if found is None or kind not in EXACT:
            return self.port.apply_objects([document], timeout_s=self.timeout_s)[0]
        if kind == "RoleBinding" and not _same_role(document, found):
            # What a binding refers to cannot be changed.
            gone = self.spaces.delete_object(kind, namespace, name, timeout_s=self.timeout_s)
            if gone.kind not in (*DONE, ResultKind.GONE):
                return gone
            return self.port.apply_objects([document], timeout_s=self.timeout_s)[0]
        return self.spaces.replace_object(document, timeout_s=self.timeout_s)

    def _note(self, document: Manifest, found: Manifest | None, why: str) -> None:
        """For people who look after the tenant: what was changed in its namespace by somebody else, and by whom."""
        slug = document["metadata"]["labels"].get(names.TENANT, "")
        detail = {"object": told_name(key_of(document)), "differed": why, "by": writers_of(found).strip(" ()")}
        with transaction.atomic():
            tenant = Tenant.objects.filter(slug=slug).first()
            record_event(by=None, action="cluster.drift-repaired", on=self.cluster, tenant=tenant, detail=detail)


def key_of(document: Manifest) -> Key:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def told_name(key: Key) -> str:
    """As people write it: `NetworkPolicy algo-a-prod/berth-deny`."""
    return f"{key[0]} {'/'.join(part for part in key[1:] if part)}"


def writers_of(found: Mapping[str, object] | None) -> str:
    """Who else wrote to the object, as the cluster keeps it; nobody is named where only we did."""
    metadata = {} if found is None else found["metadata"]
    entries = metadata.get("managedFields") or [] if isinstance(metadata, Mapping) else []
    writers = {str(entry.get("manager", "")) for entry in entries if not entry.get("subresource")}
    others = sorted(writers - {names.FIELD_MANAGER, ""})
    return f" (also written by {', '.join(others)})" if others else ""


def _same_role(document: Manifest, found: Manifest) -> bool:
    return bool(document.get("roleRef") == found.get("roleRef"))


def _why_not(result: WriteResult) -> str:
    if result.kind in (ResultKind.UNREACHABLE, ResultKind.UNKNOWN):
        raise ClusterUnreachableError(result.message)
    return "" if result.kind in DONE else result.message
