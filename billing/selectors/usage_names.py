"""What a usage file refers to: tenants, queues, flavors, nodes, and rows and jobs that were imported before."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from scheduling.models import ImportedEvent, Job, Node
from tenants.models import Flavor, Queue, Tenant


class Named(Protocol):
    """A row that names a tenant, its queue and a flavor."""

    @property
    def tenant(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def flavor(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Names:
    """Everything a file may name, by name."""

    tenants: frozenset[str]
    queues: dict[tuple[str, str], Queue]
    flavors: dict[str, Flavor]
    own: dict[tuple[int, str], Flavor]

    @classmethod
    def load(cls, rows: Iterable[Named]) -> "Names":
        """Names of the tenants that the rows speak of, and all flavors."""
        slugs = {row.tenant for row in rows}
        tenants = frozenset(Tenant.objects.filter(slug__in=slugs).values_list("slug", flat=True))
        queues = Queue.objects.filter(tenant__slug__in=tenants).select_related("tenant").order_by("id")
        flavors = list(Flavor.objects.select_related("pool").order_by("id"))
        return cls(
            tenants,
            {(queue.tenant.slug, queue.name): queue for queue in queues},
            {flavor.name: flavor for flavor in flavors},
            {(flavor.pool_id, flavor.short_name): flavor for flavor in flavors},
        )

    def flavor(self, row: Named) -> Flavor | None:
        """By its full name; a name without `@` means the queue's own pool first (docs/api-jobs.md)."""
        queue = self.queues.get((row.tenant, row.queue))
        own = self.own.get((queue.pool_id, row.flavor)) if queue else None
        return own or self.flavors.get(row.flavor)


def imported_digests(identities: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Content digests of rows imported before, by (source, event id)."""
    by_source = _by_source(identities)
    return {
        (source, event_id): digest
        for source, events in by_source.items()
        for event_id, digest in ImportedEvent.objects.filter(source=source, event_id__in=events).values_list(
            "event_id", "content_digest"
        )
    }


def imported_jobs(references: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, str]]:
    """Queue id and user name of jobs imported before, by (source, reference)."""
    return {
        (source, reference): (queue_id, username)
        for source, some in _by_source(references).items()
        for reference, queue_id, username in Job.objects.filter(source=source, source_ref__in=some).values_list(
            "source_ref", "queue_id", "user__username"
        )
    }


def known_nodes(names: Iterable[str]) -> dict[tuple[int, str], int]:
    """Numbers of cards of nodes that this platform runs, by cluster and name; nodes known from imports have none."""
    found = Node.objects.filter(name__in=list(names), gpus__gt=0)
    return {(cluster_id, name): gpus for cluster_id, name, gpus in found.values_list("cluster_id", "name", "gpus")}


def _by_source(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for source, name in sorted(pairs):
        found[source].append(name)
    return found
