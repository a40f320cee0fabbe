"""Requests that a web page of another site can make, and what a reader that takes long leaves of the server."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest
from grammask import Grammar, Limits
from grammask.server import requests

if TYPE_CHECKING:
    from collections.abc import Callable

USER = [{"role": "user", "content": "Hi"}]
PATHS = ["chat/completions", "completions", "responses", "../playground/probabilities"]
JSON = "application/json"


def answer_to(url: str, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    place = path.removeprefix("..") if path.startswith("..") else f"{address.path}/{path}"
    connection.request(method, place, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def chat(url: str, **fields: Any) -> tuple[int, Any]:
    body = {"messages": USER, "max_tokens": 8, **fields}
    return answer_to(url, "POST", "chat/completions", body, {"Content-Type": JSON})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/plain; charset=UTF-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
    ],
)
def test_bodies_of_other_types_are_refused(url: str, path: str, content_type: str) -> None:
    status, answer = answer_to(url, "POST", path, {"messages": USER}, {"Content-Type": content_type})
    assert status == 415
    assert "application/json" in answer["error"]["message"]


@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=utf-8", "Application/JSON", None])
def test_bodies_of_json_are_read(url: str, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    body = {"messages": USER, "max_tokens": 8}
    assert answer_to(url, "POST", "chat/completions", body, headers)[0] == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1", "null", "http://[", ""])
def test_foreign_origins_are_refused(url: str, path: str, origin: str) -> None:
    headers = {"Content-Type": JSON, "Origin": origin}
    status, answer = answer_to(url, "POST", path, {"messages": USER}, headers)
    assert (status, answer["error"]["code"]) == (403, "foreign_origin")
    assert answer_to(url, "GET", "models", None, {"Origin": origin})[0] == 403


def test_the_page_of_the_server_has_its_origin(url: str) -> None:
    address = urllib.parse.urlsplit(url)
    headers = {"Content-Type": JSON, "Origin": f"http://{address.netloc}"}
    body = {"messages": USER, "max_tokens": 8}
    assert answer_to(url, "POST", "chat/completions", body, headers)[0] == 200


SLOW = {"structured_outputs": {"regex": "slow"}}


@pytest.mark.parametrize("busy", [False, True])
def test_other_requests_go_on_while_one_is_read(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, *, busy: bool
) -> None:
    read, released, readers = requests.grammar_of, threading.Event(), []

    def slow(fields: Any, **keywords: Any) -> Grammar | None:
        if fields.get("structured_outputs") == SLOW["structured_outputs"]:
            readers.append(threading.get_ident())
            while not released.wait(0 if busy else 0.05):
                pass
        return read(fields, **keywords)

    monkeypatch.setattr(requests, "grammar_of", slow)
    statuses: list[Any] = []
    with serve(has_budgets=True, limits=Limits(seconds=3)) as url:
        clients = [threading.Thread(target=lambda: statuses.append(chat(url, **SLOW))) for _ in range(3)]
        try:
            for client in clients:
                client.start()
            while len(readers) < len(clients):
                time.sleep(0.01)
            start = time.monotonic()
            assert answer_to(url, "GET", "../health", None, {})[0] == 200
            status, answer = chat(url, structured_outputs={"choice": ["a"]})
            assert (status, answer["choices"][0]["message"]["content"]) == (200, "a")
            assert time.monotonic() - start < 2
            assert statuses == []
            for client in clients:
                client.join()
        finally:
            released.set()
        assert time.monotonic() - start < 10
        for status, answer in statuses:
            assert (status, answer["error"]["code"]) == (400, "limit-exceeded")
            assert answer["error"]["param"] == "structured_outputs"
            assert "3 s" in answer["error"]["message"]


def test_more_hostile_requests_than_threads_end_at_their_deadline(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(requests, "grammar_of", lambda *_, **__: released.wait(20) and None)
    statuses: list[int] = []
    with serve(has_budgets=True, limits=Limits(seconds=1)) as url:
        clients = [threading.Thread(target=lambda: statuses.append(chat(url, **SLOW)[0])) for _ in range(20)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert statuses == [400] * 20
        assert answer_to(url, "GET", "../health", None, {})[0] == 200
        released.set()


def test_a_hostile_grammar_ends_at_the_deadline(serve: Callable[..., Any]) -> None:
    alternatives = "".join(f'     | "{chr(97 + i)}" p::set_bit({i}) %if bit_clear({i})\n' for i in range(14))
    grammar = f'start: p::0\np::_ : "" %if is_ones([0:14])\n{alternatives}'
    with serve(has_budgets=True, limits=Limits(seconds=0.2)) as url:
        start = time.monotonic()
        status, answer = chat(url, grammar=grammar)
        assert (status, answer["error"]["code"]) == (400, "limit-exceeded")
        assert time.monotonic() - start < 2
        assert chat(url, structured_outputs={"choice": ["a"]})[0] == 200
