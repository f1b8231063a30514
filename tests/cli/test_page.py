"""What docs/command-line.md says is so: its commands exist, its errors are those that come, its guesses are made."""

import re
from pathlib import Path

import pytest

from cli.drawing import refusal, run

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [
    line for language, block in BLOCKS if language == "sh" for line in block.splitlines() if "kmle " in line[:5]
]
NAMES = re.findall(r"^\| `kmle (\w+)", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_every_command_exist(command):
    _, name, *arguments = command.split()
    shown = run(name, "--help").stdout
    for argument in arguments:
        if argument.startswith("-"):
            assert argument in shown


def test_the_table_lists_every_command():
    shown = run("--help").stdout
    listed = re.findall(r"^│ (\w+) +[A-Z]", shown, flags=re.MULTILINE)
    assert listed == NAMES


ERRORS = next(block for language, block in BLOCKS if language == "text").splitlines()
FILES = {
    "visits -1": ("visits\n" + "3\n" * 17 + "-1\n", ["--family", "poisson"]),
    "age missing": ("visits,age\n" + "3,\n" * 4, ["--columns", "visits,age"]),
    "weigth": ("visits,age,weight\n1,2,3\n", ["--columns", "weigth"]),
}


@pytest.mark.parametrize(("error", "case"), list(zip(ERRORS, FILES, strict=True)))
def test_the_errors_are_those_that_come(tmp_path, monkeypatch, error, case):
    monkeypatch.chdir(tmp_path)
    content, arguments = FILES[case]
    (tmp_path / "visits.csv").write_text(content)
    assert f"error: {refusal(run('fit', 'visits.csv', '-k', 1, *arguments))}" == error
