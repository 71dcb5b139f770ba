#!/usr/bin/env bash
# Multi30k, English to German, on lowercased text as in most papers, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/multi30k-en-de-lowercase.sh [more options of `transduce train`]
here=$(dirname "$0") target=de title="Multi30k English–German, lowercased, 2016" lowercase=-lowercase
set -- --set train.steps=16000 "$@"
. "$here/multi30k"
