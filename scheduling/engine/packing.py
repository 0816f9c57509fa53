"""SCH-12: the best spot for one pod over all nodes and flavors at once: the lowest cost, then node name, then card.

What an option costs is a rule of its own (`packing_costs`). A random placement reads a table of draws handed in: nothing is drawn
here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scheduling.engine.fleet import Fleet, OnePod, Options, Spot
from scheduling.engine.snapshot import I64, Flags

NO_ROOM = 2**62
"""The cost of a node where the pod does not fit."""
WORTH_COMPARING = 16
"""From so many nodes on it is cheaper to look for those that are alike than to work out all."""


class Cost(Protocol):
    """What each option costs, lower is better. It may depend only on the pod and on what is free on the node itself."""

    def of(self, pod: OnePod, options: Options) -> I64: ...


class Finder(Protocol):
    """Finds a spot for a pod; None where it fits nowhere."""

    def find(self, pod: OnePod) -> Spot | None: ...


@dataclass(slots=True)
class Choice:
    """The best option of each node for one kind of pod, as of the first `seen` changes of the fleet."""

    allowed: Flags
    cost: I64
    card: I64
    seen: int


class Packer:
    """Finds the cheapest spot for one pod after the other; a node is looked at again only when something on it changed."""

    def __init__(self, fleet: Fleet, cost: Cost) -> None:
        self._fleet = fleet
        self._cost = cost
        self._choices: dict[OnePod, Choice] = {}

    def find(self, pod: OnePod) -> Spot | None:
        if not len(self._fleet):
            return None
        choice = self._choices.get(pod) or self._first_look(pod)
        log = self._fleet.log
        if choice.seen < len(log):
            changed = np.array(sorted(set(log[choice.seen :])), dtype=np.int64)
            self._look(pod, choice, changed[choice.allowed[changed]])
            choice.seen = len(log)
        node = int(choice.cost.argmin())
        return None if choice.cost[node] == NO_ROOM else self._fleet.spot(pod, node, int(choice.card[node]))

    def _first_look(self, pod: OnePod) -> Choice:
        allowed = self._fleet.accepting(pod)
        cost = np.full(len(allowed), NO_ROOM, dtype=np.int64)
        choice = self._choices[pod] = Choice(allowed, cost, np.full_like(cost, -1), len(self._fleet.log))
        self._look(pod, choice, np.flatnonzero(allowed))
        return choice

    def _look(self, pod: OnePod, choice: Choice, nodes: I64) -> None:
        """Find the best option of each of `nodes` anew, once for all that are alike."""
        alike = len(nodes) >= WORTH_COMPARING
        if alike:
            _, first, like = np.unique(self._fleet.state[nodes], return_index=True, return_inverse=True)
        options = self._fleet.find_room(pod, nodes[first] if alike else nodes)
        choice.cost[nodes] = NO_ROOM
        if not len(options.node):
            return
        costs = self._cost.of(pod, options)
        order = np.lexsort((options.card, costs, options.node))
        hosts, at = np.unique(options.node[order], return_index=True)
        choice.cost[hosts], choice.card[hosts] = costs[order[at]], options.card[order[at]]
        if alike:
            twins = nodes[first][like]
            choice.cost[nodes], choice.card[nodes] = choice.cost[twins], choice.card[twins]


class Random:
    """Any node where the pod fits, then any card of it that takes the share: two numbers of the table a pod, fitting or not."""

    def __init__(self, fleet: Fleet, draws: Iterator[int]) -> None:
        self._fleet = fleet
        self._draws = draws

    def find(self, pod: OnePod) -> Spot | None:
        node_draw, card_draw = next(self._draws), next(self._draws)
        options = self._fleet.find_room(pod, np.flatnonzero(self._fleet.accepting(pod)))
        hosts = np.unique(options.node)
        if not len(hosts):
            return None
        node = hosts[node_draw % len(hosts)]
        if not pod.is_share:
            return self._fleet.spot(pod, int(node), -1)
        cards = np.flatnonzero(self._fleet.cards_with_room(pod, np.array([node]))[0])
        return Spot(int(node), (int(cards[card_draw % len(cards)]),))
