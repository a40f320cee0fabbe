"""A template on a stream of tokens: masks for the model, values of unfinished text, objects at the end."""

import datetime as dt

import numpy as np
from grammask import Template, Vocabulary, allocate_mask, apply_mask
from grammask.templates import choice, date, integer, regex, repeated

item = Template("- {what} x{count}\n", what=regex("[a-z]{3,8}"), count=integer(1, 99))
order = Template(
    "Order of {customer} on {day}\n{items}Paid: {paid}\n",
    customer=regex("[A-Z][a-z]{2,9}"),
    day=date(dt.date(2026, 1, 1), dt.date(2026, 12, 31)),
    items=repeated(item, 1, 3),
    paid=choice({"yes": True, "no": False}),
)

vocabulary = Vocabulary.default()
matcher = order.compile(vocabulary).matcher()
stream = order.stream()
mask = allocate_mask(1, vocabulary.size)
rng = np.random.default_rng(seed=4)
shown: list[str] = []

while not matcher.is_finished:
    logits = rng.standard_normal(vocabulary.size, dtype=np.float32)  # The model goes here.
    matcher.fill_mask(mask)
    apply_mask(logits, mask)
    token = int(logits.argmax())
    matcher.accept(token)
    stream.feed(vocabulary.token(token) or b"")
    fields = stream.result()
    if list(fields) != shown:
        shown = list(fields)
        print("so far:", dict(fields.texts))

result = stream.result()
print(result["customer"], result["day"].strftime("%d %b"), "paid" if result["paid"] else "owes")
for entry in result["items"]:
    print(f"  {entry['count']} {entry['what']}, bytes {entry.spans['what']}")
