"""The browser that page tests drive: found on the path, else installed from Debian's packages when root may do that.

`python tests/chromium.py` makes sure of it, or says in one line why it cannot be had.
"""

import os
import shutil
import subprocess
import sys

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-noto-cjk", "fonts-liberation")
INSTALL_S = 600


def find_chromium() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


def install_chromium() -> str | None:
    """Installs it where that is possible (root on Debian); answers why not, or None when it is there."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "page tests need Chromium on the path, and only root on Debian can install it here"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES],
    ):
        try:
            subprocess.run(
                command,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=True,
                timeout=INSTALL_S,
            )
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            return f"Chromium could not be installed: {' '.join([*command[:2], *last])}"
        except subprocess.TimeoutExpired:
            return f"Chromium could not be installed: {' '.join(command[:2])} took more than {INSTALL_S} s"
    return None if find_chromium() else "Chromium was installed but is not on the path"


def main() -> int:
    if find_chromium():
        return 0
    print("installing Chromium for the page tests", flush=True)
    problem = install_chromium()
    if problem:
        print(f"berth: {problem}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
