#!/usr/bin/env bash
# Tatoeba, English to German: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-en-de.sh [more options of `transduce train`]
here=$(dirname "$0") source=en target=de title="Tatoeba English–German" \
  rates=(0.0006 0.0005) names=(0.25 0.6)
. "$here/tatoeba"
