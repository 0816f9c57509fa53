"""What real nodes need of the machine: root and Debian's packages. Says in one line what is missing; installs it where that is possible.

`python -m testplane.real.packages` makes sure of it for the tests and builds their programs, or says that they run in CI.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from testplane.build import OF_NODES, BuildError, programs

PACKAGES: Mapping[str, str] = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
}
"""The Debian package that each program comes in."""
INSTALL_S = 600


def missing() -> list[str]:
    """Packages whose programs are not on the path, by name."""
    return sorted({package for program, package in PACKAGES.items() if not shutil.which(program)})


def problem() -> str | None:
    """Why real nodes cannot be had here and now; None when they can."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "real nodes need root on Debian"
    if absent := missing():
        return f"real nodes need the packages {' '.join(absent)}"
    return None


def install() -> str | None:
    """Installs what is missing where that is possible; answers why not, or None when everything is there."""
    absent = missing()
    if os.geteuid() != 0 or not shutil.which("apt-get") or not absent:
        return problem()
    print(f"testplane | installing {' '.join(absent)}", flush=True)
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *absent],
    ):
        try:
            done = subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True, text=True, check=False, timeout=INSTALL_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{' '.join(command[:2])} took more than {INSTALL_S} s"
        if done.returncode != 0:
            return f"{' '.join(command[:2])} failed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return problem()


def main() -> None:
    """Where real nodes cannot be had their tests are left out, and one line says so; programs that cannot be built are a failure."""
    if why := install():
        print(f"testplane | tests of real nodes are left out here and run in CI: {why}", flush=True)
        return
    try:
        programs(OF_NODES)
    except BuildError as error:
        sys.exit(f"testplane: {error}")


if __name__ == "__main__":
    main()
