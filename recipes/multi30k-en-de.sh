#!/usr/bin/env bash
# Multi30k, English to German, from raw text to BLEU in one command, from the repository's root:
#
#   recipes/multi30k-en-de.sh [more options of `transduce train`]
here=$(dirname "$0") target=de title="Multi30k English–German, 2016 test set"
. "$here/multi30k"
