"""The model directory: reading, verifying and writing; loading it never executes code."""

from transduce.directory.description import Description
from transduce.directory.files import read_json, sha256, verify_checksums, write_checksums
from transduce.directory.model import ModelDirectory, find_model, write_model
from transduce.directory.weights import DType

__all__ = [
    "DType",
    "Description",
    "ModelDirectory",
    "find_model",
    "read_json",
    "sha256",
    "verify_checksums",
    "write_checksums",
    "write_model",
]
