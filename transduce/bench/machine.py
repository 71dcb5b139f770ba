"""What the figures were measured on, and what it could do at best."""

import platform
import time

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
