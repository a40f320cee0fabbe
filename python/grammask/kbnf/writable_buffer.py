"""The buffers of kbnf's writers: arrays, tensors, and addresses with a length; checked before writing."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def writable_buffer(
    buffer: Any, length: int | None, types: tuple[type[np.generic], ...], needed: int
) -> npt.NDArray[Any]:
    """Returns a flat view of a buffer that has at least ``needed`` elements.

    Args:
        buffer: A contiguous numpy array or CPU tensor of one of ``types``, or the address of memory that holds
            elements of the first of them.
        length: For an address, the number of elements there; otherwise None, or the number of elements to use.
        types: The types of elements.
        needed: The required number of elements.

    Raises:
        TypeError: The buffer is an address without a length, or has another type.
        ValueError: The buffer is too short, read-only or not contiguous.
    """
    if isinstance(buffer, int):
        if length is None:
            msg = "an address alone does not say how much may be written: pass the array or tensor, or the length too"
            raise TypeError(msg)
        view = _at_address(buffer, length, np.dtype(types[0]))
    else:
        view = _flat(buffer, types)[:length]
    if len(view) < needed:
        msg = f"the buffer has {len(view)} elements, and {needed} are needed"
        raise ValueError(msg)
    return view


def _at_address(address: int, length: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if length < 0 or (address == 0 and length > 0) or address % dtype.itemsize:
        msg = f"there cannot be {length} elements of type {dtype} at the address {address:#x}"
        raise ValueError(msg)
    if length == 0:
        return np.empty(0, dtype)
    memory = (ctypes.c_char * (length * dtype.itemsize)).from_address(address)
    return np.frombuffer(memoryview(memory), dtype)


def _flat(buffer: Any, types: tuple[type[np.generic], ...]) -> npt.NDArray[Any]:
    if not isinstance(buffer, np.ndarray) and hasattr(buffer, "numpy"):
        buffer = buffer.numpy()  # A CPU tensor shares its memory with this array.
    if not isinstance(buffer, np.ndarray) or buffer.dtype.type not in types:
        names = " or ".join(np.dtype(type).name for type in types)
        kind = getattr(buffer, "dtype", type(buffer).__name__)
        msg = f"a buffer is an array or CPU tensor of {names}, or an address with a length, not {kind}"
        raise TypeError(msg)
    if not buffer.flags.c_contiguous or not buffer.flags.writeable:
        msg = "the buffer is not contiguous or cannot be written"
        raise ValueError(msg)
    return buffer.reshape(-1)
