"""Texts under a grammar from a server that gives no logits."""

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from grammask import Grammar, Matcher, Vocabulary
from grammask.language_models import ModelNotFound
from grammask.language_models.remote import NoFittingContinuation, Piece, RemoteModel

VOCABULARY = Vocabulary([bytes([byte]) for byte in range(256)])


def matcher_of(grammar: str) -> Matcher:
    return Grammar.from_kbnf(grammar).compile(VOCABULARY, end="eager").matcher()


class Scripted(BaseHTTPRequestHandler):
    """Answers with the next choice of a list."""

    choices: ClassVar[list[Any]]
    prompts: ClassVar[list[str]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.prompts.append(asked["prompt"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [self.choices.pop(0)]}).encode())

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[tuple[str, type[Scripted]]]:
    class Handler(Scripted):
        choices: ClassVar[list[Any]] = []
        prompts: ClassVar[list[str]] = []

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}#m", Handler
    server.shutdown()
    server.server_close()
    thread.join()


def test_illegal_continuations_are_replaced(scripted: tuple[str, type[Scripted]]) -> None:
    url, server = scripted
    server.choices = [
        {
            "text": "12 apples",
            "finish_reason": "length",
            "logprobs": {
                "tokens": ["12", " apples"],
                "top_logprobs": [{"12": -0.1}, {" apples": -0.1, " pears": -2.0, ";": -1.0}],
            },
        },
    ]
    matcher = matcher_of('start ::= "n=" #"[0-9]+" (" pears" | ";") "end";')
    pieces = list(RemoteModel(url).write(matcher, "How many? "))
    assert pieces == [
        Piece(b"n=", "forced"),
        Piece(b"12", "model"),
        Piece(b";", "alternative"),
        Piece(b"end", "forced"),
    ]
    assert server.prompts == ["How many? n="]
    assert matcher.is_complete


def test_the_shortest_completion_follows_the_maximum_length(scripted: tuple[str, type[Scripted]]) -> None:
    url, server = scripted
    for is_completed, end in ((True, [Piece(b"]", "completion")]), (False, [])):
        server.choices = [{"text": "1,22", "finish_reason": "length"}]
        matcher = matcher_of('start ::= "[" #"[0-9]+" {"," #"[0-9]+"} "]";')
        written = RemoteModel(url).write(matcher, "", max_bytes=3, is_completed=is_completed)
        assert list(written) == [Piece(b"[", "forced"), Piece(b"1,22", "model"), *end]


def test_a_server_that_never_fits(scripted: tuple[str, type[Scripted]]) -> None:
    url, server = scripted
    server.choices = [{"text": "hello", "finish_reason": "stop"}]
    with pytest.raises(NoFittingContinuation, match="hello"):
        list(RemoteModel(url).write(matcher_of('start ::= "a" | "b";'), ""))


def test_no_server() -> None:
    with pytest.raises(ModelNotFound, match=re.escape("127.0.0.1:9")):
        RemoteModel("http://127.0.0.1:9/v1")
