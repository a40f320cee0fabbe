"""A program for the ``kbnf`` package, with one changed line: the import."""

import numpy as np
from grammask import kbnf

texts = {0: "The answer is ", 1: "yes", 2: "no", 3: "maybe", 4: ".", 5: "!"}
vocabulary = kbnf.Vocabulary({id: kbnf.Token(text.encode()) for id, text in texts.items()}, texts)
engine = kbnf.Engine('start ::= "The answer is " ("yes" | "no") ".";', vocabulary)

rng = np.random.default_rng(seed=1)
written = ""
engine.compute_allowed_token_ids()
logits = engine.mask_logits(rng.standard_normal(len(texts), dtype=np.float32))
while True:
    token = int(logits.argmax())
    written += texts[token]
    logits = rng.standard_normal(len(texts), dtype=np.float32)
    logits, result = engine.update_logits(token, logits)
    if result == kbnf.AcceptTokenResult.Finished:
        break
print(written)
