"""What a Node document says about new work and about its cards."""

from typing import Any

import pytest

from scheduling.cluster.kube_nodes import read_node, with_card_health
from tests.unit.cluster.test_kube_reading import a_node


def tainted(key: str, effect: str, **more: str) -> dict[str, Any]:
    return a_node(spec={"taints": [{"key": key, "effect": effect, **more}]})


@pytest.mark.parametrize(
    ("key", "effect", "value", "want"),
    [
        ("maintenance", "NoSchedule", "yes", "maintenance=yes:NoSchedule"),
        ("maintenance", "NoExecute", "", "maintenance:NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule", "", "node.kubernetes.io/disk-pressure:NoSchedule"),
        ("maintenance", "PreferNoSchedule", "yes", ""),
        ("berth.dev/pool", "NoSchedule", "ext-d", ""),
        ("nvidia.com/gpu", "NoSchedule", "present", ""),
        ("node.kubernetes.io/unreachable", "NoExecute", "", ""),
        ("node.kubernetes.io/unschedulable", "NoSchedule", "", ""),
    ],
)
def test_a_taint_that_is_not_meant_for_berth_bars_new_work(key: str, effect: str, value: str, want: str) -> None:
    assert read_node(tainted(key, effect, value=value)).barred_by == want


def test_a_device_plugin_that_counts_fewer_cards_is_heard() -> None:
    told = read_node(a_node(status={"allocatable": {"nvidia.com/gpu": "6"}}))
    silent = read_node(a_node())

    assert (told.card_count, told.allocatable_cards, told.unhealthy_cards) == (8, 6, ())
    assert silent.allocatable_cards is None


@pytest.mark.parametrize(
    ("said", "index", "healthy", "want"), [("0,3", 5, False, "0,3,5"), ("0,3", 3, True, "0"), ("3", 3, True, None)]
)
def test_one_cards_health_is_said_beside_the_others(said: str, index: int, healthy: bool, want: str | None) -> None:
    node = a_node(metadata={"annotations": {"berth.dev/unhealthy-cards": said}})

    assert list(with_card_health(node, index, healthy=healthy).values()) == [want]
