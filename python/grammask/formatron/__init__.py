"""The interface of Formatron 0.5.0 on grammask's engine: change ``formatron`` to ``grammask.formatron`` in imports.

Captures are taken from the parse, so they are exact, unlike those of Formatron's extractors, which run one after the
other on the text. JSON schemas are those of :meth:`grammask.Grammar.from_json_schema`. ``docs/compat.md`` lists the
differences. New code should use :class:`grammask.Template`. Schemas need Pydantic.
"""
