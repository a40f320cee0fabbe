"""Shows the embedded vocabulary: run ``python examples/vocabulary.py``."""

from grammask import Vocabulary

vocabulary = Vocabulary.default()
print(vocabulary)
print("the first special tokens:", dict(list(vocabulary.special.items())[:3]))
for text in (b"hello", b" hello", "你".encode()):
    print(text, "is", vocabulary.ids_of(text))
