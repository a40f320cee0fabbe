"""Compares the verdicts of the bundled grammars with those of independent parsers of the languages.

The texts are real files, files with small changes, and texts sampled along masks. The parsers are the installed ones
of ``javac``, ``gofmt``, ``node``, ``gcc`` and tree-sitter. Each disagreement is printed with its place. gcc also
reports semantic errors; only messages about unexpected or missing lexemes count as rejections.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask
from grammask._grammask import embedded_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDINGS = {"c": ".c", "go": ".go", "java": ".java", "javascript": ".js"}
INSERTED = [
    *"()[]{}<>:,.;?*&\n \"'`#\\1a=@+-/!%",
    "/*",
    "//",
    "=>",
    "->",
    "++",
    "if ",
    "else ",
    "new ",
    "return ",
    "case ",
]
SYNTAX_ERROR_OF_GCC = (
    r"error: (expected|stray|missing terminating|unterminated|empty character|invalid (suffix|digit))"
)
CLOSING = b"\n)]}\"'; 1x*/`"
NODE = """
const vm = require('vm'), fs = require('fs')
const reads = (make) => { try { make(); return true } catch (e) { return e.name !== 'SyntaxError' } }
for (const path of fs.readFileSync(0, 'utf8').split('\\n').filter(Boolean)) {
  const text = fs.readFileSync(path, 'utf8')
  const script = text.replace(/^#!.*/, '')
  console.log(reads(() => new vm.Script(text)) || reads(() => new vm.Script(`(async function () {${script}\\n})`))
    || reads(() => new vm.SourceTextModule(text)) ? 'ok' : 'no')
}
"""
JAVAC = """
import com.sun.source.util.JavacTask;
import java.net.URI;
import java.nio.file.*;
import java.util.*;
import javax.tools.*;

public class Parse {
    public static void main(String[] arguments) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Scanner paths = new Scanner(System.in);
        while (paths.hasNextLine()) {
            String text = Files.readString(Path.of(paths.nextLine()));
            var found = new DiagnosticCollector<JavaFileObject>();
            var file = new SimpleJavaFileObject(URI.create("string:///X.java"), JavaFileObject.Kind.SOURCE) {
                public CharSequence getCharContent(boolean ignored) { return text; }
            };
            ((JavacTask) compiler.getTask(null, null, found, List.of("-proc:none"), null, List.of(file))).parse();
            boolean bad = found.getDiagnostics().stream().anyMatch(one -> one.getKind() == Diagnostic.Kind.ERROR);
            System.out.println(bad ? "no" : "ok");
        }
    }
}
"""


def by_command(command: list[str], paths: list[Path]) -> list[bool]:
    """Return the verdicts of a program that reads paths and prints ``ok`` or ``no`` for each."""
    text = "".join(f"{path}\n" for path in paths)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [line == "ok" for line in done.stdout.split()]


def by_javac(paths: list[Path]) -> list[bool]:
    """Return the verdicts of javac's parser."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Parse.java"
        source.write_text(JAVAC)
        return by_command(["java", str(source)], paths)


def by_gofmt(paths: list[Path]) -> list[bool]:
    """Return the verdicts of gofmt."""
    done = subprocess.run(
        ["gofmt", "-e", "-l", *map(str, paths)], capture_output=True, text=True, check=False
    )
    bad = {line.split(":", 1)[0] for line in done.stderr.splitlines()}
    return [str(path) not in bad for path in paths]


def by_node(paths: list[Path]) -> list[bool]:
    """Return the verdicts of node's parser: as a script, as the body of a function, or as a module."""
    return by_command(["node", "--no-warnings", "--experimental-vm-modules", "-e", NODE], paths)


def by_tree_sitter(language: str) -> Callable[[list[Path]], list[bool]]:
    """Return a predicate: tree-sitter finds no error in a text."""
    tree_sitter: Any = importlib.import_module("tree_sitter")
    module = importlib.import_module(f"tree_sitter_{language}")
    parser = tree_sitter.Parser(tree_sitter.Language(module.language()))
    return lambda paths: [not parser.parse(path.read_bytes()).root_node.has_error for path in paths]


def by_gcc(paths: list[Path]) -> list[bool]:
    """Return whether gcc finds no syntax error."""
    verdicts = []
    for path in paths:
        command = [
            "gcc",
            "-std=c11",
            "-pedantic",
            "-w",
            "-fsyntax-only",
            "-fmax-errors=50",
            "-fpreprocessed",
            str(path),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
        verdicts.append(not re.search(SYNTAX_ERROR_OF_GCC, done.stderr))
    return verdicts


COMPILERS = {"c": by_gcc, "java": by_javac, "go": by_gofmt, "javascript": by_node}


def mutants(text: str, chance: random.Random, count: int) -> Iterator[str]:
    """Return texts with small changes."""
    for _ in range(count):
        place, word = chance.randrange(len(text) + 1), chance.choice(INSERTED)
        end = place + chance.randrange(4)
        yield chance.choice(
            [text[:place] + text[end:], text[:place] + word + text[place:], text[:place] + word + text[end:]]
        )


def sampled(
    compiled: grammask.CompiledGrammar, vocabulary: grammask.Vocabulary, text: bytes, chance: random.Random
) -> str | None:
    """Return a text that continues a prefix of ``text`` along masks, or None if it finds no end."""
    matcher = compiled.matcher()
    if not matcher.accept_bytes(text):
        return None
    made = text
    end = vocabulary.eos[0]
    for _ in range(chance.randrange(1, 12)):
        allowed = matcher.allowed_ids()
        token = int(allowed[chance.randrange(len(allowed))])
        if token != end:
            matcher.accept(token)
            made += vocabulary.token(token) or b""
    for _ in range(10):
        trial, whole = matcher.fork(), made
        for _ in range(40):
            if trial.is_allowed(end):
                try:
                    return whole.decode()
                except UnicodeDecodeError:
                    return None
            steps = [byte for byte in CLOSING if trial.fork().accept_bytes(bytes([byte]))]
            if not steps:
                break
            byte = chance.choice(steps)
            trial.accept_bytes(bytes([byte]))
            whole += bytes([byte])
    return None


def main() -> None:
    """Compare and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("language", choices=ENDINGS)
    options.add_argument("files", type=Path, help="a file with the path of a program in each line")
    options.add_argument("--count", type=int, default=300, help="how many programs")
    options.add_argument(
        "--largest", type=int, default=30_000, help="the largest program to change, in bytes"
    )
    options.add_argument("--show", type=int, default=40, help="how many disagreements to show")
    given = options.parse_args()
    chance = random.Random(1)
    paths = [Path(line) for line in given.files.read_text().splitlines()]
    chance.shuffle(paths)
    tokens, special = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, special=special, eos="<|endoftext|>")
    compiled = grammask.Grammar.bundled(given.language).compile(vocabulary)
    texts: list[tuple[str, str]] = []
    for path in paths[: given.count]:
        text = path.read_text("utf-8", errors="ignore")
        texts.append(("real", text))
        if len(text) < given.largest:
            texts += [("changed", mutant) for mutant in mutants(text, chance, 3)]
            start = text.encode()[: chance.randrange(len(text) + 1)]
            if (made := sampled(compiled, vocabulary, start, chance)) is not None:
                texts.append(("sampled", made))
    judges: dict[str, Callable[[list[Path]], list[bool]]] = {"tree-sitter": by_tree_sitter(given.language)}
    if given.language in COMPILERS:
        judges["compiler"] = COMPILERS[given.language]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{index}{ENDINGS[given.language]}" for index in range(len(texts))]
        for file, (_, text) in zip(files, texts, strict=True):
            file.write_bytes(text.encode())
        verdicts = {name: judge(files) for name, judge in judges.items()}
    places = [compiled.first_error(text.encode()) for _, text in texts]
    counts: Counter[str] = Counter()
    shown = 0
    for index, (kind, text) in enumerate(texts):
        own = places[index] is None
        others = {name: found[index] for name, found in verdicts.items()}
        said = ", ".join(f"{name} {'reads' if other else 'refuses'}" for name, other in others.items())
        counts[f"{kind}: grammask {'reads' if own else 'refuses'}, {said}"] += 1
        judge = others.get("compiler", others["tree-sitter"])
        if judge != own and shown < given.show:
            shown += 1
            at = places[index] if places[index] is not None else None
            seen = (
                text.encode()[max(0, (at or 0) - 60) : (at or 0) + 20].decode(errors="replace")
                if at is not None
                else ""
            )
            before = next((other for kind_, other in texts[:index][::-1] if kind_ == "real"), "")
            first = next((i for i, (a, b) in enumerate(zip(text, before, strict=False)) if a != b), 0)
            sys.stdout.write(f"{kind}, {said}: {seen!r} {text[max(0, first - 50) : first + 160]!r}\n")
    sys.stdout.write(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
