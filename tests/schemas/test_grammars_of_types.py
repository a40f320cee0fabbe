"""``Grammar.from_type`` and ``Grammar.from_pydantic``: the grammar takes what Pydantic takes, as JSON."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import random
from typing import Annotated, Any, Literal

import annotated_types
import attrs
import pydantic
import pytest
from grammask import Grammar, SchemaNotStrict, UnsupportedSchema, Vocabulary
from grammask.schemas.core_schemas import CoreSchemaReader
from grammask.schemas.definitions import Definitions
from grammask.schemas.scalar_values import NATURAL_INTEGER_DIGITS
from typed_cases import CASES
from typing_extensions import NotRequired, TypedDict
from value_generators import sampled

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


class Size(enum.Enum):
    SMALL = "S"
    LARGE = "L"


@dataclasses.dataclass
class Tree:
    name: Annotated[str, annotated_types.Len(1, 4)]
    size: Size = Size.SMALL
    parts: list["Tree"] = dataclasses.field(default_factory=list)


class Point(TypedDict):
    x: Annotated[int, annotated_types.Ge(0)]
    y: NotRequired[float]


class Person(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: Annotated[str, pydantic.Field(min_length=1, pattern="^[A-Z]")]
    born: dt.date | None = None
    friends: list["Person"] = []
    height: Annotated[float, pydantic.Field(gt=0, alias="heightInMetres")] = 1.5


VALUES: dict[Any, list[Any]] = {
    Tree: [
        {"name": "a"},
        {"name": ""},
        {"name": "abcde"},
        {"name": "a", "size": "L", "parts": [{"name": "b", "parts": []}]},
        {"name": "a", "size": "M"},
        {"name": "a", "parts": [{}]},
        {"size": "S"},
    ],
    Point: [{"x": 1}, {"x": -1}, {"x": 1, "y": 0.5}, {"y": 0.5}, {"x": "1"}],
    Person: [
        {"name": "Ada"},
        {"name": "ada"},
        {"name": "Ada", "born": "1815-12-10"},
        {"name": "Ada", "born": None},
        {"name": "Ada", "friends": [{"name": "Bob"}], "heightInMetres": 2},
        {"name": "Ada", "heightInMetres": 0},
        {"name": "Ada", "height": 1},
        {},
    ],
    tuple[int, Literal["a", "b"]]: [[1, "a"], [1, "b"], [1], [1, "a", 1], [1, "c"], ["1", "a"]],
    dict[str, int | None]: [{}, {"a": 1, "b": None}, {"a": "1"}, []],
    set[Size]: [[], ["S"], ["S", "L"], ["X"]],
}


@pytest.mark.parametrize("tp", VALUES, ids=str)
def test_the_grammar_takes_what_pydantic_takes(tp: Any) -> None:
    is_model = isinstance(tp, type) and issubclass(tp, pydantic.BaseModel)
    grammar = Grammar.from_pydantic(tp) if is_model else Grammar.from_type(tp)
    compiled = grammar.compile(BYTES)
    for value in VALUES[tp]:
        text = json.dumps(value)
        try:
            pydantic.TypeAdapter(tp).validate_json(text, strict=True)
            expected = True
        except pydantic.ValidationError:
            expected = False
        if pydantic.VERSION.startswith("2.13.") and tp is Person and "height" in value:
            # This version ignores an extra member with the name of a field that has an alias.
            assert expected
            expected = False
        assert compiled.is_valid(text.encode()) == expected, text


def test_options_are_passed_on() -> None:
    compiled = Grammar.from_type(Point, whitespace="compact", numbers="plain").compile(BYTES)
    assert compiled.is_valid(b'{"x":1,"y":0.5}')
    assert not compiled.is_valid(b'{"x": 1}')
    with pytest.raises(SchemaNotStrict):
        Grammar.from_type(Point, strict=True)


def not_bad(value: str) -> str:
    if value == "bad":
        raise ValueError
    return value


class Validated(pydantic.BaseModel):
    free: int = 0
    name: Annotated[str, pydantic.AfterValidator(not_bad)]
    born: pydantic.PastDate | None = None
    inner: "Initialised | None" = None


class Initialised(pydantic.BaseModel):
    a: int

    def model_post_init(self, context: Any, /) -> None:
        assert self.a > 0


@dataclasses.dataclass
class Checked:
    a: int

    def __post_init__(self) -> None:
        assert self.a > 0


def test_functions_that_may_refuse_a_value_are_named() -> None:
    with pytest.raises(UnsupportedSchema) as error:
        Grammar.from_pydantic(Validated)
    places = {diagnostic.pointer: diagnostic.message for diagnostic in error.value.diagnostics}
    assert sorted(pointer.split("/")[-1] for pointer in places) == ["0", "Initialised", "name"]
    assert any("not_bad may refuse a value" in message for message in places.values())
    grammar = Grammar.from_pydantic(Validated, on_unsupported="relax")
    assert len(grammar.relaxations) == 3
    assert grammar.compile(BYTES).is_valid(b'{"name": "bad", "inner": {"a": 0}}')
    with pytest.raises(UnsupportedSchema, match="__post_init__"):
        Grammar.from_type(Checked)


@pytest.mark.parametrize(
    ("tp", "named"),
    [
        (Annotated[set[float], pydantic.Field(min_length=2)], "different items"),
        (Annotated[dict[int, int], pydantic.Field(min_length=2)], "different keys"),
        (set[list[int]], "hashable"),
        (pydantic.FutureDate, "future"),
        (Annotated[str, pydantic.StringConstraints(pattern=r"\bword\b")], "pattern"),
        (Annotated[bytes, pydantic.Field(max_length=3)], "UTF-8"),
        (pydantic.Json, "nests"),
        (pydantic.PostgresDsn, "hosts"),
        (Literal[Size.SMALL], "Literal"),
        (Annotated[decimal.Decimal, pydantic.Field(multiple_of=decimal.Decimal(3))], "expression"),
        (pydantic.FilePath, "validate_file"),
    ],
    ids=str,
)
def test_what_cannot_be_guaranteed_is_an_error(tp: Any, named: str) -> None:
    with pytest.raises(UnsupportedSchema, match=named):
        Grammar.from_type(tp)
    assert Grammar.from_type(tp, on_unsupported="relax").relaxations


def test_pydantic_and_the_annotations_agree() -> None:
    """Plain types are read without Pydantic, and mean the same."""
    for name, (tp, _) in CASES.items():
        core_schema: Any = pydantic.TypeAdapter(tp).core_schema
        definitions = Definitions()
        schema = CoreSchemaReader(definitions, NATURAL_INTEGER_DIGITS).schema(core_schema, name)
        grammar = Grammar.from_json_schema(definitions.root(schema)).compile(BYTES)
        own = Grammar.from_type(tp).compile(BYTES)
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(tp)
        rng = random.Random(name)
        for _ in range(10):
            try:
                text = adapter.dump_json(adapter.validate_python(CASES[name][1](rng)))
            except pydantic.ValidationError:
                continue
            assert grammar.is_valid(text) == own.is_valid(text), (name, text)


@attrs.define
class Shelf:
    name: str
    _size: int = 0
    books: list[str] = attrs.field(factory=list, alias="titles")
    used: bool = attrs.field(init=False, default=False)


def test_classes_of_attrs() -> None:
    compiled = Grammar.from_type(Shelf).compile(BYTES)
    text = b'{"name": "a", "size": 3, "titles": ["x"]}'
    assert compiled.is_valid(text)
    assert Shelf(**json.loads(text)).books == ["x"]
    assert not compiled.is_valid(b'{"name": "a", "used": true}')


def is_even(instance: Any, attribute: Any, value: int) -> None:
    if value % 2:
        raise ValueError(instance, attribute, value)


@attrs.define
class Loan:
    title: str = attrs.field(validator=attrs.validators.instance_of(str))
    days: int = attrs.field(validator=[attrs.validators.instance_of(int), attrs.validators.ge(1)])
    shelf: Shelf | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.instance_of(Shelf))
    )
    state: str = attrs.field(default="new", validator=attrs.validators.in_(["new", "old"]))
    notes: list[str] = attrs.field(factory=list, validator=attrs.validators.max_len(2))
    fine: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.lt(50)))


def test_validators_of_attrs() -> None:
    compiled = Grammar.from_type(Loan, key_order="any").compile(BYTES)
    members: dict[str, list[Any]] = {
        "title": ["a", None, 1],
        "days": [0, 1, 1.5, "1"],
        "shelf": [None, {"name": "a"}, {}],
        "state": ["new", "used", 1],
        "notes": [[], ["a", "b"], ["a", "b", "c"]],
        "fine": [None, 45, 50],
    }
    for name, values in members.items():
        for value in values:
            loan = {"title": "x", "days": 2, name: value}
            shelf = loan.get("shelf")
            try:
                Loan(**{**loan, "shelf": shelf if shelf is None else Shelf(**shelf)})
            except (TypeError, ValueError):
                is_valid = False
            else:
                is_valid = True
            assert compiled.is_valid(json.dumps(loan).encode()) == is_valid, loan


@pytest.mark.parametrize(
    ("hint", "validator"),
    [
        (int, is_even),
        (int, [attrs.validators.ge(0), is_even]),
        (int | None, attrs.validators.instance_of(int)),
        (int | None, attrs.validators.ge(0)),
        (int, attrs.validators.optional(is_even)),
        (float, attrs.validators.instance_of(float)),
        (float, attrs.validators.gt(0)),
        (Literal["a"], attrs.validators.instance_of(str)),
        (pathlib.Path, attrs.validators.instance_of(pathlib.Path)),
        (str, attrs.validators.matches_re("a*")),
        (str, attrs.validators.in_("abc")),
        (int, attrs.validators.in_([1, True])),
        (list[str], attrs.validators.deep_iterable(attrs.validators.instance_of(str))),
        (int, attrs.validators.not_(attrs.validators.in_([1]))),
    ],
)
def test_other_validators_of_attrs_are_refused(hint: Any, validator: Any) -> None:
    kind = attrs.make_class("Kind", {"value": attrs.field(type=hint, validator=validator)})
    with pytest.raises(UnsupportedSchema, match=r"value\.validator may refuse a value"):
        Grammar.from_type(kind)


def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    return f"{city} {unit}"


def test_a_callable_is_the_object_of_its_arguments() -> None:
    compiled = Grammar.from_type(weather).compile(BYTES)
    arguments = b'{"city": "Rome", "unit": "F"}'
    assert compiled.is_valid(arguments)
    assert weather(**json.loads(arguments)) == "Rome F"
    assert not compiled.is_valid(b'{"unit": "F"}')
    assert not compiled.is_valid(b'{"city": "Rome", "country": "Italy"}')


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [
        ("country", "CountryAlpha2", "NO"),
        ("country", "CountryAlpha3", "NOR"),
        ("country", "CountryNumericCode", "578"),
        ("country", "CountryShortName", "Norway"),
        ("currency_code", "Currency", "NOK"),
        ("currency_code", "ISO4217", "XAU"),
        ("language_code", "LanguageAlpha2", "no"),
        ("language_code", "LanguageName", "Norwegian"),
        ("language_code", "ISO639_3", "nor"),
        ("language_code", "ISO639_5", "gmq"),
        ("script_code", "ISO_15924", "Latn"),
        ("timezone_name", "TimeZoneName", "Europe/Oslo"),
    ],
)
def test_codes_of_pydantic_extra_types(module: str, name: str, text: str) -> None:
    pytest.importorskip("pycountry")
    kind = getattr(pytest.importorskip(f"pydantic_extra_types.{module}"), name)
    compiled = Grammar.from_type(kind).compile(BYTES)
    assert compiled.is_valid(json.dumps(text).encode())
    assert not compiled.is_valid(b'"XXQ"')
    adapter = pydantic.TypeAdapter(kind)
    rng = random.Random(2)
    for _ in range(20):
        sample = sampled(compiled, [bytes([byte]) for byte in range(256)], rng, prefers_short=False)
        assert compiled.is_valid(adapter.dump_json(adapter.validate_json(sample)))


def test_unset_members_of_structs_of_msgspec() -> None:
    msgspec = pytest.importorskip("msgspec")

    class Patch(msgspec.Struct):  # type: ignore[name-defined]
        name: str | msgspec.UnsetType = msgspec.UNSET
        size: int | msgspec.UnsetType | None = msgspec.UNSET

    compiled = Grammar.from_type(Patch).compile(BYTES)
    for patch in (Patch(), Patch(size=None), Patch("a", 1)):
        assert compiled.is_valid(msgspec.json.encode(patch))
    assert not compiled.is_valid(b'{"name":null}')


def test_structs_of_msgspec() -> None:
    """Texts of structs are decoded by msgspec, and encoded structs are texts."""
    msgspec = pytest.importorskip("msgspec")

    class Size(msgspec.Struct, tag="size", rename="camel", forbid_unknown_fields=True):  # type: ignore[name-defined]
        item_count: Annotated[int, msgspec.Meta(ge=0, lt=100)]
        took: dt.timedelta = dt.timedelta(0)
        data: bytes = b""
        price: decimal.Decimal | None = None
        ratio: Annotated[float, msgspec.Meta(gt=0)] = msgspec.field(default=1.0, name="r")
        when: Annotated[dt.datetime, msgspec.Meta(tz=True)] | None = None

    class Item(msgspec.Struct, array_like=True):  # type: ignore[name-defined]
        size: Size
        names: dict[int, Annotated[str, msgspec.Meta(pattern="^a")]]

    compiled = Grammar.from_type(Item).compile(BYTES)
    rng = random.Random(5)
    for _ in range(100):
        size = Size(
            rng.randrange(100),
            dt.timedelta(microseconds=rng.randint(-(10**13), 10**13)),
            rng.randbytes(rng.randrange(5)),
            rng.choice((None, decimal.Decimal(rng.randrange(10**6)).scaleb(-3))),
            rng.random() + 5e-324,
            rng.choice((None, dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc))),
        )
        text = msgspec.json.encode(Item(size, {rng.randint(-5, 5): "ab"}))
        assert compiled.is_valid(text), text
    for _ in range(100):
        text = sampled(
            compiled, [bytes([byte]) for byte in range(256)], rng, prefers_short=rng.random() < 0.5
        )
        msgspec.json.decode(text, type=Item)
