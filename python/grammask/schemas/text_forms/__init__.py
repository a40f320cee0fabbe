"""The texts of numbers, dates, durations, addresses and URLs, as regular expressions of ECMAScript.

Each expression is a language between two others: every text is read by the type's own validator (Pydantic's lax mode),
and every text that the type's serializer writes is in it, with the exceptions that functions document.
"""
