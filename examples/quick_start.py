"""Greedy decoding under a grammar with numpy logits: the loop of every inference engine."""

import numpy as np
from grammask import Grammar, Vocabulary, allocate_mask, apply_mask

vocabulary = Vocabulary.default()
grammar = Grammar.from_kbnf(r"""
    start  ::= "{" pair "}";
    pair   ::= '"name": ' string ', "age": ' age;
    string ::= #r'"[A-Z][a-z]{1,11}"';
    age    ::= #r"[1-9][0-9]?";
""")
matcher = grammar.compile(vocabulary).matcher()
mask = allocate_mask(1, vocabulary.size)
rng = np.random.default_rng(seed=7)

while not matcher.is_finished:
    logits = rng.standard_normal(vocabulary.size, dtype=np.float32)  # The model goes here.
    matcher.fill_mask(mask)
    apply_mask(logits, mask)
    matcher.accept(int(logits.argmax()))

text = b"".join(vocabulary.token(id) or b"" for id in matcher.tokens)
print(text.decode())
