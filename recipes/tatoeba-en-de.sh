#!/usr/bin/env bash
# Tatoeba, English to German: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-en-de.sh [more options of `transduce train`]
#
# The last training adds German sentences that the model of recipes/tatoeba-de-en.sh translated: run that first, or
# set TEACHER=de-en for the bundled one.
here=$(dirname "$0") source=en target=de title="Tatoeba English–German" \
  rates=(0.0006 0.0005 0.0015) names=(0.25 0.6 0.5) steps=(1000 1800 1150) synthetic=4 most=143624
. "$here/tatoeba"
