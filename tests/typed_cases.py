"""Annotated types with random values of them, for the tests in ``tests/schemas``."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import fractions
import ipaddress
import json
import math
import pathlib
import random  # noqa: TC003 - Pydantic resolves annotations.
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    TypeVar,
    Union,
)

import annotated_types as at
import pydantic
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from typing_extensions import NotRequired, Required, TypeAliasType, TypedDict
from value_generators import (
    ALPHABET,
    Make,
    aware,
    between,
    clock,
    date,
    double,
    email,
    exact,
    fields,
    integer,
    ipv4,
    ipv6,
    listed,
    mapped,
    moment,
    naive,
    nested,
    network,
    one_of,
    short_span,
    span,
    text,
    url,
    word,
)

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    QUOTED = 'a"\\é'


class Level(enum.IntEnum):
    ZERO = 0
    HIGH = 1_000_000


class Mixed(enum.Enum):
    A = "a"
    ONE = 1
    HALF = 0.5
    TINY = 1e-7
    NONE = None
    TRUE = True


class Word(str, enum.Enum):
    A = "a"
    B = "b c"


class Flags(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    value: Annotated[int, at.Ge(0)]
    children: list[Tree] = dataclasses.field(default_factory=list)


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid", frozen=True))
class Checked:
    a: Annotated[int, Field(ge=1)]
    b: str = "x"
    c: int = dataclasses.field(default=0, init=False)


class Options(TypedDict, total=False):
    name: Required[str]
    size: int
    when: NotRequired[dt.date]


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Plain(BaseModel):
    a: int
    b: str = ""
    c: float | None = None


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    number: int = Field(alias="theNumber")
    text: str = Field("", alias="theText")


class OnlyAlias(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int = Field(alias="n")
    other: int = Field(0, validation_alias=pydantic.AliasChoices("o", "p"), serialization_alias="p")


class Computed(BaseModel):
    width: int
    secret: pydantic.SecretStr = pydantic.SecretStr("")
    hidden: Annotated[str, Field(exclude=True)] = "h"
    fixed: Annotated[int, Field(frozen=True)] = 1

    @pydantic.computed_field
    @property
    def area(self) -> int:
        return self.width**2


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 0


class OpenTyped(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: int = 0


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=3, str_strip_whitespace=True)
    a: str


class Durations(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float")
    a: dt.timedelta
    b: Annotated[dt.timedelta, Field(gt=dt.timedelta(0), le=dt.timedelta(days=1))] = dt.timedelta(seconds=1)


class Binary(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    a: bytes
    b: Annotated[bytes, Field(min_length=2, max_length=5)] = b"xyz"


class Hexadecimal(BaseModel):
    model_config = ConfigDict(ser_json_bytes="hex", val_json_bytes="hex")
    a: Annotated[bytes, Field(max_length=3)]


class NanStrings(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="strings")
    a: float


class MemberValues(BaseModel):
    model_config = ConfigDict(use_enum_values=True)
    word: Word
    level: Level = Level.HIGH
    mixed: Mixed | None = None
    one: Literal[Level.HIGH, "z"] = "z"


class Chain(BaseModel):
    value: Colour = Colour.RED
    next: Chain | None = None


class Cat(BaseModel):
    age: int = 0
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog", "wolf"]
    friends: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []


class Bird(BaseModel):
    kind: Literal[Level.HIGH] = Level.HIGH


class Wrapper(BaseModel, Generic[T]):
    item: T
    more: list[T] = []


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    a: int
    b: str = ""


Numbers = pydantic.RootModel[list[int]]
UserId = NewType("UserId", int)
IntList = TypeAliasType("IntList", list[int])

pet = one_of(fields(age_=integer, kind_=lambda r: "cat"), lambda r: {"kind": r.choice(("dog", "wolf"))})
plain = fields(a_=integer, b=text, c=one_of(None, double))
tree = nested(lambda r: {"value": abs(integer(r)), "children": []}, "unused", 0)


def trees(r: random.Random, depth: int = 3) -> dict[str, Any]:
    return {
        "value": abs(integer(r)),
        "children": [trees(r, depth - 1) for _ in range(r.randint(0, 2) if depth else 0)],
    }


def limited(**limits: Any) -> Any:
    return Annotated[Decimal, Field(**limits)]


CASES: dict[str, tuple[Any, Make]] = {
    "int": (int, integer),
    "StrictInt": (pydantic.StrictInt, integer),
    "conint(ge, lt)": (pydantic.conint(ge=-5, lt=300), between(-5, 299)),
    "int gt": (Annotated[int, Field(gt=10**20)], lambda r: 10**20 + 1 + abs(integer(r))),
    "int multiple_of": (Annotated[int, at.MultipleOf(7)], lambda r: 7 * r.randint(-1000, 1000)),
    "PositiveInt": (pydantic.PositiveInt, lambda r: 1 + abs(integer(r))),
    "NonPositiveInt": (pydantic.NonPositiveInt, lambda r: -abs(integer(r))),
    "bool": (bool, lambda r: r.random() < 0.5),
    "StrictBool": (pydantic.StrictBool, lambda r: r.random() < 0.5),
    "None": (None, lambda r: None),
    "float": (float, double),
    "StrictFloat": (pydantic.StrictFloat, double),
    "FiniteFloat": (pydantic.FiniteFloat, double),
    "PositiveFloat": (pydantic.PositiveFloat, lambda r: abs(double(r)) or 5e-324),
    "NegativeFloat": (pydantic.NegativeFloat, lambda r: -abs(double(r)) or -5e-324),
    "float lt 1": (
        Annotated[float, Field(ge=-1, lt=1)],
        one_of(0.9999999999999999, -1.0, lambda r: r.uniform(-1, 1)),
    ),
    "float gt 0.1": (
        Annotated[float, at.Gt(0.1)],
        one_of(0.10000000000000002, lambda r: 0.2 + abs(double(r))),
    ),
    "confloat multiple_of": (pydantic.confloat(multiple_of=0.5), lambda r: r.randint(-1000, 1000) / 2),
    "float with nan strings": (
        NanStrings,
        lambda r: {"a": r.choice((math.inf, -math.inf, math.nan, double(r)))},
    ),
    "Decimal": (Decimal, exact),
    "condecimal digits": (
        limited(max_digits=8, decimal_places=2),
        lambda r: Decimal(r.randint(-(10**8) + 1, 10**8 - 1)).scaleb(-2),
    ),
    "condecimal places": (
        limited(decimal_places=3),
        lambda r: Decimal(r.randint(-(10**9), 10**9)).scaleb(r.randint(-3, 5)),
    ),
    "condecimal max_digits": (limited(max_digits=5), exact),
    "Decimal gt 0": (limited(gt=0), lambda r: abs(exact(r)) or Decimal("1E-9")),
    "Decimal range": (limited(ge=Decimal("-1.5"), lt=10), lambda r: Decimal(r.randint(-150, 999)).scaleb(-2)),
    "Decimal multiple_of": (
        limited(multiple_of=Decimal("0.25"), ge=0),
        lambda r: Decimal(r.randint(0, 10**6)) / 4,
    ),
    "Decimal cents": (
        limited(multiple_of=Decimal("0.01")),
        lambda r: Decimal(r.randint(-(10**6), 10**6)).scaleb(-2),
    ),
    "Fraction": (fractions.Fraction, lambda r: fractions.Fraction(r.randint(-99, 99), r.randint(1, 99))),
    "str": (str, text),
    "StrictStr": (pydantic.StrictStr, text),
    "constr lengths": (pydantic.constr(min_length=2, max_length=4), word(ALPHABET, 2, 4)),
    "str pattern": (Annotated[str, Field(pattern=r"^[A-Z][a-z]+(?: [A-Z]\.)?$")], one_of("Ab", "Xyz Q.")),
    "str pattern \\d": (
        Annotated[str, StringConstraints(pattern=r"^\d{2,3}\w?$")],
        one_of("12", "٣٣", "123é", "00_"),
    ),
    "str pattern not anchored": (
        Annotated[str, Field(pattern=r"a.c|[^x\s]+z")],
        one_of("xxabcxx", "a\rc", "qz "),
    ),
    "str strip": (
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)],
        lambda r: "x" + text(r),
    ),
    "str to_lower": (Annotated[str, StringConstraints(to_lower=True, max_length=5)], lambda r: text(r)[:5]),
    "str Len": (Annotated[str, at.Len(1, 3)], word(ALPHABET, 1, 3)),
    "bytes": (bytes, lambda r: text(r).encode()),
    "bytes base64": (
        Binary,
        fields(a_=lambda r: r.randbytes(r.randint(0, 7)), b=lambda r: r.randbytes(r.randint(2, 5))),
    ),
    "bytes hex": (Hexadecimal, fields(a_=lambda r: r.randbytes(r.randint(0, 3)))),
    "Base64Bytes": (
        pydantic.Base64Bytes,
        lambda r: __import__("base64").b64encode(r.randbytes(r.randint(0, 9))),
    ),
    "datetime": (dt.datetime, moment),
    "AwareDatetime": (pydantic.AwareDatetime, aware),
    "NaiveDatetime": (pydantic.NaiveDatetime, naive),
    "datetime range": (
        Annotated[dt.datetime, at.Ge(dt.datetime(1000, 1, 1)), at.Lt(dt.datetime(3000, 6, 1, 12))],
        naive,
    ),
    "date": (dt.date, date),
    "date range": (
        pydantic.condate(ge=dt.date(1999, 12, 31), lt=dt.date(2030, 2, 1)),
        lambda r: dt.date(1999, 12, 31) + dt.timedelta(r.randint(0, 10_000)),
    ),
    "time": (dt.time, clock),
    "time range": (
        Annotated[dt.time, at.Ge(dt.time(9)), at.Le(dt.time(17, 30, 0, 500_000))],
        lambda r: clock(r).replace(hour=r.randint(9, 17)),
    ),
    "timedelta": (dt.timedelta, span),
    "timedelta positive": (Annotated[dt.timedelta, Field(gt=dt.timedelta(0))], lambda r: abs(short_span(r))),
    "timedelta range": (
        Annotated[
            dt.timedelta,
            Field(ge=-dt.timedelta(days=2, seconds=5), lt=dt.timedelta(days=500, hours=7, microseconds=3)),
        ],
        lambda r: short_span(r) / 10,
    ),
    "timedelta float": (
        Durations,
        fields(a_=span, b=lambda r: dt.timedelta(microseconds=r.randint(1, 86_400 * 10**6))),
    ),
    "UUID": (uuid.UUID, lambda r: uuid.UUID(int=r.getrandbits(128))),
    "UUID4": (pydantic.UUID4, lambda r: uuid.UUID(int=r.getrandbits(128), version=4)),
    "UUID1": (pydantic.UUID1, lambda r: uuid.UUID(int=r.getrandbits(128), version=1)),
    "Path": (pathlib.Path, lambda r: pathlib.Path(text(r))),
    "PurePosixPath": (pathlib.PurePosixPath, lambda r: pathlib.PurePosixPath(text(r))),
    "Enum": (Colour, lambda r: r.choice(list(Colour))),
    "IntEnum": (Level, lambda r: r.choice(list(Level))),
    "mixed Enum": (Mixed, lambda r: r.choice(list(Mixed))),
    "str Enum": (Word, lambda r: r.choice(list(Word))),
    "Literal": (Literal["a", 0, True, None, 'q"'], one_of("a", 0, True, None, 'q"')),  # noqa: FBT003, PYI061
    "Literal of members": (Literal[Word.A, Level.HIGH], one_of(Word.A, Level.HIGH)),
    "Optional": (Optional[int], one_of(None, integer)),  # noqa: UP045
    "Union": (Union[int, str, list[bool]], one_of(integer, text, listed(lambda r: True))),  # noqa: UP007
    "union left_to_right": (
        Annotated[int | dt.date | str, Field(union_mode="left_to_right")],
        one_of(integer, date, text),
    ),
    "discriminated union": (Annotated[Cat | Dog, Field(discriminator="kind")], pet),
    "union of three models": (
        Annotated[Union[Cat, Dog, Bird], Field(discriminator="kind")],  # noqa: UP007
        one_of(pet, {"kind": 1_000_000}),
    ),
    "recursive discriminated": (
        Dog,
        lambda r: {"kind": "dog", "friends": [pet(r) for _ in range(r.randint(0, 3))]},
    ),
    "model": (Plain, plain),
    "values of members": (
        MemberValues,
        fields(
            word_=one_of(*Word),
            level=one_of(*Level),
            mixed=one_of(None, *Mixed),
            one=one_of(Level.HIGH, "z"),
        ),
    ),
    "nested model": (Wrapper[Plain], fields(item_=plain, more=listed(plain))),
    "alias or name": (Aliased, fields(number_=integer, text=text)),
    "alias only": (OnlyAlias, fields(n_=integer, o=integer)),
    "computed and excluded": (Computed, fields(width_=integer, hidden=text, fixed=integer)),
    "extra allow": (
        Open,
        fields(a=integer, other=lambda r: [text(r), {"x": double(r)}], more=one_of(None, 10**30)),
    ),
    "extra typed": (OpenTyped, fields(a=integer, other=integer)),
    "extra forbid": (Closed, fields(a_=word("ab \t", 0, 3))),
    "recursive model": (Chain, nested(lambda r: {"value": r.choice(list(Colour))}, "next")),
    "RootModel": (Numbers, listed(integer)),
    "generic model": (Wrapper[dt.date], fields(item_=date, more=listed(date))),
    "frozen model": (Frozen, fields(a_=integer, b=text)),
    "list": (list[int], listed(integer)),
    "bare list": (list, listed(one_of(integer, text, None, lambda r: {"a": [double(r)]}))),
    "conlist": (pydantic.conlist(bool, min_length=1, max_length=3), listed(one_of(False), 1, 3)),  # noqa: FBT003
    "Sequence": (Sequence[str], listed(text)),
    "Iterable": (Iterable[int], listed(integer)),
    "deque": (collections.deque[int], lambda r: collections.deque(listed(integer)(r))),
    "set[str]": (set[str], lambda r: set(listed(text)(r))),
    "set of enum": (set[Colour], lambda r: {r.choice(list(Colour))}),
    "set with lengths": (
        Annotated[set[Literal["a", "b", "c"]], Field(min_length=2)],
        lambda r: set(r.sample("abc", r.randint(2, 3))),
    ),
    "set with max": (
        Annotated[set[int], Field(min_length=1, max_length=3)],
        lambda r: set(listed(integer, 1, 3)(r)),
    ),
    "bare set": (set, lambda r: set(listed(one_of(integer, text, None, double))(r))),
    "frozenset": (
        frozenset[tuple[int, str]],
        lambda r: frozenset((integer(r), text(r)) for _ in range(r.randint(0, 3))),
    ),
    "frozenset of models": (frozenset[Frozen], lambda r: frozenset(Frozen(a=integer(r)) for _ in range(2))),
    "tuple": (tuple[int, str, float], lambda r: (integer(r), text(r), double(r))),
    "tuple ...": (tuple[int, ...], lambda r: tuple(listed(integer)(r))),
    "empty tuple": (tuple[()], lambda r: ()),
    "tuple with lengths": (
        Annotated[tuple[int, ...], Field(min_length=1, max_length=2)],
        lambda r: tuple(listed(integer, 1, 2)(r)),
    ),
    "dict": (dict[str, int], mapped(text, integer)),
    "dict int": (dict[int, str], mapped(integer, text)),
    "dict bounded int": (dict[Annotated[int, Field(ge=-3, le=120)], str], mapped(between(-3, 120), text)),
    "dict date": (dict[dt.date, int], mapped(date, integer)),
    "dict UUID": (dict[uuid.UUID, bool], mapped(lambda r: uuid.UUID(int=r.getrandbits(128)), lambda r: True)),
    "dict float": (dict[float, int], mapped(double, integer)),
    "dict bool": (dict[bool, int], mapped(lambda r: r.random() < 0.5, integer)),
    "dict Decimal": (dict[Decimal, int], mapped(exact, integer)),
    "dict condecimal": (dict[limited(ge=0, decimal_places=2), int], mapped(lambda r: abs(exact(r)), integer)),
    "dict Enum": (dict[Colour, int], mapped(lambda r: r.choice(list(Colour)), integer)),
    "dict IntEnum": (dict[Level, int], mapped(lambda r: r.choice(list(Level)), integer)),
    "dict Literal": (dict[Literal["a", "b"], int], mapped(one_of("a", "b"), integer)),
    "dict pattern": (
        dict[Annotated[str, StringConstraints(pattern="^[a-c]+$")], int],
        mapped(word("abc", 1, 3), integer),
    ),
    "dict int | str": (dict[int | str, int], mapped(one_of(integer, text), integer)),
    "dict with lengths": (
        Annotated[dict[str, int], Field(min_length=1, max_length=2)],
        mapped(text, integer, 1, 2),
    ),
    "Mapping": (Mapping[str, bool], mapped(text, lambda r: True)),
    "defaultdict": (collections.defaultdict[str, list[int]], mapped(text, listed(integer))),
    "OrderedDict": (collections.OrderedDict[str, int], mapped(text, integer)),
    "Counter": (collections.Counter[str], mapped(text, integer)),
    "Any": (Any, one_of(integer, text, double, None, lambda r: [1, {"a": text(r)}])),
    "JsonValue": (pydantic.JsonValue, one_of(integer, text, double, None, lambda r: [1, {"a": text(r)}])),
    "IPv4Address": (ipaddress.IPv4Address, ipv4),
    "IPv6Address": (ipaddress.IPv6Address, ipv6),
    "IPv4Network": (ipaddress.IPv4Network, network(ipv4, 32)),
    "IPv6Network": (ipaddress.IPv6Network, network(ipv6, 128)),
    "IPv4Interface": (ipaddress.IPv4Interface, lambda r: f"{ipv4(r)}/{r.randint(0, 32)}"),
    "IPv6Interface": (ipaddress.IPv6Interface, lambda r: f"{ipv6(r)}/{r.randint(0, 128)}"),
    "IPvAnyAddress": (pydantic.IPvAnyAddress, one_of(ipv4, ipv6)),
    "IPvAnyNetwork": (pydantic.IPvAnyNetwork, one_of(network(ipv4, 32), network(ipv6, 128))),
    "AnyUrl": (
        pydantic.AnyUrl,
        one_of(url("http", "https", "ftp", "foo", "git+ssh"), "mailto:a@b.c", "urn:x y", "file:///srv/x"),
    ),
    "HttpUrl": (pydantic.HttpUrl, url("http", "https")),
    "AnyHttpUrl": (pydantic.AnyHttpUrl, url("http", "https")),
    "WebsocketUrl": (pydantic.WebsocketUrl, url("ws", "wss")),
    "FileUrl": (pydantic.FileUrl, one_of("file:///srv/x", "file:///a b/ü")),
    "RedisDsn": (pydantic.RedisDsn, url("redis", "rediss")),
    "SecretStr with length": (Annotated[pydantic.SecretStr, Field(min_length=3)], word(ALPHABET, 3, 6)),
    "aware range": (
        Annotated[pydantic.AwareDatetime, Field(lt=dt.datetime(9000, 1, 1, tzinfo=dt.timezone.utc))],
        lambda r: aware(r).replace(year=r.randint(2, 8998), day=1),
    ),
    "SecretStr": (pydantic.SecretStr, text),
    "SecretBytes": (pydantic.SecretBytes, lambda r: text(r).encode()),
    "Secret[date]": (pydantic.Secret[dt.date], date),
    "Json[list[int]]": (pydantic.Json[list[int]], lambda r: json.dumps(listed(integer)(r))),
    "Json[dict]": (pydantic.Json[dict[str, float]], lambda r: json.dumps({"a": double(r)})),
    "ByteSize": (pydantic.ByteSize, lambda r: abs(integer(r))),
    "dataclass": (Point, fields(x_=integer, y=double, tags=listed(text))),
    "recursive dataclass": (Tree, trees),
    "pydantic dataclass": (Checked, fields(a_=lambda r: 1 + abs(integer(r)), b=text)),
    "TypedDict": (Options, fields(name_=text, size=integer, when=date)),
    "NamedTuple": (Pair, lambda r: Pair(integer(r), text(r))),
    "NewType": (UserId, integer),
    "type alias": (IntList, listed(integer)),
    "InstanceOf": (pydantic.InstanceOf[int], integer),
    "list of unions": (list[int | None | Plain], listed(one_of(integer, None, plain))),  # noqa: RUF036
    "dict of lists": (
        dict[str, list[tuple[int, Colour]]],
        mapped(text, listed(lambda r: (integer(r), r.choice(list(Colour))))),
    ),
}
"""Types by name, with functions that make inputs of their validators from Python."""

try:
    import email_validator  # noqa: F401
except ImportError:
    pass
else:
    CASES["EmailStr"] = (pydantic.EmailStr, email)
    CASES["dict EmailStr"] = (dict[pydantic.EmailStr, int], mapped(email, integer))
