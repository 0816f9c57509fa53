"""Ties a process to its parent, so that a launcher killed with SIGKILL leaves nobody behind. Knows no other room."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(sent: signal.Signals) -> None:
    """Ask the kernel to send `sent` to this process when its parent dies (on Linux only), and answer signals as usual.

    The kernel forgets the wish when the process changes its user, so it is called after that (`preexec_fn` is).
    """
    # Started by `nohup` or in a shell's background a launcher ignores signals, and children would inherit that and never stop.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(sent), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), sent)
