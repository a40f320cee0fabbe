"""OpenAI's own client talks to the server: answers, streams, and the objects that it makes of them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")


class Number(pydantic.BaseModel):
    """What the model is asked for."""

    n: int = pydantic.Field(ge=0, le=99)


COUNT = openai.pydantic_function_tool(Number, name="count")
USER = [{"role": "user", "content": "Hi"}]
CHOSEN = {"type": "function", "function": {"name": "count"}}


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[Any]:
    with openai.OpenAI(base_url=url, api_key="none") as client:
        yield client


def test_parsed_answers(client: Any) -> None:
    completion = client.chat.completions.parse(model="noise", messages=USER, response_format=Number)
    assert 0 <= completion.choices[0].message.parsed.n <= 99


def test_parsed_calls(client: Any) -> None:
    completion = client.chat.completions.parse(
        model="noise", messages=USER, tools=[COUNT], tool_choice=CHOSEN
    )
    (call,) = completion.choices[0].message.tool_calls
    assert 0 <= call.function.parsed_arguments.n <= 99


def test_streams_of_calls_grow(client: Any) -> None:
    options = {"stream_options": {"include_usage": True}}
    with client.chat.completions.stream(
        model="noise", messages=USER, tools=[COUNT], tool_choice=CHOSEN, **options
    ) as stream:
        kind = "tool_calls.function.arguments.delta"
        seen = [event.arguments for event in stream if event.type == kind]
        final = stream.get_final_completion()
    assert len(seen) > 2
    assert all(after.startswith(before) for before, after in pairwise(seen))
    (call,) = final.choices[0].message.tool_calls
    assert call.function.name == "count"
    assert Number(**json.loads(call.function.arguments)) == call.function.parsed_arguments
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage.completion_tokens > len(seen) / 2


def test_streams_of_answers(client: Any) -> None:
    with client.chat.completions.stream(model="noise", messages=USER, response_format=Number) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert Number.model_validate_json("".join(deltas)) == final.choices[0].message.parsed
    assert len(deltas) > 2


def test_refusals_are_the_client_s_errors(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="n is not supported"):
        client.chat.completions.create(model="noise", messages=USER, n=3)


def test_parsed_responses(client: Any) -> None:
    response = client.responses.parse(model="noise", input="Hi", text_format=Number)
    assert 0 <= response.output_parsed.n <= 99
    chosen = {"type": "function", "name": "count"}
    response = client.responses.parse(model="noise", input="Hi", tools=[COUNT], tool_choice=chosen)
    (call,) = response.output
    assert 0 <= call.parsed_arguments.n <= 99


def test_streams_of_responses(client: Any) -> None:
    with client.responses.stream(model="noise", input="Hi", text_format=Number) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert Number.model_validate_json("".join(deltas)) == final.output_parsed
    chosen = {"type": "function", "name": "count"}
    with client.responses.stream(model="noise", input="Hi", tools=[COUNT], tool_choice=chosen) as stream:
        kind = "response.function_call_arguments.delta"
        deltas = [event.delta for event in stream if event.type == kind]
        final = stream.get_final_response()
    (call,) = final.output
    assert Number.model_validate_json("".join(deltas)) == call.parsed_arguments


def test_responses_continue_by_id(client: Any) -> None:
    chosen = {"type": "function", "name": "count"}
    tools = [{"type": "function", "name": "count", "parameters": Number.model_json_schema()}]
    first = client.responses.create(model="noise", input="Hi", tools=tools, tool_choice=chosen)
    (call,) = first.output
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "3"}
    second = client.responses.create(
        model="noise", input=[result], previous_response_id=first.id, max_output_tokens=5
    )
    assert second.output_text
    with pytest.raises(openai.BadRequestError, match="there is no response"):
        client.responses.create(model="noise", input="Hi", previous_response_id="resp_0")


@pytest.mark.parametrize("kind", ["completions", "chat", "responses"])
def test_fields_that_are_null(url: str, kind: str) -> None:
    from openai.types import chat, completion_create_params, responses

    path, body, fields = {
        "completions": ("completions", {}, completion_create_params.CompletionCreateParamsNonStreaming),
        "chat": (
            "chat/completions",
            {"messages": USER},
            chat.completion_create_params.CompletionCreateParamsNonStreaming,
        ),
        "responses": (
            "responses",
            {"input": "Hi"},
            responses.response_create_params.ResponseCreateParamsNonStreaming,
        ),
    }[kind]
    for name, hint in get_type_hints(fields).items():
        status, answer = posted(url, path, {**body, "structured_outputs": {"choice": ["a"]}, name: None})
        code = None if status == 200 else answer["error"]["code"]
        allowed = (
            {None, "unsupported_parameter"}
            if type(None) in get_args(hint)
            else {"invalid_value", "unsupported_parameter"}
        )
        assert code in allowed, name


def posted(url: str, path: str, body: Any) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/{path}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
