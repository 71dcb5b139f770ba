#!/usr/bin/env bash
# Tatoeba, English to German: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-en-de.sh [more options of `transduce train`]
here=$(dirname "$0") source=en target=de title="Tatoeba English–German"
settings=(2 3 4 5)
rates=(0.0006 0.0005 0.0015 0.0015)
names=(0.25 0.6 0.5 0.5)
steps=(1000 1800 1150 1700)
teachers=(0 0 4 5)
lines=(0 0 1-143624 143625-228624)
reranked=(no no no no)
mixed=(4:0.3)
. "$here/tatoeba"
