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
print("the grammar takes", fits, "of", len(draft), "drafted tokens:", vocabulary.token(draft[fits]), "does not fit")
print(matcher.explain(draft[fits]))

# The target model verifies them and refuses the last two: those are rolled back.
for token in draft[:fits]:
    assert matcher.accept(token)
matcher.rollback(2)

# What must come whatever the model says can be appended without asking it.
print("forced after the rollback:", matcher.forced_bytes())

# Branches are forks; each goes its own way and costs next to nothing.
for ending in (" FROM people;", " FROM places;", ", city FROM people;"):
    branch = matcher.fork()
    print(repr(ending), branch.accept_bytes(ending.encode()), branch.is_complete)
print("the trunk is still", matcher)
