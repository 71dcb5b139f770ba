#!/usr/bin/env bash
# Tatoeba, English to German: everyday sentences, from raw text to BLEU in one command, from the
# repository's root:
#
#   recipes/tatoeba-en-de.sh [more options of `transduce train`]
here=$(dirname "$0") source=en target=de title="Tatoeba English–German"
trainings=(
  "settings=2 rate=0.0006 names=0.25 steps=1000"
  "settings=3 rate=0.0005 names=0.6 steps=1800"
  "settings=4 rate=0.0015 names=0.5 steps=1150 teacher=4 lines=1-143624"
  "settings=5 rate=0.0015 names=0.5 steps=1700 teacher=5 lines=143625-228624 mixed=4:0.3"
  "settings=6 rate=0.0015 names=0.6 steps=2500 teacher=7 lines=1-239608 beam=4 pivot=0.5 synthetic=0.5 grammar=0.06"
  "settings=6 rate=0.0015 names=0.6 steps=5200 teacher=7 lines=1-239608 beam=4 pivot=0.5 synthetic=0.5 grammar=0.06 phrases=5"
  "settings=6 rate=0.0015 names=0.6 steps=5000 teacher=7 lines=1-239608 beam=4 pivot=0.5 synthetic=0.5 grammar=0.06 phrases=5 from=6 seed=2 reranked=236001-316000 candidates=6 judge=7 surest=-0.4 share=0.35 mixed=7:0.5"
  "settings=6 rate=0.0005 names=0.6 steps=600 teacher=7 lines=1-239608 beam=4 pivot=0.5 synthetic=0.5 grammar=0.06 phrases=20 seed=3 reranked=236001-316000 candidates=6 judge=7 surest=-0.4 share=0.35"
)
. "$here/tatoeba"
