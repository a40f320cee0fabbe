"""OpenAI's ``response_format``, ``tools`` and ``tool_choice`` as grammars.

``definitions`` reads tools, ``style`` parses the style of a family of models, and ``calls`` encodes calls in it.
``call_stream`` reads growing outputs with ``piece_matcher``, ``reading`` complete ones with the stream, and ``writing``
is their inverse. ``derivation`` makes a style from examples.
``custom_inputs`` translates custom tools to functions, ``response_formats`` reads formats. See ``docs/tools.md``.
"""

from grammask.tools.call_stream import CallFragment, CallStream, OutputPart, ReasoningFragment
from grammask.tools.calls import calls_part
from grammask.tools.custom_inputs import function_of, shown_tools
from grammask.tools.definitions import Tool, chosen_tools
from grammask.tools.derivation import DerivedStyle, Transcript, derive_style
from grammask.tools.reading import Call, Output, Result, read_calls, read_output, read_results
from grammask.tools.response_formats import response_format_source, text_format_source
from grammask.tools.style import ReasoningMode, ToolStyle, fixed_text, parsed_style
from grammask.tools.writing import write_output, write_results

__all__ = [
    "Call",
    "CallFragment",
    "CallStream",
    "DerivedStyle",
    "Output",
    "OutputPart",
    "ReasoningFragment",
    "ReasoningMode",
    "Result",
    "Tool",
    "ToolStyle",
    "Transcript",
    "calls_part",
    "chosen_tools",
    "derive_style",
    "fixed_text",
    "function_of",
    "parsed_style",
    "read_calls",
    "read_output",
    "read_results",
    "response_format_source",
    "shown_tools",
    "text_format_source",
    "write_output",
    "write_results",
]
