"""`python -m testplane [nodes] [run]`: a control plane until Ctrl-C (`make kube`), alone or with the whole product on it (`make run-kube`).

`nodes`: with nodes that run real containers instead of pretended ones (`make nodes`).
"""

import os
import signal
import sys
import time
from contextlib import ExitStack
from types import FrameType
from typing import NoReturn

from testplane.build import BuildError
from testplane.nodes import read
from testplane.plane import Plane, PlaneError
from testplane.real import packages
from testplane.real.cluster import RealCluster

from berth import environment as deployment
from berth.localstack.problems import LauncherError
from berth.localstack.run import run


def main(arguments: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    os.umask(0o022)
    began = time.monotonic()
    try:
        # What is wrong with the environment is said before anything is built.
        deployment.read()
        with ExitStack() as held:
            plane = _with_real_nodes(held) if "nodes" in arguments else held.enter_context(Plane(node_groups=read()))
            print(f"testplane | ready after {time.monotonic() - began:.1f} s; Ctrl-C stops it")
            print(f"export KUBECONFIG={plane.kubeconfig('admin')}", flush=True)
            if "BERTH_API_URL" in os.environ:
                print(f"export BERTH_API_URL={os.environ['BERTH_API_URL']}", flush=True)
            if "run" in arguments:
                os.environ |= {"BERTH_CLUSTER": "kubernetes", "BERTH_KUBECONFIG": str(plane.kubeconfig())}
                run(deployment.read(), data="run-kube")
            while True:
                time.sleep(0.2)
    except KeyboardInterrupt:
        return 0
    except (BuildError, PlaneError) as error:
        print(f"testplane: {error}", file=sys.stderr)
        return 1
    except (LauncherError, deployment.WrongEnvironmentError) as error:
        print(f"berth: {error}", file=sys.stderr)
        return 1


def _with_real_nodes(held: ExitStack) -> Plane:
    """What they need is installed where it can be; their pods reach the platform's port."""
    if why := packages.install():
        raise PlaneError(why)
    cluster = held.enter_context(RealCluster())
    os.environ.setdefault("BERTH_API_URL", cluster.open_to_pods(deployment.read().port))
    return cluster.plane


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
