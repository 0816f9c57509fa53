"""Writes policies.yaml from `scheduling.cluster.admission`, where the rules are kept with what Berth compares them to."""

import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))

from scheduling.cluster.admission import admission_objects  # noqa: E402 - the repository is on the path only now

HEAD = "# Written by write_policies.py from scheduling/cluster/admission.py: change it there.\n"


def text() -> str:
    """All policies and bindings, one document each."""
    return HEAD + yaml.safe_dump_all(admission_objects(), sort_keys=False, width=120)


if __name__ == "__main__":
    (HERE / "policies.yaml").write_text(text())
