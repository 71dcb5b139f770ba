"""The machine: what it is, what it can do, and how this process uses its memory."""

import ctypes
import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LARGE = 2048  # rows and columns: large enough that more of them are no faster
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # of glibc's malloc.h


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu() -> str:
    """What the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def peak_memory() -> int:
    """The most bytes of memory that this process has held at once."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held when it forked
        return 1024 * int(status.read_text("utf-8").split("VmHWM:")[1].split()[0])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def matmul_peak(
    device: "torch.device | None" = None, dtype: "torch.dtype | None" = None, repeat: int = 8
) -> float:
    """Operations a second of the fastest of several large products, all threads."""
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
    """Tells glibc not to return freed blocks to the system; elsewhere it does nothing.

    Large temporaries that are given back at every step cost a third of it.
    """
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL("libc.so.6")
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, -1)
    libc.mallopt(M_TOP_PAD, 64 * 2**20)
