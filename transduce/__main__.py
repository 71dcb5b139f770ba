"""`python -m transduce` is `transduce`; torchrun starts it this way."""

from transduce.cli import main

main(prog_name="transduce")
