"""The machine: CPU, memory and their speed, and memory settings of this process."""

import ctypes
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

CPUINFO = Path("/proc/cpuinfo")
CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")  # the limit of a container, or "max"
LARGE = 2048  # rows and columns of the matrices: larger ones give the same rate
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # of glibc's malloc.h


def cores() -> int:
    """The number of cores that this process may use; TRANSDUCE_CORES, if it is set."""
    given = os.environ.get("TRANSDUCE_CORES", "")
    if given.isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """The memory that this process may use, in bytes, with a container's limit."""
    total: int = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = CGROUP_MEMORY.read_text("utf-8").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def cpu() -> str:
    """The model name of the CPU."""
    return (
        _cpuinfo("model name")
        or _sysctl("machdep.cpu.brand_string")
        or platform.processor()
        or platform.machine()
    )


def description(libraries: Iterable[str]) -> dict[str, str | int]:
    """CPU, number of cores, Python version, and the versions of the libraries installed."""
    facts: dict[str, str | int] = {
        "cpu": cpu(),
        "cores": cores(),
        "python": platform.python_version(),
    }
    for name in libraries:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    return facts


def _cpuinfo(key: str) -> str:
    """The first value of a key in Linux's /proc/cpuinfo; empty if there is none."""
    try:
        lines = CPUINFO.read_text("utf-8").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip() == key), "")


def _sysctl(*names: str) -> str:
    """macOS's values of these names; empty elsewhere."""
    if sys.platform != "darwin":
        return ""
    done = subprocess.run(["sysctl", "-n", *names], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def peak_memory() -> int:
    """The largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage includes the parent's memory at the time of the fork
        return 1024 * int(status.read_text("utf-8").split("VmHWM:")[1].split()[0])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def matmul_peak(
    device: "torch.device | None" = None, dtype: "torch.dtype | None" = None, repeat: int = 8
) -> float:
    """Operations per second of the fastest of several large matrix products, all threads."""
    import torch

    a = torch.ones(LARGE, LARGE, device=device, dtype=dtype)
    product = torch.empty_like(a)
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        torch.mm(a, a, out=product)
        if a.device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 2 * LARGE**3 / best


def keep_memory() -> None:
    """Stops glibc from returning freed memory to the system; no effect on other systems.

    Allocating large temporaries again takes a third of a training step. The setting is global
    to the process, so only commands that train call it, never the library.
    """
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL("libc.so.6")
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, -1)
    libc.mallopt(M_TOP_PAD, 64 * 2**20)
