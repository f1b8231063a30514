"""Files and runs that the tests of the command line share."""

import subprocess
import sys
from importlib.resources import files

import numpy as np
from typer.testing import CliRunner

from kmle.cli.main import app

FAITHFUL = str(files("kmle") / "io" / "faithful.csv")


def run(*arguments, stdin=None):
    """A command in this process: quick, and errors that are no exit come out as they are."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_process(*arguments, stdin=None, cwd=None):
    """A command as a user runs it."""
    command = [sys.executable, "-m", "kmle", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, cwd=cwd, timeout=120)


def code_of(result):
    """The exit code of either kind of run."""
    return result.returncode if isinstance(result, subprocess.CompletedProcess) else result.exit_code


def refusal(result):
    """The one sentence with which bad usage or data is refused."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    *_, last = result.stderr.strip().splitlines()
    assert last.startswith("error: ")
    return last.removeprefix("error: ")


def rows(n=300, seed=0):
    """Two well separated Gaussian clusters in two columns."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal([0, 0], 1, (n // 2, 2)), rng.normal([9, 4], [2, 1], (n - n // 2, 2))])
