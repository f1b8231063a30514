"""Runs the ten lines of the README with the installed package: what every wheel must pass.

python .ci/ten_lines.py           the compiled kernels must be there
python .ci/ten_lines.py --pure    they must not
"""

import contextlib
import io
import re
import sys
from importlib.util import find_spec
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def example() -> tuple[str, str]:
    """The first block of Python in the README, and the output that follows it."""
    text = README.read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?)^```$\s+^```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit("README.md has no Python example with its output")
    return found.group(1), found.group(2)


def main() -> None:
    code, expected = example()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(README), "exec"), {})
    if printed.getvalue() != expected:
        sys.exit(f"The README shows\n{expected}\nbut the installed package prints\n{printed.getvalue()}")
    compiled = find_spec("kmle._kernels._compiled") is not None
    if compiled == ("--pure" in sys.argv):
        sys.exit(f"The compiled kernels are {'there' if compiled else 'missing'}")
    import kmle

    print(f"kmle {kmle.__version__} in {Path(kmle.__file__).parent}: the ten lines run, compiled kernels: {compiled}")


if __name__ == "__main__":
    main()
