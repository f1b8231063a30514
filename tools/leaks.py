"""Writes a C++ file that lists the weak symbols of object files which do not carry the name of an instruction set.

leaks.py NM OUT OBJECT...: CMakeLists.txt runs it on the objects compiled for AVX2 and AVX-512.
"""

import re
import subprocess
import sys
from pathlib import Path

OWN = re.compile(r"kmle::(avx2|avx512)::")
# A reference of the compiler's to a symbol of the C++ runtime, of which every copy is the same pointer.
HARMLESS = re.compile(r"^DW\.ref\.")
TEXT = """// Written by leaks.py.

namespace kmle {{

extern const bool leaks_checked;
extern const char* const leaks[];
const bool leaks_checked = {checked};
const char* const leaks[] = {{
{names}    nullptr,
}};

}}
"""


def weak_symbols(nm: str, objects: list[str]) -> set[str]:
    """The names of all weak symbols that the objects define."""
    listed = subprocess.run([nm, "--demangle", "--defined-only", *objects], capture_output=True, text=True, check=True)
    found = (re.match(r"^[0-9a-f]+ [WVuvw] (.*)$", line) for line in listed.stdout.splitlines())
    return {match[1] for match in found if match}


def leaks(nm: str, objects: list[str]) -> list[str]:
    """Those that another instruction set may have too."""
    return sorted(name for name in weak_symbols(nm, objects) if not OWN.search(name) and not HARMLESS.match(name))


def main(nm: str, out: str, *objects: str) -> None:
    checked = bool(objects) and Path(nm).is_file() and sys.platform.startswith("linux")
    names = "".join(f"    {quoted(name)},\n" for name in (leaks(nm, list(objects)) if checked else []))
    Path(out).write_text(TEXT.format(checked=str(checked).lower(), names=names))


def quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    main(*sys.argv[1:])
