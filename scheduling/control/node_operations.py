"""What a platform admin does to the machines of a simulated cluster: fail, recover and cordon nodes and cards (docs/simulator.md).

The order goes to the cluster; the platform learns of it like of any other event, by observing.
"""

from collections.abc import Callable, Mapping
from typing import Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import alarm
from berth.common.errors import ConflictError, NotFoundError, UnavailableError
from scheduling.cluster.port import ResultKind, WriteResult
from scheduling.cluster.virtual import Command, CordonNode, FailNode, NodeFailure, RecoverNode, SetCardHealth
from scheduling.control.clusters import port_of
from scheduling.control.simulated_cluster import SimulatedCluster
from scheduling.models import Node
from tenants.models import User
from tenants.services.audit import record_event

NODE_ORDERS: Final[Mapping[str, Callable[[str], Command]]] = {
    "fail": lambda node: FailNode(node, NodeFailure.SILENT),
    "recover": RecoverNode,
    "cordon": lambda node: CordonNode(node, cordoned=True),
    "uncordon": lambda node: CordonNode(node, cordoned=False),
}
CARD_ORDERS: Final = {"fail": False, "recover": True}


class NotSimulatedError(ConflictError):
    code = "not-simulated"
    message = _("Only a simulated cluster takes this; use the tools of the real one.")


def order_node(user: User, node: Node, order: str) -> None:
    """`fail`, `recover`, `cordon` or `uncordon` a node. Raises NotSimulatedError; NotFoundError for an unknown order."""
    make = NODE_ORDERS.get(order)
    if make is None:
        raise NotFoundError
    _give(user, node, make(node.name), f"node.{order}")


def order_card(user: User, node: Node, index: int, order: str) -> None:
    """`fail` or `recover` one card of a node by its index."""
    if order not in CARD_ORDERS or not node.cards.filter(index=index).exists():
        raise NotFoundError
    _give(user, node, SetCardHealth(node.name, index, healthy=CARD_ORDERS[order]), f"card.{order}", card=index)


def _give(user: User, node: Node, command: Command, action: str, **detail: int) -> None:
    """Outside any transaction of the platform: a cluster may be slow (Q12). The trail is written once it has taken the order."""
    port = port_of(node.cluster)
    if not isinstance(port, SimulatedCluster):
        raise NotSimulatedError
    outcome = port.act(command)
    if not isinstance(outcome, WriteResult) or outcome.kind is not ResultKind.ACCEPTED:
        raise UnavailableError(getattr(outcome, "message", "") or None)
    with transaction.atomic():
        record_event(by=user, action=action, on=node, detail={"node": node.name, **detail})
        alarm.ring("scheduling.observe")
