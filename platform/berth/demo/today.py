"""What makes the demo's opening worth a look: work that runs on past now, and jobs that wait, each for a reason of its own."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from berth.demo.workload import ASCEND, HALF, MIG, QUARTER, SHARED, Ask, cpu_of, memory_of


def asks_of_today(now: datetime) -> list[Ask]:
    """Submitted in the last hours before `now`, in no order."""
    return [*_on_whole_cards(now), *_on_other_cards(now)]


def _on_whole_cards(now: datetime) -> list[Ask]:
    return [
        _ask(now, 190, "algo-a", "prod", "production", "llm-pretrain-70b", 12, 8, 40, rack=False),
        _ask(now, 170, "algo-b", "dev", "development", "sft-qwen-72b-r3", 4, 8, 18),
        _ask(now, 160, "algo-b", "dev", "development", "align-chat-v2", 2, 8, 14),
        _ask(now, 150, "algo-b", "dev", "development", "distill-8b-long", 1, 8, 30, limit=None),
        _ask(now, 140, "ext-d", "prod", "production", "customer-finetune-04", 1, 8, 20, flavor="a100-80g@ext-d"),
        _ask(now, 120, "data-c", "batch", "batch", "embed-shards-11", 1, 4, 9),
        _ask(now, 110, "data-c", "batch", "batch", "dedup-corpus-cc", 1, 0, 12),
        _ask(now, 95, "algo-b", "dev", "development", "rm-train-h800", 1, 8, 16, flavor="h800-80g"),
        _ask(now, 60, "algo-a", "prod", "production", "moe-ablation-4x", 4, 8, 12),
        _ask(now, 45, "algo-b", "dev", "development", "dpo-mix-0412", 8, 8, 8),
        _ask(now, 30, "ext-d", "prod", "production", "customer-eval-05", 2, 8, 6, flavor="a100-80g@ext-d"),
        _ask(now, 20, "algo-b", "dev", "development", "vlm-align-h800", 2, 8, 9, flavor="h800-80g"),
    ]


def _on_other_cards(now: datetime) -> list[Ask]:
    """On MIG instances, shares of cards and Ascend cards."""
    return [
        _ask(now, 100, "algo-a", "prod", "production", "tokenizer-check", 1, 2, 14, flavor=MIG),
        _ask(now, 92, "algo-b", "dev", "development", "notebook-judge", 1, 1, 12, flavor=MIG),
        _ask(now, 88, "data-c", "batch", "batch", "embed-small-07", 1, 1, 10, flavor=MIG),
        _ask(now, 75, "algo-b", "dev", "development", "prompt-bench-v4", 1, 4, 9, flavor=MIG),
        _ask(now, 70, "algo-b", "dev", "development", "debug-session-rm", 1, HALF, 8, flavor=SHARED),
        _ask(now, 66, "algo-b", "dev", "development", "debug-session-vlm", 1, QUARTER, 9, flavor=SHARED),
        _ask(now, 64, "data-c", "batch", "batch", "quality-probe", 1, HALF, 11, flavor=SHARED),
        _ask(now, 130, "algo-b", "ascend", "development", "port-llama-910", 1, 4, 16, flavor=ASCEND),
        _ask(now, 118, "data-c", "ascend", "batch", "ascend-eval-sweep", 1, 4, 13, flavor=ASCEND),
        _ask(now, 35, "algo-b", "ascend", "development", "op-bench-910", 1, 8, 5, flavor=ASCEND),
    ]


def _ask(
    now: datetime, minutes: int, tenant: str, queue: str, tier: str, name: str, pods: int, cards: int | Decimal,
    hours: float, **more: Any,
) -> Ask:  # fmt: skip
    """One that was submitted so many minutes ago."""
    flavor = more.pop("flavor", "a100-80g" if cards else "")
    return Ask(
        at=(now - timedelta(minutes=minutes)).replace(microsecond=0),
        tenant=tenant,
        queue=queue,
        tier=tier,
        name=name,
        pods=pods,
        cards=cards,
        cpu=cpu_of(cards, flavor),
        memory_gib=memory_of(cards, flavor),
        duration_s=int(hours * 3600),
        max_runtime_s=more.pop("limit", int(hours * 5400)),
        outcome=more.pop("outcome", "succeeded"),
        flavor=flavor,
        **more,
    )
