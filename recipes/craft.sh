#!/usr/bin/env bash
# CRAFT, biomedical articles: from trees to F1 in one command, from the repository's root:
#
#   recipes/craft.sh [more options of `transduce train`]
here=$(dirname "$0") name=craft folder=craft title=CRAFT
from="https://github.com/UCDenver-ccp/CRAFT (CC BY 3.0)"
. "$here/treebank"
