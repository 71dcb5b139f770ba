#!/usr/bin/env bash
# The sample of the Wall Street Journal in NLTK: from trees to F1, from the repository's root:
#
#   recipes/wsj.sh [more options of `transduce train`]
here=$(dirname "$0") name=wsj folder=wsj-sample title="WSJ sample"
from="the corpus treebank of https://www.nltk.org/nltk_data (not for commercial use)"
. "$here/treebank"
