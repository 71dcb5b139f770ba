#!/usr/bin/env bash
# The baseline of Table 4, an LSTM with attention (Vinyals et al. 2015), on CRAFT, from the repository's root:
#
#   recipes/craft-recurrent.sh [more options of `transduce train`]
here=$(dirname "$0") name=craft-recurrent folder=craft title="CRAFT, recurrent"
from="https://github.com/UCDenver-ccp/CRAFT (CC BY 3.0)"
. "$here/treebank"
