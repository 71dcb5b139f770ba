"""What the figures were measured on."""

import platform

import torch


def machine() -> str:
    """What the figures were measured on."""
    capability = torch.backends.cpu.get_cpu_capability()
    return (
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {capability}, "
        f"{platform.machine()}, Python {platform.python_version()}"
    )
