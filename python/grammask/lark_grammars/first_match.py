r"""The automaton of the *first* matches of a regular expression, as a backtracking matcher finds them.

``re`` tries alternatives in order and stops at the first match, so ``a|ab`` never matches ``ab``, and ``/\*.*?\*/``
stops at the first ``*/``. The words that it matches as a whole are a regular language, and its match at a position is
the longest prefix of the remaining text in this language.

A state of the automaton is the *ordered* list of threads of a backtracking matcher: a thread that matches cuts off all
threads after it. This is Thompson's construction with priorities (Cox, "Regular expression matching: the virtual
machine approach", 2009).

A look-ahead becomes an obligation of its thread: a set of instructions whose language must, or must not, match the next
text. A look-behind tests the last characters of the lexeme, and is refused if it could read characters before it.

A match with a pending negative obligation is accepted. A second automaton has the *violations*, the texts that consist
of such a match and a text that must not follow it; ``trailing_looks.py`` turns them into refused terminals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from grammask.lark_grammars.code_points import CodePoints, Partition
from grammask.lark_grammars.errors import too_large, unsupported
from grammask.lark_grammars.regex_tree import Characters, Choice, Look, Repeat, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.lark_grammars.regex_tree import Node

WITHOUT_LOOKS = "override the terminal with an equivalent one without a look-ahead at its end"
MAX_STATES = 4_000
"""States of one automaton of a terminal."""
MAX_INSTRUCTIONS = 20_000
"""Instructions of one terminal, whose counted repetitions are unrolled."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton over the parts of a partition. State 0 is the start.

    Attributes:
        parts: The partition of the code points, whose parts are the labels of edges.
        edges: For each state, the target of each part that has one.
        accepting: Whether each state is accepting.
    """

    parts: list[CodePoints]
    edges: list[dict[int, int]]
    accepting: list[bool]

    def accepts(self, text: str) -> bool:
        """Whether a text is in the language."""
        state = 0
        for character in text:
            code_point = ord(character)
            row = self.edges[state]
            target = next((row[part] for part in row if code_point in self.parts[part]), None)
            if target is None:
                return False
            state = target
        return self.accepting[state]

    def includes(self, other: Automaton) -> bool:
        """Whether all words of another automaton are in the language."""
        seen = {(0, 0)}
        pending = [(0, 0)]
        while pending:
            own, others = pending.pop()
            if other.accepting[others] and not self.accepting[own]:
                return False
            for part, target in other.edges[others].items():
                left = other.parts[part]
                for own_part, own_target in self.edges[own].items():
                    common = left.intersection(self.parts[own_part])
                    left = left.intersection(self.parts[own_part].complement())
                    if common.ranges and (own_target, target) not in seen:
                        seen.add((own_target, target))
                        pending.append((own_target, target))
                if left.ranges:
                    return False
        return True


@dataclass(frozen=True, slots=True)
class FirstMatches:
    """The matches of a regular expression.

    Attributes:
        automaton: The words that a backtracking matcher matches as a whole.
        is_plain: Whether these are all words of the expression without priorities, and it has no look-around.
        trailing: The looks ahead at the end, if there are any.
    """

    automaton: Automaton
    is_plain: bool
    trailing: TrailingLooks | None = None


@dataclass(frozen=True, slots=True)
class TrailingLooks:
    """The looks ahead beyond the end of a lexeme. The partition is that of the first matches.

    Attributes:
        violations: The words of which a prefix is a match whose look fails on the rest of the word.
        can_match_inside: The characters that may follow a match of some thread inside a violation without failing a
            look of this thread at once.
        can_match_beyond: Whether some thread can match a violation or an extension of it.
    """

    violations: Automaton
    can_match_inside: CodePoints
    can_match_beyond: bool


def first_matches(tree: Node, name: str) -> FirstMatches:
    """Returns the first matches of a tree.

    Args:
        tree: The expression.
        name: The terminal, for messages.

    Raises:
        UnsupportedGrammar: A look reads beyond an end of the lexeme, or the body of a bounded repetition is nullable.
        LimitExceeded: The automaton is too large.
    """
    return _Determinizer(_Program(tree, name)).run()


_Target: TypeAlias = int


@dataclass(slots=True)
class _Take:
    """Consumes one character of a set."""

    parts: frozenset[int]
    then: _Target


@dataclass(slots=True)
class _Split:
    """Tries targets in order."""

    targets: list[_Target]


@dataclass(slots=True)
class _Loop:
    """The head of a repetition with a nullable body, which is entered at most once between two characters."""

    body: _Target
    then: _Target
    is_greedy: bool


@dataclass(slots=True)
class _Ahead:
    """Adds an obligation on the next text."""

    first: _Target
    is_negated: bool
    then: _Target


@dataclass(slots=True)
class _Behind:
    """Continues if one of some sequences of sets is the end of the text so far, or if negated, if none is."""

    spellings: list[list[frozenset[int]]]
    is_negated: bool
    then: _Target


@dataclass(slots=True)
class _Match:
    """Ends the thread with a match."""


_MATCH = 0


def _walk(tree: Node) -> Iterator[Node]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Sequence | Choice):
            pending.extend(node.items)
        elif isinstance(node, Repeat | Look):
            pending.append(node.item)


def _is_nullable(node: Node) -> bool:
    if isinstance(node, Characters):
        return False
    if isinstance(node, Sequence):
        return all(map(_is_nullable, node.items))
    if isinstance(node, Choice):
        return any(map(_is_nullable, node.items))
    if isinstance(node, Repeat):
        return node.least == 0 or _is_nullable(node.item)
    return True


class _Program:
    """The instructions of an expression, compiled backwards because each instruction holds its successor."""

    def __init__(self, tree: Node, name: str) -> None:
        self.name = name
        sets = [node.members for node in _walk(tree) if isinstance(node, Characters)]
        self.partition = Partition(sets)
        self.instructions: list[_Take | _Split | _Loop | _Ahead | _Behind | _Match] = [_Match()]
        self.has_looks = any(isinstance(node, Look) for node in _walk(tree))
        self.deepest_look_behind = 0
        self.start = self.compile(tree, _MATCH)

    def add(self, instruction: _Take | _Split | _Loop | _Ahead | _Behind) -> _Target:
        if len(self.instructions) >= MAX_INSTRUCTIONS:
            message = f"the terminal `{self.name}` is too large: its counted repetitions multiply"
            raise too_large(message)
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def compile(self, node: Node, then: _Target) -> _Target:
        if isinstance(node, Characters):
            return self.add(_Take(self.partition.parts_of(node.members), then))
        if isinstance(node, Sequence):
            for item in reversed(node.items):
                then = self.compile(item, then)
            return then
        if isinstance(node, Choice):
            return self.add(_Split([self.compile(item, then) for item in node.items]))
        if isinstance(node, Look):
            return self.look(node, then)
        return self.repeat(node, then)

    def repeat(self, node: Repeat, then: _Target) -> _Target:
        is_nullable = _is_nullable(node.item)
        if is_nullable and (node.least > 1 or (node.most is not None and node.most > 1)):
            message = f"the terminal `{self.name}` has a bounded repetition whose body may be empty"
            raise unsupported(message, advice="make the body match at least one character")
        if node.most is None:
            head = self.add(_Loop(_MATCH, then, node.is_greedy) if is_nullable else _Split([]))
            body = self.compile(node.item, head)
            instruction = self.instructions[head]
            if isinstance(instruction, _Loop):
                instruction.body = body
            elif isinstance(instruction, _Split):
                instruction.targets = [body, then] if node.is_greedy else [then, body]
            first = head
        else:
            first = then
            for _ in range(node.most - node.least):
                body = self.compile(node.item, first)
                first = self.add(_Split([body, then] if node.is_greedy else [then, body]))
        for _ in range(node.least):
            first = self.compile(node.item, first)
        return first

    def look(self, node: Look, then: _Target) -> _Target:
        if any(isinstance(inside, Look) for inside in _walk(node.item)):
            message = f"the terminal `{self.name}` has a look-around inside a look-around"
            raise unsupported(message, advice="override the terminal with an equivalent one without it")
        if node.is_ahead:
            return self.add(_Ahead(self.compile(node.item, _MATCH), node.is_negated, then))
        spellings = self.spellings(node.item)
        self.deepest_look_behind = max([self.deepest_look_behind, *map(len, spellings)])
        return self.add(_Behind(spellings, node.is_negated, then))

    def spellings(self, node: Node) -> list[list[frozenset[int]]]:
        """Returns the sequences of sets that a look-behind accepts; ``re`` checks that they have one length."""
        if isinstance(node, Characters):
            return [[self.partition.parts_of(node.members)]]
        if isinstance(node, Choice):
            return [spelling for item in node.items for spelling in self.spellings(item)]
        if isinstance(node, Repeat):
            return self.spellings(Sequence((node.item,) * node.least))
        result: list[list[frozenset[int]]] = [[]]
        if isinstance(node, Sequence):
            for item in node.items:
                result = [before + after for before in result for after in self.spellings(item)]
                if len(result) > MAX_STATES:
                    message = f"a look behind in the terminal `{self.name}` is too large"
                    raise too_large(message)
        return result


_Obligation: TypeAlias = tuple[bool, frozenset[_Target]]
"""Whether the look is negated, and the instructions that its threads have reached."""
_Thread: TypeAlias = tuple[_Target, frozenset[_Obligation]]
_History: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _State:
    """The last characters of the lexeme, the threads by priority, and the set of all threads without cuts."""

    history: _History
    threads: tuple[_Thread, ...]
    accepts: bool
    uncut: frozenset[_Thread] = field(default=frozenset())
    uncut_accepts: bool = False
    pending: frozenset[_Obligation] = field(default=frozenset())
    """The obligations of the match in this state."""


class _Determinizer:
    def __init__(self, program: _Program) -> None:
        self.program = program
        self.looked: dict[frozenset[_Target], tuple[frozenset[_Target], bool]] = {}

    def run(self) -> FirstMatches:
        parts = range(len(self.program.partition.parts))
        compares = not self.program.has_looks
        first = self.state((), [(self.program.start, frozenset())], [self.program.start] if compares else [])
        ids: dict[_State, int] = {first: 0}
        states = [first]
        edges: list[dict[int, int]] = []
        is_plain = compares
        for state in states:
            row = {}
            for part in parts:
                following = self.step(state, part)
                if following is None:
                    continue
                known = ids.get(following)
                if known is None:
                    if len(states) >= MAX_STATES:
                        message = f"the automaton of the terminal `{self.program.name}` is too large"
                        raise too_large(message)
                    known = ids[following] = len(states)
                    states.append(following)
                    is_plain = is_plain and following.accepts == following.uncut_accepts
                row[part] = known
            edges.append(row)
        accepting = [state.accepts for state in states]
        automaton = Automaton(self.program.partition.parts, edges, accepting)
        trailing = None
        if any(state.pending for state in states):
            trailing = self.trailing(automaton, [state.pending for state in states])
        return FirstMatches(_trimmed(automaton), is_plain, trailing)

    def trailing(self, automaton: Automaton, conditions: list[frozenset[_Obligation]]) -> TrailingLooks:
        """Returns the violations for the obligations of an automaton's states."""
        parts = range(len(automaton.parts))
        first: tuple[int | None, frozenset[_Obligation]] = (0, conditions[0])
        ids = {first: 0}
        places = [first]
        # The state after a complete violation, which gets its number last.
        rows: list[dict[int, int]] = []
        done = -1
        for state, obligations in places:
            row: dict[int, int] = {}
            for part in parts:
                target = None if state is None else automaton.edges[state].get(part)
                if target is not None and automaton.accepting[target]:
                    # The threads of the target have priority over the earlier match, so its obligations are void.
                    place: tuple[int | None, frozenset[_Obligation]] = (target, conditions[target])
                else:
                    kept = self.advance(obligations, part)
                    if kept is None:
                        row[part] = done
                        continue
                    if target is None and not kept:
                        continue
                    place = (target, kept)
                if place not in ids:
                    if len(places) >= MAX_STATES:
                        message = f"the looks ahead of the terminal `{self.program.name}` are too large"
                        raise too_large(message)
                    ids[place] = len(places)
                    places.append(place)
                row[part] = ids[place]
            rows.append(row)
        end = len(places)
        edges = [{part: end if target == done else target for part, target in row.items()} for row in rows]
        violations = _trimmed(Automaton(automaton.parts, [*edges, {}], [False] * end + [True]))
        return self.other_matches(violations)

    def other_matches(self, violations: Automaton) -> TrailingLooks:
        """Runs all threads without cuts in lockstep with the violations."""
        no_obligations: frozenset[_Obligation] = frozenset()
        places = [self.all_threads((), [(self.program.start, no_obligations)], 0)]
        seen = set(places)
        inside: list[tuple[int, int]] = []
        is_beyond = False
        depth = self.program.deepest_look_behind
        for history, threads, matches, state in places:
            for part, target in violations.edges[state].items():
                if any(self.advance(match, part) is not None for match in matches):
                    inside.extend(violations.parts[part].ranges)
                following: list[_Thread] = []
                for thread, obligations in threads:
                    instruction = self.program.instructions[thread]
                    if isinstance(instruction, _Take) and part in instruction.parts:
                        kept = self.advance(obligations, part)
                        if kept is not None:
                            following.append((instruction.then, kept))
                later = (*history, part)[-depth:] if depth else ()
                place = self.all_threads(later, following, target)
                if violations.accepting[target]:
                    is_beyond = is_beyond or bool(place[1] or place[2])
                elif following and place not in seen:
                    if len(places) >= MAX_STATES:
                        message = f"the looks ahead of the terminal `{self.program.name}` are too large"
                        raise too_large(message)
                    seen.add(place)
                    places.append(place)
        return TrailingLooks(violations, CodePoints.of(inside), is_beyond)

    def all_threads(
        self, history: _History, targets: list[_Thread], state: int
    ) -> tuple[_History, frozenset[_Thread], frozenset[frozenset[_Obligation]], int]:
        """Returns all threads that consume a character next, and the obligations of each match."""
        threads: set[_Thread] = set()
        matches: set[frozenset[_Obligation]] = set()
        for target in targets:
            remaining = [target]
            # `closure` stops at the first match, so the threads after it are collected here.
            seen = set()
            while remaining:
                place = remaining.pop()
                if place in seen:
                    continue
                seen.add(place)
                at, obligations = place
                instruction = self.program.instructions[at]
                if isinstance(instruction, _Take):
                    threads.add(place)
                elif isinstance(instruction, _Match):
                    matches.add(obligations)
                else:
                    remaining.extend(self.onward(history, instruction, obligations))
        return history, frozenset(threads), frozenset(matches), state

    def onward(
        self,
        history: _History,
        instruction: _Split | _Loop | _Ahead | _Behind,
        obligations: frozenset[_Obligation],
    ) -> list[_Thread]:
        """Returns the successors of an instruction that consumes no character, in no order."""
        if isinstance(instruction, _Split):
            return [(target, obligations) for target in instruction.targets]
        if isinstance(instruction, _Loop):
            return [(instruction.body, obligations), (instruction.then, obligations)]
        if isinstance(instruction, _Behind):
            continues = self.was_read(history, instruction) != instruction.is_negated
            return [(instruction.then, obligations)] if continues else []
        reached, matched = self.reachable(frozenset([instruction.first]))
        if matched:
            return [] if instruction.is_negated else [(instruction.then, obligations)]
        return [(instruction.then, obligations | {(instruction.is_negated, reached)})]

    def step(self, state: _State, part: int) -> _State | None:
        depth = self.program.deepest_look_behind
        history = (*state.history, part)[-depth:] if depth else ()
        targets: list[_Thread] = []
        for target, obligations in state.threads:
            instruction = self.program.instructions[target]
            if isinstance(instruction, _Take) and part in instruction.parts:
                kept = self.advance(obligations, part)
                if kept is not None:
                    targets.append((instruction.then, kept))
        uncut = []
        for target, _ in state.uncut:
            instruction = self.program.instructions[target]
            if isinstance(instruction, _Take) and part in instruction.parts:
                uncut.append(instruction.then)
        if not targets and not uncut:
            return None
        return self.state(history, targets, uncut)

    def state(self, history: _History, targets: list[_Thread], uncut: list[_Target]) -> _State:
        threads, match = self.closure(history, targets)
        all_threads, uncut_accepts = self.reachable(frozenset(uncut))
        none: frozenset[_Obligation] = frozenset()
        uncut_threads = frozenset((target, none) for target in all_threads)
        return _State(history, threads, match is not None, uncut_threads, uncut_accepts, match or none)

    def advance(self, obligations: frozenset[_Obligation], part: int) -> frozenset[_Obligation] | None:
        """Returns the obligations after a character; None if one fails."""
        if not obligations:
            return obligations
        kept = []
        for is_negated, targets in obligations:
            following = set()
            for target in targets:
                instruction = self.program.instructions[target]
                if isinstance(instruction, _Take) and part in instruction.parts:
                    following.add(instruction.then)
            reached, matched = self.reachable(frozenset(following))
            if matched:
                if is_negated:
                    return None
            elif reached:
                kept.append((is_negated, reached))
            elif not is_negated:
                return None
        return frozenset(kept)

    def closure(
        self, history: _History, targets: list[_Thread]
    ) -> tuple[tuple[_Thread, ...], frozenset[_Obligation] | None]:
        """Returns the threads that consume a character next, by priority, up to the first match.

        The second value is the obligations of this match; None if there is no match.
        """
        threads: dict[_Thread, None] = {}
        no_loops: frozenset[_Target] = frozenset()
        seen = set()
        pending = [(target, obligations, no_loops) for target, obligations in reversed(targets)]
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            target, obligations, entered = place
            instruction = self.program.instructions[target]
            if isinstance(instruction, _Take):
                threads.setdefault((target, obligations))
            elif isinstance(instruction, _Split):
                pending.extend((next_one, obligations, entered) for next_one in reversed(instruction.targets))
            elif isinstance(instruction, _Loop):
                onward = (instruction.then, obligations, entered)
                if target in entered:
                    pending.append(onward)
                else:
                    again = (instruction.body, obligations, entered | {target})
                    pending.extend([onward, again] if instruction.is_greedy else [again, onward])
            elif isinstance(instruction, _Ahead):
                reached, matched = self.reachable(frozenset([instruction.first]))
                if matched:
                    if not instruction.is_negated:
                        pending.append((instruction.then, obligations, entered))
                else:
                    more = obligations | {(instruction.is_negated, reached)}
                    pending.append((instruction.then, more, entered))
            elif isinstance(instruction, _Behind):
                if self.was_read(history, instruction) != instruction.is_negated:
                    pending.append((instruction.then, obligations, entered))
            elif any(not is_negated for is_negated, _ in obligations):
                message = f"the terminal `{self.program.name}` looks at what comes after its end"
                raise unsupported(message, advice=WITHOUT_LOOKS)
            else:
                return tuple(threads), obligations
        return tuple(threads), None

    def was_read(self, history: _History, behind: _Behind) -> bool:
        for spelling in behind.spellings:
            read = history[-len(spelling) :] if spelling else ()
            fits = all(
                part in members for part, members in zip(reversed(read), reversed(spelling), strict=False)
            )
            if fits and len(read) < len(spelling):
                message = f"the terminal `{self.program.name}` looks at what comes before its beginning"
                raise unsupported(message, advice="override the terminal with one without that look-behind")
            if fits:
                return True
        return False

    def reachable(self, targets: frozenset[_Target]) -> tuple[frozenset[_Target], bool]:
        """Returns the instructions that consume a character next, without looks, and whether there is a match."""
        known = self.looked.get(targets)
        if known is not None:
            return known
        seen = set(targets)
        pending = list(targets)
        waiting = set()
        while pending:
            target = pending.pop()
            instruction = self.program.instructions[target]
            following: list[_Target] = []
            if isinstance(instruction, _Take):
                waiting.add(target)
            elif isinstance(instruction, _Split):
                following = instruction.targets
            elif isinstance(instruction, _Loop):
                following = [instruction.body, instruction.then]
            fresh = [target for target in following if target not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        result = self.looked[targets] = frozenset(waiting), _MATCH in seen
        return result


def _trimmed(automaton: Automaton) -> Automaton:
    """Returns the minimal automaton of the language, without dead states (Moore's algorithm)."""
    count = len(automaton.edges)
    before: list[list[int]] = [[] for _ in range(count)]
    for state, row in enumerate(automaton.edges):
        for target in row.values():
            before[target].append(state)
    alive = {state for state in range(count) if automaton.accepting[state]}
    pending = list(alive)
    while pending:
        fresh = [state for state in before[pending.pop()] if state not in alive]
        alive.update(fresh)
        pending.extend(fresh)
    if 0 not in alive:
        return Automaton(automaton.parts, [{}], [False])
    blocks = {state: int(automaton.accepting[state]) for state in alive}
    block_count = len(set(blocks.values()))
    while True:
        signatures: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
        refined = {}
        for state in sorted(alive):
            targets = automaton.edges[state].items()
            ways = tuple(sorted((part, blocks[target]) for part, target in targets if target in alive))
            refined[state] = signatures.setdefault((blocks[state], ways), len(signatures))
        blocks = refined
        if len(signatures) == block_count:
            break
        block_count = len(signatures)
    edges: list[dict[int, int]] = [{} for _ in range(block_count)]
    accepting = [False] * block_count
    for state, block in blocks.items():
        edges[block] = {part: blocks[to] for part, to in automaton.edges[state].items() if to in alive}
        accepting[block] = automaton.accepting[state]
    return Automaton(automaton.parts, edges, accepting)
