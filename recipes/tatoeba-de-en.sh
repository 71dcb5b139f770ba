#!/usr/bin/env bash
# Tatoeba, German to English: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-de-en.sh [more options of `transduce train`]
here=$(dirname "$0") source=de target=en title="Tatoeba German–English" \
  rates=(0.001 0.001 0.0015) names=(0.25 0.25 0.4) steps=(1000 1800 850)
. "$here/tatoeba"
