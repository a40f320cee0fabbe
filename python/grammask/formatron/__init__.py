"""The interface of Formatron 0.5.0 on grammask's engine: change ``formatron`` to ``grammask.formatron`` in imports.

Captures come from the parse, so they are exact where Formatron's extractors run one after the other on the text; JSON
schemas are those of :meth:`grammask.Grammar.from_json_schema`. ``docs/formatron.md`` lists what differs, and
:class:`grammask.Template` is the interface for new code. Schemas need Pydantic.
"""
