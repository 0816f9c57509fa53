"""SCH-22: one stored cycle is decided alike, byte for byte, in every process, whatever its hash seed."""

import os
import subprocess
import sys
from pathlib import Path

from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS
from scheduling.engine.stored import StoredCycle, plan_digest, store
from tests.properties.drawn_scenes import draw_scene
from tests.unit.engine.builders import NOW_MS

ROOT = Path(__file__).resolve().parents[2]
SEEDS, SCENES = range(5), 120
DECIDE = """
import sys
from pathlib import Path
from scheduling.engine.cycle import run_cycle
from scheduling.engine.stored import plan_digest, restore
for path in sorted(Path(sys.argv[1]).iterdir()):
    cycle = restore(path.read_bytes())
    print(plan_digest(run_cycle(cycle.snapshot, cycle.policy, cycle.now_ms)))
"""


def test_the_hash_seed_decides_nothing(tmp_path: Path) -> None:
    presets, here = sorted(PRESETS), []
    for seed in range(SCENES):
        snapshot, policy = draw_scene(seed).snapshot(), PRESETS[presets[seed % len(presets)]]
        plan = run_cycle(snapshot, policy, NOW_MS)
        here.append(plan_digest(plan))
        (tmp_path / f"{seed:04d}").write_bytes(store(StoredCycle(snapshot, policy, NOW_MS, plan)))

    told = {seed: _digests(tmp_path, seed) for seed in SEEDS}

    assert told == dict.fromkeys(SEEDS, here)


def _digests(cycles: Path, seed: int) -> list[str]:
    """Of the plans that a process of its own makes."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"}
    command = [sys.executable, "-c", DECIDE, str(cycles)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=100)
    return done.stdout.split()
