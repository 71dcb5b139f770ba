#!/usr/bin/env bash
# Tatoeba, English to German: trains on 154,000 everyday sentences, averages the last
# checkpoints with int8 weights, translates 2,000 test sentences and scores them.
#
#   recipes/tatoeba-en-de.sh [more options of `transduce train`]
#
# Run from the repository's root. Time, machine and scores are in results/tatoeba-en-de.json.
# After an interruption the same command resumes. With BUNDLE=transduce/bundled/en-de the model
# replaces the bundled one.
set -euo pipefail

DATA=${TRANSDUCE_DATA:-../shared/data}
OUT=${OUT:-runs/tatoeba-en-de}
RESULT=${RESULT:-results/tatoeba-en-de.json}
TRANSDUCE=${TRANSDUCE:-transduce}

here=$(dirname "$0")
text=$DATA/tatoeba-en-de
for file in train.tsv.gz valid.tsv.gz test.tsv.gz; do
  if [ ! -f "$text/$file" ]; then
    echo "there is no $text/$file: take German–English from https://www.manythings.org/anki" \
      "(tatoeba.org, CC BY 2.0), write lines of English TAB German, no English sentence in two of" \
      "train.tsv.gz, valid.tsv.gz and test.tsv.gz, and put them there, or set TRANSDUCE_DATA" >&2
    exit 2
  fi
done

"$TRANSDUCE" train "$OUT" --train "$text/train.tsv.gz" --valid "$text/valid.tsv.gz" \
  --preset tiny --config "$here/tatoeba.toml" "$@"

"$TRANSDUCE" average "$OUT" --last 10 --dtype int8 --note "$here/tatoeba-en-de.md"

gzip -dc "$text/test.tsv.gz" | cut -f1 > "$OUT/test.en"
gzip -dc "$text/test.tsv.gz" | cut -f2 > "$OUT/test.de"
mkdir -p "$(dirname "$RESULT")"
"$TRANSDUCE" evaluate "$OUT/test.en" "$OUT/test.de" --model "$OUT/model" \
  --beam 4 --alpha 0.6 --output "$OUT/translations.de" \
  --record "$RESULT" --title "Tatoeba English–German" --card

if [ -n "${BUNDLE:-}" ]; then
  rm -rf "$BUNDLE"
  cp -r "$OUT/model" "$BUNDLE"
fi
