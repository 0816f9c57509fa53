"""Proposed moves (SCH-24) as REST answers them."""

from typing import Any

from rest_framework import serializers

from berth.common.bodies import CardsField
from scheduling.api.amounts import cards
from scheduling.selectors.moves import JobMove, NodeMoves, PoolMoves

MS_PER_S = 1000


class JobMoveSchema(serializers.Serializer[Any]):
    job = serializers.IntegerField()
    name = serializers.CharField()
    tenant = serializers.CharField()
    queue = serializers.CharField()
    role = serializers.CharField()
    index = serializers.IntegerField()
    from_node = serializers.CharField()
    to_node = serializers.CharField()
    cards = CardsField()


class NodeMovesSchema(serializers.Serializer[Any]):
    node = serializers.CharField()
    cards = CardsField(help_text="Cards of the node, which would all be free.")
    moved_cards = CardsField(help_text="Cards whose jobs would go on elsewhere.")
    lost_card_seconds = serializers.IntegerField(
        help_text="Card time since the jobs' last checkpoints, which the moves throw away."
    )
    moves = JobMoveSchema(many=True)


class PoolMovesSchema(serializers.Serializer[Any]):
    """Nodes that moves of small jobs would free, the one with the least to move first; all of them hold together. Nothing is moved."""

    pool = serializers.CharField()
    at = serializers.DateTimeField(help_text="The instant of the picture that they are proposed on.")
    nodes = NodeMovesSchema(many=True)


def moves_document(found: PoolMoves) -> dict[str, Any]:
    return {"pool": found.pool.name, "at": found.at, "nodes": [_node(each) for each in found.nodes]}


def _node(each: NodeMoves) -> dict[str, Any]:
    return {
        "node": each.node.name,
        "cards": cards(each.cards_m),
        "moved_cards": cards(each.moved_m),
        "lost_card_seconds": each.lost_card_ms // MS_PER_S,
        "moves": [_move(move) for move in each.moves],
    }


def _move(move: JobMove) -> dict[str, Any]:
    return {
        "job": move.job.pk,
        "name": move.job.name,
        "tenant": move.job.tenant.slug,
        "queue": move.job.queue.name,
        "role": move.role,
        "index": move.index,
        "from_node": move.source,
        "to_node": move.target,
        "cards": cards(move.cards_m),
    }
