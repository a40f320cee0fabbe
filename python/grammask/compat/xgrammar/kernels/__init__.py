"""xgrammar's kernel for MLX, which programs import by its module; others are selected by the device of the logits."""
