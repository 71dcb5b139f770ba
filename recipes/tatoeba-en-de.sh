#!/usr/bin/env bash
# Tatoeba, English to German: everyday sentences, with back-translation, from raw text to BLEU in one
# command, from the repository's root:
#
#   recipes/tatoeba-en-de.sh [more options of `transduce train`]
here=$(dirname "$0") source=en target=de title="Tatoeba English–German"
. "$here/tatoeba"
