"""The terminals of ``%import common.NAME``, as regular expressions.

The names and languages are those of the Lark library's ``common`` grammar, except that strings may contain line ends,
as in llguidance.
"""

from __future__ import annotations

__all__ = ["COMMON_TERMINALS"]

_INT = "[0-9]+"
_EXPONENT = "[eE][+-]?[0-9]+"
_DECIMAL = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_FLOAT = f"(?:{_INT}{_EXPONENT}|{_DECIMAL}(?:{_EXPONENT})?)"
_NUMBER = f"(?:{_FLOAT}|{_INT})"

COMMON_TERMINALS = {
    "_EXP": _EXPONENT,
    "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
    "CPP_COMMENT": r"//[^\n]*",
    "CR": r"\r",
    "C_COMMENT": r"/\*(?s:[^*]|\*+[^*/])*\*+/",
    "DECIMAL": _DECIMAL,
    "DIGIT": "[0-9]",
    "ESCAPED_STRING": r'"(?s:[^"\\]|\\.)*"',
    "FLOAT": _FLOAT,
    "HEXDIGIT": "[0-9a-fA-F]",
    "INT": _INT,
    "LCASE_LETTER": "[a-z]",
    "LETTER": "[A-Za-z]",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
    "NUMBER": _NUMBER,
    "SH_COMMENT": r"#[^\n]*",
    "SIGNED_FLOAT": f"[+-]?{_FLOAT}",
    "SIGNED_INT": f"[+-]?{_INT}",
    "SIGNED_NUMBER": f"[+-]?{_NUMBER}",
    "SQL_COMMENT": r"--[^\n]*",
    "UCASE_LETTER": "[A-Z]",
    "WORD": "[A-Za-z]+",
    "WS": r"[ \t\f\r\n]+",
    "WS_INLINE": r"[ \t]+",
}
