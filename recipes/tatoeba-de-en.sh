#!/usr/bin/env bash
# Tatoeba, German to English: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-de-en.sh [more options of `transduce train`]
here=$(dirname "$0") source=de target=en title="Tatoeba German–English"
trainings=(
  "settings=2 rate=0.001 names=0.25 steps=1000"
  "settings=3 rate=0.001 names=0.25 steps=1800"
  "settings=4 rate=0.0015 names=0.4 steps=850"
  "settings=5 rate=0.0015 names=0.4 steps=1300 teacher=4 lines=1-110000"
  "settings=5 rate=0.0015 names=0.4 steps=1800 teacher=4 lines=110001-220000"
  "settings=5 rate=0.001 names=0.4 steps=600 reranked=220001-236000 candidates=5 judge=6 mixed=6:0.3"
)
. "$here/tatoeba"
