"""`python -m berth.localstack run` and `... with-services PURPOSE -- COMMAND`: what the Makefile calls."""

import argparse
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from berth import environment as deployment
from berth.localstack.lifeline import die_with_parent
from berth.localstack.problems import LauncherError, saying


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    if "MAKELEVEL" in os.environ:
        # Below make a launcher whose make was killed would have no terminal to stop it from.
        die_with_parent(signal.SIGTERM)
    # After that, which sets signals back to what kills at once; and a shell's background starts us with them ignored.
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent, _stop)
    os.umask(0o022)
    try:
        environment = deployment.read()
        if asked.what == "run":
            from berth.localstack.run import run

            run(environment)
            return 0
        from berth.localstack.borrow import run_with_services

        return run_with_services(environment, asked.purpose, asked.command)
    except KeyboardInterrupt:
        return 0 if asked.what == "run" else 130
    except deployment.WrongEnvironmentError as error:
        return _say(str(error), 2)
    except LauncherError as error:
        return _say(str(error), error.code)
    except OSError as error:
        return _say(saying(error), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="berth.localstack", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("run", help="PostgreSQL, Valkey, web, worker, beat and watcher until Ctrl-C")
    borrowed = what.add_parser("with-services", help="run a command with PostgreSQL and Valkey of its own")
    borrowed.add_argument("purpose", help="names the data folder, so that tests and benchmarks do not meet")
    borrowed.add_argument("command", nargs=argparse.REMAINDER, help="after --")
    return parser


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _say(text: str, code: int) -> int:
    print(f"berth: {text}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
