"""`python -m testplane [run]`: a control plane until Ctrl-C (`make kube`), alone or with the whole product on it (`make run-kube`)."""

import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

from testplane.build import BuildError
from testplane.nodes import read
from testplane.plane import Plane, PlaneError

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
        with Plane(node_groups=read()) as plane:
            print(f"testplane | ready after {time.monotonic() - began:.1f} s; Ctrl-C stops it")
            print(f"export KUBECONFIG={plane.kubeconfig('admin')}", flush=True)
            if arguments == ["run"]:
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


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
