"""MIG instances as device plugins name them: `nvidia.com/mig-3g.40gb`, of media instances `nvidia.com/mig-1g.10gb.me`. PURE."""

import re
from typing import Final

from scheduling.engine.instances import instances

_RESOURCE: Final = re.compile(r"[a-z0-9.-]+/mig-([0-9]+g\.[0-9]+gb)(?:\.([a-z.]+))?")


def instances_of(resource_name: str) -> int:
    """Instances of such a resource that one card is cut into; one where it names no profile."""
    found = _RESOURCE.fullmatch(resource_name)
    return instances(found[1] + (f"+{found[2]}" if found[2] else "")) if found else 1
