"""Speculative decoding: check a draft at once, take back what the model does not want, and try branches on forks."""

from grammask import Grammar, Vocabulary
from grammask._grammask import encode_ordinary

vocabulary = Vocabulary.default()
grammar = Grammar.from_kbnf("""
    start ::= "SELECT " column { ", " column } " FROM " table ";";
    column ::= "name" | "age" | "city";
    table ::= "people" | "places";
""")
matcher = grammar.compile(vocabulary).matcher()

# A draft model proposes tokens; the grammar takes the first so many of them. Nothing changes yet.
draft = encode_ordinary("o200k_base", "SELECT name, age FROM people WHERE")
fits = matcher.validate(draft)
print("the grammar takes", fits, "of", len(draft), "drafted tokens")

# They are accepted one by one; a token that does not fit is refused and changes nothing.
print([matcher.accept(token) for token in draft])
print(matcher.explain(draft[fits]))

# The target model does not want the last two of them: those are rolled back.
matcher.rollback(2)
print("left:", [vocabulary.token(token) for token in matcher.tokens])

# Branches are forks; each goes its own way and costs next to nothing.
for ending in (" FROM people;", " FROM", ", city FROM p"):
    branch = matcher.fork()
    print(repr(ending), branch.accept_bytes(ending.encode()), "then must come", branch.forced_bytes())
print("the trunk is still", matcher)
