"""Equation 1 on a sentence, and the way of a token through the network, number by number."""

from transduce.explain.page import render, span_of
from transduce.explain.trace import Trace, partners, trace, trace_to_json
from transduce.explain.trace_page import render_trace
from transduce.explain.worked import Example, Worked, example, of_model, to_json, work_out

__all__ = [
    "Example",
    "Trace",
    "Worked",
    "example",
    "of_model",
    "partners",
    "render",
    "render_trace",
    "span_of",
    "to_json",
    "trace",
    "trace_to_json",
    "work_out",
]
