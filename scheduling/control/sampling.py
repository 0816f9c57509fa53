"""Asks clusters what their cards report, and hands it on with who held each card. Must not guess: no report is no sample."""

import logging
from collections.abc import Iterable
from typing import Final

from berth.common import clock
from scheduling.cluster.port import CardUse, ClusterUnreachableError
from scheduling.control.clusters import port_of
from scheduling.models import Lease
from scheduling.services.pool_use import note_use
from scheduling.services.utilisation import CardSample, record_samples
from tenants.models import Cluster

logger = logging.getLogger(__name__)
LIST_TIMEOUT_S: Final = 5.0


def sample_cards() -> int:
    """One look at all clusters that report; returns how many samples were stored."""
    samples: list[CardSample] = []
    told: list[int] = []
    for cluster in Cluster.objects.order_by("pk"):
        port = port_of(cluster)
        if not port.capabilities().reports_card_use:
            continue
        try:
            samples += _held_by(cluster, port.list_card_use(timeout_s=LIST_TIMEOUT_S).items)
            told.append(cluster.pk)
        except ClusterUnreachableError as error:
            logger.warning("cards not read cluster=%s error=%s", cluster.name, error.message)
    now = clock.now()
    record_samples(samples, now=now)
    note_use(_busiest(samples), told, now=now)
    return len(samples)


def _busiest(samples: Iterable[CardSample]) -> dict[int, int]:
    """By card; of several runs that share one, what the busiest of them reports."""
    busy: dict[int, int] = {}
    for sample in samples:
        busy[sample.card_id] = max(sample.busy_ppm, busy.get(sample.card_id, 0))
    return busy


def _held_by(cluster: Cluster, readings: Iterable[CardUse]) -> list[CardSample]:
    """A pod's reading is that of each of its cards, of several instances on one card once. Pods of runs that are over, and strangers,
    have none of ours.
    """
    found = {(one.key.namespace, one.key.name, one.uid): one for one in readings}
    if not found:
        return []
    leases = Lease.objects.filter(closed_at__isnull=True, card__isnull=False, run__cluster=cluster).order_by("pk")
    samples = (
        CardSample(card, run, rank, one.at, one.utilisation_ppm, one.vram_mib)
        for card, run, rank, namespace, name, uid in leases.values_list(
            "card_id", "run_id", "pod__rank", "run__namespace", "pod__name", "pod__uid"
        )
        if (one := found.get((namespace, name, uid))) is not None
    )
    return list(dict.fromkeys(samples))
