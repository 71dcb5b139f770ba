#!/usr/bin/env bash
# Multi30k, English to French, from raw text to BLEU in one command, from the repository's root:
#
#   recipes/multi30k-en-fr.sh [more options of `transduce train`]
here=$(dirname "$0") target=fr title="Multi30k English–French, 2016 test set"
set -- --set train.steps=9000 "$@"
. "$here/multi30k"
