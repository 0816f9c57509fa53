"""`cohorts` and `tenants` of a cluster file: the quota tree with its amounts, and the queues that are its leaves."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from berth.common.shown import shown
from scheduling.engine.snapshot import CPU, MEMORY, VRAM, Queue, TreeNode
from scheduling.engine.units import ONE_PPM
from scheduling.engine.vocabulary import Tier
from scheduling.simulator import quantities
from scheduling.simulator.documents import Fields
from scheduling.simulator.problems import WrongValueError

DEFAULT_LOAN_S = 4 * 3600
TIERS = {tier.label: tier for tier in Tier}
STATES = ("open", "closed", "draining")


@dataclass(frozen=True, slots=True)
class Line:
    """One quota line in engine units; a limit of None means no limit."""

    nominal: int
    borrowing: int | None
    lending: int | None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A cohort, tenant or queue as written; `quota` is by column name (`gpu:<flavor>`, `cpu`, ...)."""

    id: str
    kind: str
    parent: str | None
    weight_ppm: int
    quota: dict[str, Line]


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A queue as written; `pool` is None where not given."""

    id: str
    tenant: str
    cohort: str
    pool: str | None
    tier: Tier
    open: bool
    draining: bool
    priority_tenant: bool
    loan_period_ms: int
    strict_expiry: bool
    max_pool_share_ppm: int | None


@dataclass(slots=True)
class Tree:
    """What the two sections say, by id."""

    nodes: dict[str, TreeEntry] = field(default_factory=dict)
    queues: dict[str, QueueEntry] = field(default_factory=dict)


def read_tree(document: Fields, resolve: Callable[[str, str | None], str], pool_default: str) -> Tree:
    """Both sections. `resolve(flavor, pool)` gives the flavor's full name and raises `WrongValueError` for an unknown one."""
    tree = Tree()
    _read_cohorts(document, tree, resolve)
    for fields in document.each("tenants"):
        _read_tenant(fields, tree, resolve, pool_default, implicit="cohorts" not in document)
    return tree


def _name(text: str) -> str:
    if "/" in text:
        raise WrongValueError(f"must not contain a slash, is {shown(text)}")
    return quantities.word(text)


def _read_cohorts(document: Fields, tree: Tree, resolve: Callable[[str, str | None], str]) -> None:
    entries: list[tuple[Fields, str]] = []
    for fields in document.each("cohorts"):
        name = fields.need("name", _name, "")
        parent = fields.take("parent", _name, None)
        weight = fields.take("weight", quantities.ppm, ONE_PPM)
        quota = _read_quota(fields.below("quota"), lambda flavor: resolve(flavor, None))
        fields.close()
        if name in tree.nodes:
            fields.problem("name", f"cohort {shown(name)} is there twice")
        tree.nodes[name] = TreeEntry(name, "cohort", parent, weight, quota)
        entries.append((fields, name))
    for fields, name in entries:
        if _climbs_in_a_circle(tree, name):
            fields.problem("parent", "a cohort cannot be above itself")
        parent = tree.nodes[name].parent
        if parent is not None and parent not in tree.nodes:
            fields.problem("parent", f"unknown cohort {shown(parent)}")


def _climbs_in_a_circle(tree: Tree, name: str) -> bool:
    seen = {name}
    above = tree.nodes[name].parent
    while above is not None and above in tree.nodes:
        if above in seen:
            return above == name
        seen.add(above)
        above = tree.nodes[above].parent
    return False


def _read_tenant(
    fields: Fields, tree: Tree, resolve: Callable[[str, str | None], str], pool_default: str, *, implicit: bool
) -> None:
    name = fields.need("name", _name, "")
    cohort = fields.take("cohort", _name, None)
    weight = fields.take("weight", quantities.ppm, ONE_PPM)
    priority = fields.take("service_tier", quantities.one_of("standard", "priority"), "standard") == "priority"
    fields.take("isolation", quantities.one_of("shared", "partition", "dedicated"), "shared")
    quota = _read_quota(fields.below("quota"), lambda flavor: resolve(flavor, None))
    if cohort is not None and cohort not in tree.nodes:
        if not implicit:
            fields.problem("cohort", f"unknown cohort {shown(cohort)}")
        tree.nodes[cohort] = TreeEntry(cohort, "cohort", None, ONE_PPM, {})
    if name in tree.nodes:
        fields.problem("name", f"{tree.nodes[name].kind} {shown(name)} is there already; shares are printed by name")
    tree.nodes[name] = TreeEntry(name, "tenant", cohort, weight, quota)
    for queue in fields.each("queues"):
        _read_queue(queue, name, cohort or "", tree, resolve, pool_default, priority=priority)
    fields.close()


def _read_queue(
    fields: Fields,
    tenant: str,
    cohort: str,
    tree: Tree,
    resolve: Callable[[str, str | None], str],
    pool_default: str,
    *,
    priority: bool,
) -> None:
    name = f"{tenant}/{fields.need('name', _name, '')}"
    pool = fields.take("pool", quantities.word, None)
    state = fields.take("state", quantities.one_of(*STATES), "open")
    entry = QueueEntry(
        id=name,
        tenant=tenant,
        cohort=cohort,
        pool=pool,
        tier=TIERS[fields.take("tier", quantities.one_of(*TIERS), Tier.DEVELOPMENT.label)],
        open=state != "closed",
        draining=state == "draining",
        priority_tenant=priority,
        loan_period_ms=fields.take("loan_period_s", quantities.milliseconds, DEFAULT_LOAN_S * 1000),
        strict_expiry=fields.take("strict_expiry", quantities.flag, default=False),
        max_pool_share_ppm=fields.take("max_pool_share", quantities.fraction_ppm, None),
    )
    weight = fields.take("weight", quantities.ppm, ONE_PPM)
    quota = _read_quota(fields.below("quota"), lambda flavor: resolve(flavor, pool or pool_default))
    fields.close()
    if name in tree.queues:
        fields.problem("name", f"queue {shown(name)} is there twice")
    tree.queues[name] = entry
    tree.nodes[name] = TreeEntry(name, "queue", tenant, weight, quota)


def _read_quota(fields: Fields, resolve: Callable[[str], str]) -> dict[str, Line]:
    found: dict[str, Line] = {}
    cards = fields.below("gpu")
    for flavor, _ in cards.named():
        try:
            column = f"gpu:{resolve(flavor)}"
        except WrongValueError as wrong:
            cards.problem(flavor, str(wrong))
            continue
        if column in found:
            cards.problem(flavor, "the same flavor is given twice")
        found[column] = _read_line(cards.below(flavor), quantities.milli_cards)
    for resource, parse in ((CPU, quantities.millicores), (MEMORY, quantities.mebibytes), (VRAM, quantities.mebibytes)):
        if fields.value(resource) is not None:
            found[resource] = _read_line(fields.below(resource), parse)
    fields.close()
    return found


def _read_line(fields: Fields, amount: Callable[[str, int], int]) -> Line:
    def parse(text: str) -> int:
        return amount(text, quantities.LARGEST)

    line = Line(
        nominal=fields.take("nominal", parse, 0),
        borrowing=fields.take("borrowing_limit", parse, None),
        lending=fields.take("lending_limit", parse, None),
    )
    mode = fields.take("mode", quantities.one_of("static", "dynamic", "overcommit"), "static")
    if mode != "static":
        fields.problem("mode", f"mode {mode} is not supported yet: quotas are static")
    fields.close()
    return line


def build_tree(
    tree: Tree, columns: tuple[str, ...], pools: dict[str, int]
) -> tuple[tuple[TreeNode, ...], tuple[Queue, ...]]:
    """The engine's tree and queues, each sorted by id; every queue's pool is settled by now."""
    order = sorted(tree.nodes)
    position = {name: i for i, name in enumerate(order)}
    nodes = tuple(_tree_node(tree.nodes[name], columns, position) for name in order)
    queues = tuple(_queue(tree.queues[name], position, pools) for name in sorted(tree.queues))
    return nodes, queues


def _tree_node(entry: TreeEntry, columns: Iterable[str], position: dict[str, int]) -> TreeNode:
    lines = [entry.quota.get(column) for column in columns]
    return TreeNode(
        id=entry.id,
        name=entry.id.rpartition("/")[2],
        kind=entry.kind,
        parent=position.get(entry.parent or "", -1),
        nominal=tuple(line.nominal if line else None for line in lines),
        borrowing=tuple(line.borrowing if line else None for line in lines),
        lending=tuple(line.lending if line else None for line in lines),
        weight_ppm=entry.weight_ppm,
        effective_weight_ppm=entry.weight_ppm,
    )


def _queue(entry: QueueEntry, position: dict[str, int], pools: dict[str, int]) -> Queue:
    return Queue(
        id=entry.id,
        name=entry.id.rpartition("/")[2],
        tenant=entry.tenant,
        node=position[entry.id],
        pool=pools[entry.pool or ""],
        cohort=entry.cohort,
        open=entry.open,
        draining=entry.draining,
        priority_tenant=entry.priority_tenant,
        loan_period_ms=entry.loan_period_ms,
        strict_expiry=entry.strict_expiry,
        max_pool_share_ppm=entry.max_pool_share_ppm,
    )
