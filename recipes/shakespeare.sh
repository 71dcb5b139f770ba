#!/usr/bin/env bash
# A language model of characters on Tiny Shakespeare, with the shape, steps and tokens that nanoGPT trains
# on a CPU (0.8 million parameters, 2,000 steps of 12 blocks of 64 characters); then it writes.
#
#   recipes/shakespeare.sh [more options of `transduce train`]
#
# Run from the repository's root. The first 90 % of the characters are for training, the rest for
# validation, in blocks of 64 that do not overlap. After an interruption the same command resumes.
set -euo pipefail

DATA=${TRANSDUCE_DATA:-../shared/data}
OUT=${OUT:-runs/shakespeare}
TRANSDUCE=${TRANSDUCE:-transduce}

text=$DATA/tinyshakespeare/input.txt.gz
if [ ! -f "$text" ]; then
  echo "there is no $text: take input.txt from" \
    "https://github.com/karpathy/char-rnn/tree/master/data/tinyshakespeare," \
    "compress it with gzip and put it there, or set TRANSDUCE_DATA" >&2
  exit 2
fi

mkdir -p "$OUT"
gzip -dc "$text" > "$OUT/input.txt"
characters=$(wc -m < "$OUT/input.txt")
head -c $((characters * 9 / 10)) "$OUT/input.txt" > "$OUT/train.txt" # the text is ASCII
tail -c +$((characters * 9 / 10 + 1)) "$OUT/input.txt" > "$OUT/valid.txt"

"$TRANSDUCE" train "$OUT/run" --task lm --train "$OUT/train.txt" --valid "$OUT/valid.txt" "$@"
"$TRANSDUCE" generate "ROMEO:" --model "$OUT/run" --tokens 500 --temperature 0.8
