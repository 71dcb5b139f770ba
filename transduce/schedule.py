"""§5.3: the learning rate."""


def learning_rate(step: int, d_model: int, warmup_steps: int = 4000, factor: float = 1.0) -> float:
    """factor · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5), equation 3; from step 1."""
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
