"""What vLLM's build for CPUs has compiled, in torch: enough of it to run a tiny model with the released wheel.

The wheel on PyPI is made for CUDA. All of it that is Python also runs on a CPU (``VLLM_TARGET_DEVICE=cpu``): the
engine, the scheduler, the manager of structured outputs, the runner of the model and the sampler. Missing are the
kernels that these call as ``torch.ops._C``, which stand here, made to be read and slow.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

DECLARATIONS = (
    "init_cpu_memory_env(int[] nodes) -> ()",
    "compute_slot_mapping_kernel_impl(Tensor query_start_loc, Tensor positions, Tensor block_table, "
    "Tensor(a!) slot_mapping, int block_size) -> ()",
    "greedy_argmax(Tensor logits) -> Tensor",
    "fused_gumbel_argmax(Tensor logits, Tensor seeds) -> Tensor",
    "rejection_greedy_sample_kernel_impl(Tensor(a!) output, Tensor ends, Tensor drafts, Tensor likeliest, "
    "Tensor bonus, Tensor? is_greedy, int longest) -> ()",
    "rejection_random_sample_kernel_impl(Tensor(a!) output, Tensor ends, Tensor drafts, Tensor? draft_probs, "
    "Tensor target_probs, Tensor bonus, Tensor recovered, Tensor uniform, Tensor is_greedy, int longest, "
    "int vocabulary, bool drafts_are_certain) -> ()",
    "sample_recovered_tokens_kernel_impl(Tensor(a!) output, Tensor ends, Tensor drafts, Tensor? draft_probs, "
    "Tensor target_probs, Tensor noise, int vocabulary, bool drafts_are_certain) -> ()",
)

_KEPT: list[torch.library.Library] = []


def install() -> None:
    """Declare the kernels, in each process of an engine."""
    from vllm import _custom_ops as ops
    from vllm.v1.sample import rejection_sampler

    if _KEPT:
        return
    library = torch.library.Library("_C", "FRAGMENT")
    _KEPT.append(library)
    for declaration in DECLARATIONS:
        name = declaration.split("(")[0]
        library.define(declaration)
        library.impl(name, globals()[name], "CompositeExplicitAutograd")
    ops.cpu_attn_get_scheduler_metadata = lambda **_: torch.zeros(1)
    ops.cpu_attn_reshape_and_cache = reshape_and_cache
    ops.cpu_attention_with_kv_cache = attention_with_kv_cache
    rejection_sampler.expand_batch_to_tokens = expand_batch_to_tokens


def init_cpu_memory_env(nodes: list[int]) -> None:
    """Bind memory to a node: nothing to do."""


def compute_slot_mapping_kernel_impl(
    query_start_loc: torch.Tensor,
    positions: torch.Tensor,
    block_table: torch.Tensor,
    slot_mapping: torch.Tensor,
    block_size: int,
) -> None:
    """Return, for each token, the slot of the cache with its keys and values."""
    starts = query_start_loc.tolist()
    for row, (begin, end) in enumerate(pairwise(starts)):
        at = positions[begin:end]
        slot_mapping[begin:end] = block_table[row, at // block_size].long() * block_size + at % block_size


def greedy_argmax(logits: torch.Tensor) -> torch.Tensor:
    """Take the likeliest token of each row."""
    return logits.argmax(dim=-1)


def fused_gumbel_argmax(logits: torch.Tensor, seeds: torch.Tensor) -> torch.Tensor:
    """Draw a token from each row."""
    noise = -torch.empty_like(logits).exponential_().log()
    return (logits + noise).argmax(dim=-1)


def expand_batch_to_tokens(
    values: torch.Tensor, ends: torch.Tensor, count: int, replace_from: int = 0, replace_to: int = 0
) -> torch.Tensor:
    """Repeat the value of each request for each of its drafted tokens; vLLM's own does so for integers only."""
    repeated = values.repeat_interleave(torch.diff(ends, prepend=ends.new_zeros(1)), output_size=count)
    return torch.where(repeated == replace_from, replace_to, repeated)


def rejection_greedy_sample_kernel_impl(
    output: torch.Tensor,
    ends: torch.Tensor,
    drafts: torch.Tensor,
    likeliest: torch.Tensor,
    bonus: torch.Tensor,
    is_greedy: torch.Tensor | None,
    longest: int,
) -> None:
    """Take the likeliest tokens up to the first that was not drafted."""
    rows = output.view(-1, longest + 1)
    for row, (begin, end) in enumerate(_spans(ends)):
        if is_greedy is None or is_greedy[row]:
            accepted = [int(drafts[at]) == int(likeliest[at]) for at in range(begin, end)]
            _write(rows[row], likeliest[begin:end], accepted, bonus.view(-1)[row])


def rejection_random_sample_kernel_impl(
    output: torch.Tensor,
    ends: torch.Tensor,
    drafts: torch.Tensor,
    draft_probs: torch.Tensor | None,
    target_probs: torch.Tensor,
    bonus: torch.Tensor,
    recovered: torch.Tensor,
    uniform: torch.Tensor,
    is_greedy: torch.Tensor,
    longest: int,
    vocabulary: int,
    drafts_are_certain: bool,  # noqa: FBT001
) -> None:
    """Accept drafted tokens by their probabilities (Leviathan et al., 2023); only drafts that are certain are known."""
    assert drafts_are_certain
    rows = output.view(-1, longest + 1)
    for row, (begin, end) in enumerate(_spans(ends)):
        if not is_greedy[row]:
            span = range(begin, end)
            accepted = [
                int(drafts[at]) >= 0 and bool(target_probs[at, drafts[at]] >= uniform[at]) for at in span
            ]
            taken = torch.where(
                torch.tensor(accepted, dtype=torch.bool), drafts[begin:end], recovered[begin:end]
            )
            _write(rows[row], taken, accepted, bonus.view(-1)[row])


def sample_recovered_tokens_kernel_impl(
    output: torch.Tensor,
    ends: torch.Tensor,
    drafts: torch.Tensor,
    draft_probs: torch.Tensor | None,
    target_probs: torch.Tensor,
    noise: torch.Tensor,
    vocabulary: int,
    drafts_are_certain: bool,  # noqa: FBT001
) -> None:
    """Sample the replacement of each drafted token, for the case that it is rejected."""
    assert drafts_are_certain
    for row, (begin, end) in enumerate(_spans(ends)):
        for at in range(begin, end):
            probabilities = target_probs[at].clone()
            if drafts[at] >= 0:
                probabilities[drafts[at]] = 0
            output[at] = (probabilities * noise[row]).argmax()


def _spans(ends: torch.Tensor) -> list[tuple[int, int]]:
    """Where the drafted tokens of each request begin and end."""
    bounds = [0, *ends.tolist()]
    return list(pairwise(bounds))


def _write(row: torch.Tensor, tokens: torch.Tensor, accepted: list[bool], bonus: torch.Tensor) -> None:
    """Write tokens up to the first that was not accepted, and the bonus if there is none."""
    count = accepted.index(False) + 1 if False in accepted else len(accepted)
    row[:count] = tokens[:count]
    if False not in accepted:
        row[count] = bonus


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    *_: Any,
    **__: Any,
) -> None:
    """Write keys and values of tokens, ``[tokens, heads, size]``, into caches, ``[blocks, heads, block, size]``."""
    size = key_cache.shape[2]
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot >= 0:
            key_cache[slot // size, :, slot % size] = key[token]
            value_cache[slot // size, :, slot % size] = value[token]


def attention_with_kv_cache(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    output: torch.Tensor,
    query_start_loc: torch.Tensor,
    seq_lens: torch.Tensor,
    scale: float,
    block_table: torch.Tensor,
    **_: Any,
) -> None:
    """Causal attention of each sequence's last tokens over all its tokens."""
    starts, lengths = query_start_loc.tolist(), seq_lens.tolist()
    repeats = query.shape[1] // key_cache.shape[1]
    for row, (begin, end) in enumerate(pairwise(starts)):
        blocks = block_table[row, : -(-lengths[row] // key_cache.shape[2])].long()
        keys, values = (
            cache[blocks].transpose(1, 2).flatten(0, 1)[: lengths[row]].repeat_interleave(repeats, 1)
            for cache in (key_cache, value_cache)
        )
        scores = torch.einsum("qhd,khd->hqk", query[begin:end], keys) * scale
        last = torch.arange(lengths[row] - (end - begin), lengths[row])
        scores.masked_fill_(torch.arange(lengths[row]) > last[:, None], -torch.inf)
        output[begin:end].view(end - begin, *query.shape[1:])[:] = torch.einsum(
            "hqk,khd->qhd", scores.softmax(-1), values
        )
