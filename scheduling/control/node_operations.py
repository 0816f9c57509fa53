"""What a platform admin does to machines: cordon, drain, take cards out, end a quarantine; and fail those of a simulated cluster.

The order goes to the cluster; the platform learns of it like of any other event, by observing. Only what a cluster cannot know (a drain,
a quarantine) is written down here.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import alarm
from berth.common.errors import ConflictError, NotFoundError, UnavailableError
from scheduling.cluster.port import ClusterPort, ResultKind, WriteResult
from scheduling.cluster.virtual import FailNode, NodeFailure, RecoverNode
from scheduling.control.clusters import port_of
from scheduling.control.flapping import FORGIVEN
from scheduling.control.simulated_cluster import SimulatedCluster
from scheduling.models import Node
from tenants.models import User
from tenants.services.audit import record_event

CALL_TIMEOUT_S = 5.0
CARD_ORDERS: Final = {"fail": False, "recover": True}


class NotSimulatedError(ConflictError):
    code = "not-simulated"
    message = _("Only a simulated cluster takes this; use the tools of the real one.")


def _cordon(port: ClusterPort, node: str) -> object:
    return port.set_cordon(node, cordoned=True, timeout_s=CALL_TIMEOUT_S)


def _uncordon(port: ClusterPort, node: str) -> object:
    return port.set_cordon(node, cordoned=False, timeout_s=CALL_TIMEOUT_S)


def _fail(port: ClusterPort, node: str) -> object:
    if not isinstance(port, SimulatedCluster):
        raise NotSimulatedError
    return port.act(FailNode(node, NodeFailure.SILENT))


def _recover(port: ClusterPort, node: str) -> object:
    """A real machine recovers by itself; what an order can end is our own quarantine."""
    if not isinstance(port, SimulatedCluster):
        return WriteResult(ResultKind.ACCEPTED, node)
    return port.act(RecoverNode(node))


_TRUSTED: Final[Mapping[str, object]] = {**FORGIVEN, "draining": False}
NODE_ORDERS: Final[Mapping[str, tuple[Callable[[ClusterPort, str], object], Mapping[str, object]]]] = {
    "fail": (_fail, {}),
    "recover": (_recover, FORGIVEN),
    "cordon": (_cordon, {}),
    "uncordon": (_uncordon, _TRUSTED),
    "drain": (_cordon, {"draining": True}),
}
"""What each order asks of the cluster, and what it changes about the node's row."""


def order_node(user: User, node: Node, order: str) -> None:
    """`fail`, `recover`, `cordon`, `uncordon` or `drain` a node. Raises NotSimulatedError; NotFoundError for an unknown order."""
    if order not in NODE_ORDERS:
        raise NotFoundError
    ask, changes = NODE_ORDERS[order]
    _give(user, node, lambda port: ask(port, node.name), f"node.{order}", changes)


def order_card(user: User, node: Node, index: int, order: str) -> None:
    """`fail` or `recover` one card of a node by its index."""
    if order not in CARD_ORDERS or not node.cards.filter(index=index).exists():
        raise NotFoundError

    def ask(port: ClusterPort) -> object:
        return port.set_card_health(node.name, index, healthy=CARD_ORDERS[order], timeout_s=CALL_TIMEOUT_S)

    _give(user, node, ask, f"card.{order}", {}, card=index)


def _give(
    user: User,
    node: Node,
    ask: Callable[[ClusterPort], object],
    action: str,
    changes: Mapping[str, Any],
    **detail: int,
) -> None:
    """Outside any transaction of the platform: a cluster may be slow (Q12). The trail is written once it has taken the order."""
    outcome = ask(port_of(node.cluster))
    if not isinstance(outcome, WriteResult) or outcome.kind is not ResultKind.ACCEPTED:
        raise UnavailableError(getattr(outcome, "message", "") or None)
    with transaction.atomic():
        Node.objects.filter(pk=node.pk).update(**changes)
        record_event(by=user, action=action, on=node, detail={"node": node.name, **detail})
        alarm.ring("scheduling.observe")
