#!/usr/bin/env bash
# Tatoeba, German to English: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-de-en.sh [more options of `transduce train`]
here=$(dirname "$0") source=de target=en title="Tatoeba German–English"
settings=(2 3 4 5 5 5)
rates=(0.001 0.001 0.0015 0.0015 0.0015 0.001)
names=(0.25 0.25 0.4 0.4 0.4 0.4)
steps=(1000 1800 850 1300 1800 600)
teachers=(0 0 0 4 4 0)
lines=(0 0 0 1-110000 110001-220000 0)
reranked=(no no no no no yes)
mixed=(6:0.3)
. "$here/tatoeba"
