"""Random texts of grammars, and random values of simple types, for the tests in ``tests/schemas``."""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import random
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import (
    TYPE_CHECKING,
    Any,
)

import numpy as np

if TYPE_CHECKING:
    from grammask import CompiledGrammar

CLOSING = b'":0123456789abcdefghijklmnopqrstuvwxyzTZPDHMSY./@-ABCDEFGHIJKLNOQRUVWXE+eun,{[\\'
MAX_STEPS = 5000


def sampled(
    compiled: CompiledGrammar, tokens: list[bytes], r: random.Random, *, prefers_short: bool
) -> bytes:
    """Return a random text; after a while, it ends as soon as a fixed order of preferred bytes ends it."""
    matcher = compiled.matcher()
    eos = len(tokens)
    pieces: list[bytes] = []
    long = r.choice((4, 16, 40))
    for step in range(MAX_STEPS):
        mask = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        if mask[eos] and (step >= long or r.random() < 0.3 or prefers_short):
            return b"".join(pieces)
        if step >= long or (prefers_short and r.random() < 0.5):
            closing = [byte for byte in b'"}]' if mask[byte]]
            allowed = [byte for byte in CLOSING if mask[byte]]
            if closing and r.random() < 0.6:
                token = r.choice(closing)
            else:
                token = (
                    r.choice((allowed[0], r.choice(allowed)))
                    if allowed
                    else int(np.flatnonzero(mask[:eos])[0])
                )
        else:
            choices = np.flatnonzero(mask[:eos])
            if not len(choices):
                return b"".join(pieces)
            token = int(choices[r.randrange(len(choices))])
        assert matcher.accept(token)
        pieces.append(tokens[token])
    msg = f"no end: {b''.join(pieces)[:200]!r}"
    raise AssertionError(msg)


Make = Callable[[random.Random], Any]

ALPHABET = 'abzAZ019 _-.\n\t"\\/éß٣中😀\x00\x7f\u2028'


def integer(r: random.Random) -> int:
    bits = r.choice((1, 4, 16, 63, 64, 200))
    return r.randint(-(1 << bits), 1 << bits)


def between(low: int, high: int) -> Make:
    return lambda r: r.choice((low, high, r.randint(low, high), r.randint(low, min(high, low + 9))))


def double(r: random.Random) -> float:
    while True:
        value = r.choice(
            (
                r.uniform(-10, 10),
                float(r.randint(-100, 100)),
                r.choice(
                    (
                        0.0,
                        -0.0,
                        5e-324,
                        1e16,
                        1e22,
                        1e-7,
                        1.7976931348623157e308,
                        0.1,
                        1e15,
                        123456789012345680.0,
                    )
                ),
                struct.unpack("d", r.randbytes(8))[0],
            )
        )
        if math.isfinite(value):
            return value


def text(r: random.Random) -> str:
    return "".join(r.choice(ALPHABET) for _ in range(r.choice((0, 1, 2, 3, 5, 12))))


def word(alphabet: str, low: int, high: int) -> Make:
    return lambda r: "".join(r.choice(alphabet) for _ in range(r.randint(low, high)))


def exact(r: random.Random) -> Decimal:
    return r.choice(
        (
            Decimal(r.randint(-1000, 1000)),
            Decimal(r.randint(-(10**6), 10**6)).scaleb(r.randint(-12, 4)),
            Decimal(
                r.choice(
                    (
                        "0",
                        "-0",
                        "0.00",
                        "0E-10",
                        "0E+3",
                        "1E+3",
                        "1E-7",
                        "123456789.123456789123456789",
                        "-2.50",
                    )
                )
            ),
        )
    )


def date(r: random.Random) -> dt.date:
    return r.choice(
        (dt.date.min, dt.date.max, dt.date(2024, 2, 29), dt.date.fromordinal(r.randint(1, 3_652_059)))
    )


def clock(r: random.Random) -> dt.time:
    micros = r.choice((0, 1, 500_000, r.randint(0, 999_999)))
    return dt.time(r.randint(0, 23), r.randint(0, 59), r.randint(0, 59), micros, tzinfo=zone(r))


def zone(r: random.Random) -> dt.timezone | None:
    minutes = r.randint(-1439, 1439)
    return r.choice((None, dt.timezone.utc, dt.timezone(dt.timedelta(minutes=minutes))))


def moment(r: random.Random) -> dt.datetime:
    return dt.datetime.combine(date(r), clock(r))


def aware(r: random.Random) -> dt.datetime:
    return moment(r).replace(tzinfo=zone(r) or dt.timezone.utc)


def naive(r: random.Random) -> dt.datetime:
    return moment(r).replace(tzinfo=None)


def span(r: random.Random) -> dt.timedelta:
    return r.choice(
        (
            dt.timedelta(0),
            dt.timedelta(days=r.randint(-1000, 1000)),
            dt.timedelta(microseconds=r.randint(-(10**12), 10**12)),
            dt.timedelta(days=r.randint(-999_999_999, 999_999_998), microseconds=r.randint(0, 10**10)),
            dt.timedelta(seconds=r.randint(-100_000, 100_000)),
            dt.timedelta.min,
        )
    )


def short_span(r: random.Random) -> dt.timedelta:
    return dt.timedelta(microseconds=r.randint(-(10**13), 10**13))


def listed(make: Make, low: int = 0, high: int = 4) -> Make:
    return lambda r: [make(r) for _ in range(r.randint(low, high))]


def mapped(keys: Make, values: Make, low: int = 0, high: int = 4) -> Make:
    return lambda r: {keys(r): values(r) for _ in range(r.randint(low, high))}


def one_of(*makes: Any) -> Make:
    return lambda r: (lambda made: made(r) if callable(made) else made)(r.choice(makes))


def fields(**makes: Any) -> Make:
    """Return objects with some of the members; names that end with ``_`` are always there, without it."""

    def make(r: random.Random) -> dict[str, Any]:
        return {
            name.rstrip("_"): each(r)
            for name, each in makes.items()
            if name.endswith("_") or r.random() < 0.6
        }

    return make


def nested(leaf: Make, key: str, depth: int = 4) -> Make:
    def make(r: random.Random, left: int = depth) -> Any:
        value = leaf(r)
        if left and r.random() < 0.6:
            value[key] = make(r, left - 1)
        return value

    return make


def ipv4(r: random.Random) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(r.choice((0, 2**32 - 1, r.getrandbits(32))))


def ipv6(r: random.Random) -> ipaddress.IPv6Address:
    groups = [r.choice((0, 0, r.getrandbits(16))) for _ in range(8)]
    return ipaddress.IPv6Address(":".join(f"{group:x}" for group in groups))


def network(make: Make, bits: int) -> Make:
    def result(r: random.Random) -> Any:
        return ipaddress.ip_network(
            (int(make(r)) if bits == 32 else make(r), r.randint(0, bits)), strict=False
        )

    return result


def url(*schemes: str) -> Make:
    host = one_of(
        "example.com",
        "a.b-c.de",
        "10.0.0.1",
        "[2001:db8::1]",
        "user:pw@x.org",
        "x.org:8080",
        "münchen".encode("ascii", "ignore").decode() + ".de",
    )
    rest = one_of("", "/", "/a/b%20c", "/ä", "?q=1&r=ü", "/p?x#frag", "/a b", "/{x}|y^z`", "#a'b\"c")
    return lambda r: f"{r.choice(schemes)}://{host(r)}{rest(r)}"


def email(r: random.Random) -> str:
    local = word("abcXYZ019!#$%&'*+/=?^_`{|}~-", 1, 12)(r) + r.choice(("", ".x"))
    return f"{local}@{r.choice(('example.com', 'a.b-c.org', 'X.Y.Z', '1a.b2.info', 'mail.test.de'))}"
