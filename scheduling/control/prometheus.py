"""Asks a Prometheus server what DCGM's exporter says of cards. Must not guess: what it does not answer stays unknown, never idle.

The queries are documented in docs/utilisation.md; a server that is away, slow or talks nonsense is a line in the log and nothing else.
"""

import json
import logging
import math
import urllib.parse
import urllib.request
from collections import defaultdict
from typing import Any, Final

from django.conf import settings

from berth.common import clock
from scheduling.models import Node
from scheduling.services.card_readings import CardReading, Taken, cards_of, take_readings
from scheduling.services.pool_use import note_use
from tenants.models import Cluster

logger = logging.getLogger(__name__)
TIMEOUT_S: Final = 5.0
MOST_BYTES: Final = 64 * 1024 * 1024
BUSY: Final = "avg by (cluster, Hostname, gpu) (avg_over_time(DCGM_FI_DEV_GPU_UTIL[1m]))"
"""Percent of the last minute; cards that were not scraped in it are not in the answer."""
VRAM: Final = "max by (cluster, Hostname, gpu) (max_over_time(DCGM_FI_DEV_FB_USED[1m]))"
"""MiB in use at most in the last minute."""
Place = tuple[str, str, int]
"""Label `cluster` ("" where there is none), node, index of the card."""


class PrometheusError(Exception):
    """No usable answer."""


def ask_prometheus() -> Taken | None:
    """One look; None where no server is set or it gave no usable answer. Raises nothing for what the server does."""
    url = settings.BERTH_PROMETHEUS_URL
    if not url:
        return None
    now = clock.now()
    try:
        busy, vram = query(url, BUSY), query(url, VRAM)
    except PrometheusError as error:
        logger.warning("cards not read url=%s error=%s", _without_secrets(url), error)
        return None
    clusters = _clusters({node for _cluster, node, _card in busy})
    readings = [
        CardReading(cluster, node, card, now, round(percent * 10_000), _mib(vram.get((label, node, card))))
        for (label, node, card), percent in sorted(busy.items())
        if 0 <= percent <= 100 and (cluster := _cluster_of(label, node, clusters)) is not None
    ]
    taken = take_readings(readings, now=now)
    cards = cards_of(readings)
    busy_of = {cards[one.place]: one.busy_ppm for one in readings if one.place in cards}
    told = Cluster.objects.filter(name__in={one.cluster for one in readings})
    note_use(busy_of, list(told.values_list("pk", flat=True)), now=now)
    return taken


def query(url: str, promql: str) -> dict[Place, float]:
    """An instant query's vector by card; entries without a node or an index, and values that are no numbers, are left out."""
    address = f"{url.rstrip('/')}/api/v1/query?{urllib.parse.urlencode({'query': promql})}"
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:  # noqa: S310 - http(s) by the settings' check
            body = answer.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise PrometheusError("the answer is too long")
        return dict(_entries(json.loads(body)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PrometheusError(f"{type(error).__name__}: {error}") from error


def _entries(document: Any) -> list[tuple[Place, float]]:
    if document["status"] != "success" or document["data"]["resultType"] != "vector":
        raise PrometheusError(str(document.get("error") or "not a vector")[:200])
    found = []
    for entry in document["data"]["result"]:
        labels, value = entry["metric"], float(entry["value"][1])
        node, card = str(labels.get("Hostname", "")), str(labels.get("gpu", ""))
        if node and card.isascii() and card.isdigit() and math.isfinite(value):
            found.append(((str(labels.get("cluster", "")), node, int(card)), value))
    return found


def _clusters(nodes: set[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for node, cluster in Node.objects.filter(name__in=nodes).values_list("name", "cluster__name"):
        found[node].add(cluster)
    return found


def _cluster_of(label: str, node: str, clusters: dict[str, set[str]]) -> str | None:
    """The one that the label names; without a label the only one that has such a node."""
    known = clusters.get(node, set())
    if label:
        return label if label in known else None
    return next(iter(known)) if len(known) == 1 else None


def _mib(value: float | None) -> int | None:
    return None if value is None or value < 0 else round(value)


def _without_secrets(url: str) -> str:
    """For the log: without user name and password."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
