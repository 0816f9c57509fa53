"""`running` of a plan file: who holds which nodes and cards, since when and until when."""

from collections import defaultdict

from berth.common.shown import shown
from scheduling.engine.card_modes import is_share
from scheduling.engine.policy import HOUR_MS
from scheduling.engine.snapshot import RoleAsk
from scheduling.engine.units import CARD, NEVER, UNLIMITED
from scheduling.simulator import quantities
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.documents import Fields
from scheduling.simulator.job_fields import LARGEST_REPLICAS, JobEntry, read_job
from scheduling.simulator.tables import HeldPod, RunningEntry

LONG_MS = HOUR_MS
"""How long a run has been there, at least, whose file does not say since when: long enough for every guard of SCH-17."""


def read_running(document: Fields, cluster: Cluster, now_ms: int) -> list[RunningEntry]:
    """Every running job; more cards on a node than it has is a problem."""
    runs: list[RunningEntry] = []
    held: dict[int, int] = defaultdict(int)
    for fields in document.each("running"):
        run = _read_run(fields, cluster, now_ms)
        fields.close()
        runs.append(run)
        for pod in run.pods:
            held[pod.node] += pod.cards_m
            cards = cluster.gpus[pod.node] * _per_card(cluster, pod.node)
            if held[pod.node] - pod.cards_m <= cards * CARD < held[pod.node]:
                name = cluster.nodes.names[pod.node]
                fields.problem("", f"node {name} has {cards} cards, more are held with this job")
    return runs


def _per_card(cluster: Cluster, node: int) -> int:
    flavor = int(cluster.nodes.flavor[node])
    return cluster.flavors[flavor].per_card if flavor >= 0 else 1


def _read_run(fields: Fields, cluster: Cluster, now_ms: int) -> RunningEntry:
    job = read_job(fields, cluster, now_ms, running=True)
    start_ms = fields.take("started", quantities.instant, min(job.submit_ms, now_ms - LONG_MS))
    cards = _read_cards(fields, cluster, shares=any(is_share(role.cards_m) for role in job.shape.roles))
    pods = tuple(_pods(job, cluster, cards))
    for node, indexes in cards.items():
        if indexes:
            fields.problem("cards", f"more card indexes on {cluster.nodes.names[node]} than its pods hold")
    attained = min(UNLIMITED, sum(pod.cards_m for pod in pods) * max(0, now_ms - start_ms) // CARD)
    return RunningEntry(
        job=job,
        start_ms=start_ms,
        pods=pods,
        leaving_ms=fields.take("leaving_until", quantities.instant, NEVER),
        last_checkpoint_ms=fields.take("last_checkpoint", quantities.instant, -1),
        last_resize_ms=fields.take("last_resize", quantities.instant, -1),
        wanted=fields.take("wanted_size", quantities.between(1, LARGEST_REPLICAS), None),
        loan_expires_ms=fields.take("loan_expires", quantities.instant, NEVER),
        attained_card_ms=fields.take("attained_card_hours", quantities.card_hours_ms, attained),
    )


def _read_cards(fields: Fields, cluster: Cluster, *, shares: bool) -> dict[int, list[int]]:
    """Card indexes by node; several pods' shares, and MIG instances, may be of one card."""
    section = fields.below("cards")
    found: dict[int, list[int]] = {}
    for name, _ in section.named():
        indexes = section.words(name, quantities.whole)
        if name not in cluster.node_index:
            section.problem(name, f"unknown node {shown(name)}")
            continue
        node = cluster.node_index[name]
        twice = len(set(indexes)) != len(indexes) and not shares and _per_card(cluster, node) == 1
        if twice or any(index >= cluster.gpus[node] for index in indexes):
            section.problem(name, f"must be different card indexes from 0 to {cluster.gpus[node] - 1}")
        found[node] = sorted(indexes)
    return found


def _pods(job: JobEntry, cluster: Cluster, cards: dict[int, list[int]]) -> list[HeldPod]:
    """One pod a place; named cards are handed out in the order of roles and ranks, and taken from `cards`."""
    pods = []
    for place in job.places:
        ask = job.shape.roles[place.role]
        for rank, node in enumerate(place.nodes):
            count = 1 if is_share(ask.cards_m) else ask.cards_m // CARD
            given = cards.get(node, [])
            indexes, given[:] = given[:count], given[count:]
            pods.append(_pod(ask, place.role, rank, node, tuple(indexes), cluster))
    return pods


def _pod(ask: RoleAsk, role: int, rank: int, node: int, cards: tuple[int, ...], cluster: Cluster) -> HeldPod:
    flavor = int(cluster.nodes.flavor[node]) if ask.cards_m else -1
    vram = cluster.flavors[flavor].vram_mib if flavor >= 0 else 0
    count = 1 if is_share(ask.cards_m) else ask.cards_m // CARD
    return HeldPod(
        role=role,
        rank=rank,
        node=node,
        flavor=flavor,
        cards_m=ask.cards_m,
        cpu_m=ask.cpu_m,
        memory_mib=ask.memory_mib,
        vram_mib=ask.vram_mib or ask.cards_m * vram // CARD,
        cards=cards if len(cards) == count else (),
    )
