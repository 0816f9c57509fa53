"""What a plan file says and what is told about a wrong one."""

import pytest

from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier
from scheduling.simulator.plan_file import Question, parse_plan
from tests.unit.simulator.files import CLUSTER, no_files, plan_problems

INDENTED = "".join(f"  {line}\n" for line in CLUSTER.splitlines())
PLAN = f"""\
now: "2026-11-29T10:00:00Z"
policy: default
cluster:
{INDENTED}
running:
  - {{job: r1, tenant: b, queue: main, tier: development, priority: 100, submitted: "2026-11-29T08:00:00Z",
     started: "2026-11-29T08:01:00Z", max_runtime: 7200, last_checkpoint: "2026-11-29T09:57:00Z", loan_expires: null,
     roles: [{{name: worker, replicas: 2, min_replicas: 2, nodes: [n0, n1],
              resources: {{gpu: 8, flavors: [a100], cpu: 8, memory: 64, vram_per_gpu: 80}}}}]}}
pending:
  - {{job: j1, tenant: a, queue: main, tier: production, priority: 500, submitted: "2026-11-29T17:00:00+08:00",
     roles: [{{name: worker, replicas: 1, resources: {{gpu: 8}}}}]}}
"""
NOW_MS = 1_795_946_400_000


def read(text: str) -> Question:
    return parse_plan(text, "plan.yaml", no_files)


def test_the_contracts_example_is_read() -> None:
    question = read(PLAN)

    running, pending, pods = question.snapshot.running, question.snapshot.pending, question.snapshot.pods
    assert question.now_ms == NOW_MS
    assert (running.ids, running.tier.tolist(), running.priority.tolist()) == (("r1",), [Tier.DEVELOPMENT], [100])
    assert running.start_ms.tolist() == [NOW_MS - 119 * 60_000]
    assert running.limit_ms.tolist() == [7_200_000]
    assert running.loan_expires_ms.tolist() == [NEVER]
    assert (pods.node.tolist(), pods.cards_m.tolist(), pods.cpu_m.tolist()) == ([0, 1], [8000] * 2, [8000] * 2)
    assert pods.vram_mib.tolist() == [8 * 80 * 1024] * 2
    assert (pending.ids, pending.submit_ms.tolist()) == (("j1",), [NOW_MS - 3_600_000])


def test_defaults_are_the_queues_tier_and_no_cpu() -> None:
    text = PLAN.replace("tier: production, priority: 500, ", "").replace(
        "tenant: a, queue: main", "tenant: b, queue: main"
    )

    question = read(text)

    role = question.snapshot.shapes[int(question.snapshot.pending.shape[0])].roles[0]
    assert question.snapshot.pending.tier.tolist() == [Tier.BATCH]
    assert question.snapshot.pending.priority.tolist() == [500]
    assert (role.cpu_m, role.memory_mib, role.flavors) == (0, 0, (0,))


def test_cards_that_are_named_are_handed_to_the_pods_in_order() -> None:
    text = PLAN.replace("gpu: 8, flavors", "gpu: 2, flavors").replace("nodes: [n0, n1]", "nodes: [n0, n0]")
    text = text.replace("max_runtime: 7200,", "cards: {n0: [5, 1, 7, 2]},")

    assert read(text).snapshot.pods.cards == ((1, 2), (5, 7))


def test_the_order_of_entries_makes_no_difference() -> None:
    extra = "  - {job: j0, tenant: b, queue: main, roles: [{resources: {gpu: 1}}]}\n"
    there = read(PLAN + extra)
    back = read(PLAN.replace("pending:\n", "pending:\n" + extra))

    assert there.snapshot.pending.ids == back.snapshot.pending.ids == ("j0", "j1")
    assert there.snapshot.shapes == back.snapshot.shapes


def test_usage_changes_effective_weights() -> None:
    """u = 0.31: p = (0.6 - 0.31) / 0.6; a alone has used anything of two equal tenants: F = 2^-2."""
    text = PLAN.replace(
        "running:\n", "usage: {a/main: {decayed_card_hours: 120, utilisation_7d: 0.31, coverage: 0.95}}\nrunning:\n"
    )

    weights = {node.id: node.effective_weight_ppm for node in read(text).snapshot.tree}

    assert weights["a/main"] == 516_667
    assert weights["a"] == int((0.7 + 0.3 * 0.25) * 516_667)
    assert weights["b"] == 1_000_000


def test_a_transfer_that_is_active_moves_nominal_quota() -> None:
    text = PLAN + 'transfers: [{from: a/main, to: b/main, flavor: a100, amount: 4, ends: "2026-11-30T00:00:00Z"}]\n'

    nominal = {node.id: node.nominal[0] for node in read(text).snapshot.tree}

    assert (nominal["a/main"], nominal["b/main"]) == (12_000, 20_000)


WRONG = {
    "now is required": ('now: "2026-11-29T10:00:00Z"\n', "", "now is required"),
    "now without an offset": ("10:00:00Z", "10:00:00", ":1: now: must carry an offset (Z or +08:00)"),
    "now before every bill": ("2026-11-29T10:00:00Z", "0001-01-01T00:00:00+23:59", ":1: now: must be from 2000-01-01 to 2200-01-01"),
    "now after every bill": ("2026-11-29T10:00:00Z", "9999-12-31T23:59:60Z", ":1: now: must be from 2000-01-01 to 2200-01-01"),
    "an unknown key": ("policy: default", "polcy: default", ":2: polcy: unknown key; known here: now, policy, cluster"),
    "an unknown key of a job": ("max_runtime: 7200", "max_run_time: 7200", "running[0].max_run_time: unknown key"),
    "an unknown node": ("nodes: [n0, n1]", "nodes: [n0, n9]", "running[0].roles[0].nodes: unknown node 'n9'"),
    "too few nodes": ("nodes: [n0, n1]", "nodes: [n0]", "running[0].roles[0].nodes: names 1 nodes for 2 pods"),
    "more cards than a node has": ("nodes: [n0, n1]", "nodes: [n0, n0]", "running[0]: node n0 has 8 cards, more are held"),
    "a part of a card above one": ("resources: {gpu: 8}}", "resources: {gpu: 1.5}}", "resources.gpu: must be a whole number of cards or a share below 1"),
    "a minimum above the full size": ("replicas: 1,", "replicas: 2, min_replicas: 3,", "pending[0].roles[0].min_replicas: must be at most replicas (2), is 3"),
    "an unknown flavor": ("flavors: [a100]", "flavors: [h100]", "running[0].roles[0].resources.flavors: unknown flavor 'h100'"),
    "the same job twice": ("job: j1", "job: r1", "job 'r1' is there twice"),
    "no roles": ("roles: [{name: worker, replicas: 1, resources: {gpu: 8}}]", "roles: []", "pending[0]: roles: at least one role"),
    "an unknown preset": ("policy: default", "policy: tetris", ":2: policy: unknown preset 'tetris'; supported: "),
    "an unknown queue in usage": ("running:\n", "usage: {a/other: {coverage: 1}}\nrunning:\n", "usage.a/other: unknown queue"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "want"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_plan_file_is_refused_with_line_key_and_cause(old: str, new: str, want: str) -> None:
    assert old in PLAN

    found = plan_problems(PLAN.replace(old, new, 1))

    assert any(want in problem for problem in found), found
