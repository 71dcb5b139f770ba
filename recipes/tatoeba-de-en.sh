#!/usr/bin/env bash
# Tatoeba, German to English: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-de-en.sh [more options of `transduce train`]
#
# The last training adds English sentences that the model of recipes/tatoeba-en-de.sh translated, which needs the
# fourth training of this one: run this, that, and this again, or set TEACHER=en-de for the bundled one.
here=$(dirname "$0") source=de target=en title="Tatoeba German–English" \
  rates=(0.001 0.001 0.0015 0.0015) names=(0.25 0.25 0.4 0.4) steps=(1000 1800 850 1300) synthetic=5 most=110000
. "$here/tatoeba"
