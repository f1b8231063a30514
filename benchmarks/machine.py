"""Where and with what the numbers were measured."""

import os
import platform
import re
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kmle import _kernels as kernels

PACKAGES = (
    "kmle", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "pomegranate", "torch", "faiss-cpu", "stepmix",
    "scikit-image",
)  # fmt: skip


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Its model, with the caveat that virtual machines often hide it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def short_name(processor: str) -> str:
    """A processor's name as a file's: its results and pictures have it.

    >>> short_name("Intel(R) Xeon(R) Processor, 2 cores, Linux")
    'intel-xeon-processor'
    """
    model = processor.partition(",")[0].replace("(R)", "").replace("(TM)", "")
    return re.sub("[^a-z0-9]+", "-", model.lower()).strip("-")


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def description(n_threads: int) -> dict[str, str]:
    """What the head of the results says."""
    return {
        "Date": str(date.today()),
        "Processor": f"{processor()}, {cores()} cores, {platform.system()}",
        "Threads": f"{n_threads} for everyone (BLAS, OpenMP and the libraries' own pools)",
        "kmle's kernels": f"{kernels.backend()}, {kernels.instruction_set()}",
        "Versions": ", ".join(
            [f"Python {platform.python_version()}", *(f"{package} {installed(package)}" for package in PACKAGES)]
        ),
    }
