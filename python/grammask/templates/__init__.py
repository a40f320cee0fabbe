"""Templates: texts with typed holes, whose values are read off the parse. See ``docs/templates.md``.

>>> from grammask.templates import Template, integer, regex
>>> template = Template("{name} is {age} years old.", name=regex("[A-Z][a-z]+"), age=integer(0, 150))
>>> template.parse("Ada is 36 years old.")["age"]
36
"""

from grammask.templates.parts import (
    Part,
    choice,
    date,
    embedded,
    integer,
    json_value,
    line,
    number,
    optional,
    part_of,
    regex,
    repeated,
    substring,
    text,
    token,
)
from grammask.templates.results import TemplateResult
from grammask.templates.template import Template, TemplateMismatch, TemplateStream

__all__ = [
    "Part",
    "Template",
    "TemplateMismatch",
    "TemplateResult",
    "TemplateStream",
    "choice",
    "date",
    "embedded",
    "integer",
    "json_value",
    "line",
    "number",
    "optional",
    "part_of",
    "regex",
    "repeated",
    "substring",
    "text",
    "token",
]
