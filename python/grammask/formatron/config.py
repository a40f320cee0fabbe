"""The use of a formatter in a generation."""

from dataclasses import dataclass


@dataclass
class EngineGenerationConfig:
    """Options of integrations.

    Attributes:
        read_prompt: Whether the formatter reads the prompt first.
        reset_at_beginning: Whether the formatter is reset for each generation.
    """

    read_prompt: bool = False
    reset_at_beginning: bool = True
