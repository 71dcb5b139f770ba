"""What the figures were measured on, and what it could do at best."""

import platform
import resource
import sys
import time
from pathlib import Path

import torch

LARGE = 2048  # rows and columns: large enough that more of them are no faster


def machine() -> str:
    """What the figures were measured on."""
    capability = torch.backends.cpu.get_cpu_capability()
    return (
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {capability}, "
        f"{platform.machine()}, Python {platform.python_version()}"
    )


def matmul_peak(size: int = LARGE, repeat: int = 8) -> float:
    """Operations per second of the fastest of several large float32 products, all threads."""
    a, b, product = (torch.ones(size, size) for _ in range(3))
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        torch.mm(a, b, out=product)
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def peak_memory() -> int:
    """The most bytes of memory that this process has held at once."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held when it forked
        text = status.read_text("utf-8")
        return 1024 * int(text.split("VmHWM:")[1].split()[0])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
