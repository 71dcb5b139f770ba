#!/usr/bin/env bash
# Multi30k, English to German: trains on its 29,000 captions, translates test_2016_flickr and scores it.
#
#   recipes/multi30k-en-de.sh [what else `transduce train` is to be told]
#
# From the repository's root. How long it takes on which machine, and what it reaches: see
# results/multi30k-en-de.json. Stop it at any time: the same command again continues.
set -euo pipefail

DATA=${TRANSDUCE_DATA:-../shared/data}
OUT=${OUT:-runs/multi30k-en-de}
RESULT=${RESULT:-results/multi30k-en-de.json}
TRANSDUCE=${TRANSDUCE:-transduce}

here=$(dirname "$0")
text=$DATA/multi30k
split=test_2016_flickr
for file in {train,val,$split}.{en,de}.gz; do
  if [ ! -f "$text/$file" ]; then
    echo "there is no $text/$file: put the files of data/task1/raw in" \
      "https://github.com/multi30k/dataset there, or set TRANSDUCE_DATA" >&2
    exit 2
  fi
done

"$TRANSDUCE" train "$OUT" --train "$text/train.en.gz" "$text/train.de.gz" \
  --valid "$text/val.en.gz" "$text/val.de.gz" \
  --preset tiny --config "$here/multi30k.toml" "$@"

mkdir -p "$(dirname "$RESULT")"
"$TRANSDUCE" evaluate "$text/$split.en.gz" "$text/$split.de.gz" --model "$OUT/model" \
  --beam 4 --alpha 0.6 --output "$OUT/$split.de" \
  --record "$RESULT" --title "Multi30k English–German, 2016 test set"
