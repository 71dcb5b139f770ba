#!/usr/bin/env bash
# The baseline of Table 4, an LSTM with attention (Vinyals et al. 2015), on the WSJ sample, from the repository's root:
#
#   recipes/wsj-recurrent.sh [more options of `transduce train`]
here=$(dirname "$0") name=wsj-recurrent folder=wsj-sample title="WSJ sample, recurrent"
from="the corpus treebank of https://www.nltk.org/nltk_data (not for commercial use)"
. "$here/treebank"
