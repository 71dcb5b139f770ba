"""Equation 1 worked out on a sentence, number by number."""

from transduce.explain.page import render
from transduce.explain.worked import Example, Worked, example, of_model, to_json, work_out

__all__ = ["Example", "Worked", "example", "of_model", "render", "to_json", "work_out"]
