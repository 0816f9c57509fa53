"""SCH-19: jobs that name datasets run where these are cached, or where the link to the storage has room, within what topology allows.

Data never makes a gang cross more levels than it would without, and never makes it wait: it only chooses among places that fit.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Final

from scheduling.engine.nodes import NodeTable

LINK_FREE: Final = "*"
"""Stands among a node's datasets where its link to the storage has room."""
DATASET_LABEL: Final = "data.berth.dev/"
"""Label of a node that caches a dataset: this and the dataset's name, with the value `cached`."""
CACHED: Final = "cached"
LINK_LABEL: Final = "berth.dev/storage-link"
FREE: Final = "free"
_CACHED_SCORE, _DOMAIN_SCORE, _LINK_SCORE = 3, 2, 1
"""On the node itself, on another of its narrowest domain (a rack, behind one switch), behind a link with room."""


def datasets_of(labels: Mapping[str, str]) -> frozenset[str]:
    """What a node's labels say of data: names of datasets that it caches, and `LINK_FREE`."""
    found = {
        key.removeprefix(DATASET_LABEL)
        for key, value in labels.items()
        if key.startswith(DATASET_LABEL) and value == CACHED
    }
    return frozenset(found | {LINK_FREE} if labels.get(LINK_LABEL) == FREE else found)


def data_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Those of a node's labels that say anything of data: they come and go while the node stands."""
    return {key: value for key, value in labels.items() if key == LINK_LABEL or key.startswith(DATASET_LABEL)}


def nearest_first(table: NodeTable, datasets: Set[str], only: Set[int] | None) -> Sequence[frozenset[int]]:
    """Ever larger sets of nodes, those nearest to all of the datasets first; none where no node is near any."""
    score: dict[int, int] = {}
    for name in datasets:
        for node, near in _near(table, name).items():
            if only is None or node in only:
                score[node] = score.get(node, 0) + near
    steps = sorted(set(score.values()), reverse=True)
    return [frozenset(node for node, each in score.items() if each >= least) for least in steps]


def _near(table: NodeTable, dataset: str) -> dict[int, int]:
    """How near each node is to one dataset; nodes that are not near it at all are left out."""
    near = {node: _LINK_SCORE for node, cached in table.cached.items() if LINK_FREE in cached}
    holders = [node for node, cached in table.cached.items() if dataset in cached]
    if table.levels:
        domain = table.domain[-1]
        around = {domain[node] for node in holders if domain[node] >= 0}
        near |= {node: _DOMAIN_SCORE for node in range(len(table)) if domain[node] in around}
    return near | dict.fromkeys(holders, _CACHED_SCORE)
