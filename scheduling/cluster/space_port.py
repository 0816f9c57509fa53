"""What the control loop asks of a cluster about tenants' namespaces, beside runs. PURE: a protocol and its records, no I/O and no clock."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from scheduling.cluster.port import Listing, ManagedObject, Manifest, WriteResult


@dataclass(frozen=True, slots=True)
class MemberAccess:
    """What a kubeconfig needs to read one namespace: where the API server is, whom to trust (PEM, empty: the public ones), and a token."""

    server: str
    authority: str
    token: str
    expires_at: datetime


class SpacePort(Protocol):
    """One cluster's namespaces. Every call has a deadline in wall seconds; writes answer with results, reads raise `ClusterUnreachableError`."""

    def list_objects(self, *, kinds: Iterable[str], timeout_s: float) -> Listing[ManagedObject]:
        """Every object of these kinds, whoever made it."""
        ...

    def read_object(self, kind: str, namespace: str, name: str, *, timeout_s: float) -> Manifest | None:
        """One object as it stands; None where there is none."""
        ...

    def create_object(self, manifest: Manifest, *, timeout_s: float) -> WriteResult:
        """Make what must not be there yet: REFUSED with the code `conflict` where it is."""
        ...

    def replace_object(self, manifest: Manifest, *, timeout_s: float) -> WriteResult:
        """Put an object as a whole in the place of the one that is there: whatever others added to it is gone."""
        ...

    def delete_object(self, kind: str, namespace: str, name: str, *, timeout_s: float) -> WriteResult:
        """`GONE` when it was not there."""
        ...

    def check_space(self, namespace: str, *, timeout_s: float) -> WriteResult:
        """Whether runs may be sent to a namespace now: ACCEPTED, or REFUSED with what it lacks (it is missing or being deleted, its
        quota does not count yet, Berth has no rights in it), or UNREACHABLE where nothing was learnt. `retry_after_s` is set where it
        is only just being set up."""
        ...

    def member_access(self, namespace: str, *, seconds: int, timeout_s: float) -> MemberAccess:
        """Access that ends after `seconds`, to what people of the tenant may read. Raises `ClusterUnreachableError`."""
        ...
