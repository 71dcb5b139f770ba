#!/usr/bin/env bash
# Table 4's semi-supervised setting in small: self-training on the WSJ sample (McClosky et al. 2006).
#
#   recipes/wsj-self-training.sh [more options of `transduce train`]
#
# The parser of recipes/wsj.sh parses the English news of newstest2013 and newstest2014; the half of the trees
# that it is surest of, by the score per word, is added to the treebank, which is seen five times as often, and
# a new parser is trained on both. results/wsj-test.json and wsj-self-training-test.json are then the two to
# compare. Run from the repository's root, after recipes/wsj.sh. The same command resumes.
here=$(dirname "$0") name=wsj-self-training folder=wsj-sample title="WSJ sample, self-training"
from="the corpus treebank of https://www.nltk.org/nltk_data (not for commercial use)"
TEACHER=${TEACHER:-runs/wsj/model}
settings=wsj weight=5
prepare() {
  local text=("$DATA"/newstest/newstest201{3,4}.en.gz)
  for file in "${text[@]}" "$TEACHER/config.json"; do
    if [ ! -f "$file" ]; then
      echo "there is no $file: run recipes/wsj.sh first, and take newstest from" \
        "https://www.statmt.org/wmt14/dev.tgz, compressed with gzip" >&2
      exit 2
    fi
  done
  mkdir -p "$OUT"
  more=$OUT/confident.mrg
  if [ ! -f "$more" ]; then
    gzip -dc "${text[@]}" | "$TRANSDUCE" parse --model "$TEACHER" --beam 4 --json > "$OUT/parsed.jsonl"
    python3 "$here/confident.py" "$OUT/parsed.jsonl" > "$more.part"
    mv "$more.part" "$more"
  fi
}
. "$here/treebank"
