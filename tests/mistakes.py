"""Mistakes that people type at the command line, for test_mistakes.py."""

# command | what the sentence must contain, after "+" if other messages precede it; the files are
# those of the fixture `workspace`, and {…} stand for words that cannot be typed here
MISTAKES = {
    "verbs": """
        trian                                                | No such command 'trian'
        Translate hello                                      | No such command 'Translate'
        --verbose                                            | No such option
        "" x                                                 | No such command
        {word}                                               | No such command
        translate --modle model hello                        | No such option '--modle'
        train                                                | Missing argument 'RUN'
        check extra                                          | unexpected extra argument
        score                                                | Missing argument 'SRC'
        score src.txt                                        | add TGT
        score src.txt tgt.txt more.txt                       | unexpected extra argument
        evaluate                                             | Missing argument 'SRC'
        evaluate src.txt                                     | Missing argument 'REF'
        average                                              | Missing argument 'RUN'
        average run other                                    | unexpected extra argument
        explain                                              | Missing argument 'TEXT'
        explain one two                                      | unexpected extra argument
        info model more                                      | unexpected extra argument
        import hf out                                        | Missing option '--from'
        import --from huggingface hf                         | Missing argument 'OUT'
        export out --model model                             | Missing option '--to'
        export --to huggingface --model model                | Missing argument 'OUT'
        export --to huggingface out                          | model.norm = "pre" cannot
        paper table9                                         | No such command 'table9'
        paper params extra                                   | unexpected extra argument
        paper figure1                                        | Missing option '--output'
        bench speed                                          | No such command 'speed'
        bench translate                                      | Missing option '--model'
        bench bleu                                           | Missing option '--train'
    """,
    "numbers": """
        translate --beam 0 hello                             | --beam
        translate --beam -4 hello                            | --beam
        translate --beam four hello                          | --beam
        translate --beam 4.5 hello                           | --beam
        translate --beam 100000 hello                        | --beam
        translate --beam 99999999999999999999 hello          | --beam
        translate --beam                                     | --beam
        translate --alpha -1 hello                           | --alpha
        translate --alpha nan hello                          | --alpha
        translate --alpha inf hello                          | --alpha
        translate --alpha 1e308 hello                        | --alpha
        translate --alpha 1e400 hello                        | --alpha
        translate --alpha much hello                         | --alpha
        translate --batch-size 0 hello                       | --batch-size
        translate --batch-size 1000000000 hello              | --batch-size
        translate --batch-size x hello                       | --batch-size
        translate --n-best 0 hello                           | --n-best
        translate --n-best 5 hello                           | needs a beam at least as wide
        translate --n-best 1000000000 hello                  | --n-best
        translate --penalty marian hello                     | --penalty
        score src.txt tgt.txt --alpha nan                    | --alpha
        score src.txt tgt.txt --alpha 1e308                  | --alpha
        score src.txt tgt.txt --batch-size 0                 | --batch-size
        score src.txt tgt.txt --batch-size 1000000000        | --batch-size
        evaluate src.txt tgt.txt --beam 100000               | --beam
        evaluate src.txt tgt.txt --alpha inf                 | --alpha
        evaluate src.txt tgt.txt --batch-size -1             | --batch-size
        average run --last 0                                 | --last
        average run --last many                              | --last
        average run --dtype int3                             | int3
        explain hello --layer 0                              | --layer
        explain hello --layer 99                             | layer
        explain hello --head 0                               | --head
        explain hello --head 1000000000000                   | head
        explain hello --seed x                               | --seed
        explain hello --seed 1e3                             | --seed
        explain hello --seed 99999999999999999999999         | --seed
        explain hello --seed -99999999999999999999999        | --seed
        explain hello --kind sideways                        | --kind
        bench model --repeat 0                               | --repeat
        bench model --batch 0                                | --batch
        bench model --length -1                              | --length
        bench model --length many                            | --length
        bench model --batch 100000000000                     | --batch
        bench train --steps 0                                | --steps
        bench train --tokens -5                              | --tokens
        bench translate --model model --lines 0              | --lines
        bench translate --model model --beam 0               | --beam
        bench translate --model model --beam 100000          | --beam
        bench translate --model model --rounds 0             | --rounds
        bench bleu --train src.txt tgt.txt --valid src.txt tgt.txt --epochs 0 | --epochs
        bench bleu --train src.txt tgt.txt --valid src.txt tgt.txt --every 0  | --every
    """,
    "settings": """
        train new --preset huge                              | unknown preset huge
        train new --preset bse                               | did you mean base
        train new --preset ""                                | unknown preset
        train new --config missing.toml                      | missing.toml
        train new --config dir                               | dir
        train new --config binary.bin                        | binary.bin
        train new --config broken.toml                       | broken.toml
        train new --config deep.toml                         | deep.toml
        train new --config deep-tables.toml                  | model.a
        train new --config bare.toml                         | is not a section
        train new --config section.toml                      | unknown section
        train new --config number.toml                       | number.toml
        train new --config {long}                            | File name too long
        train new --config file/x.toml                       | Not a directory
        train new --set model.n_head=4                       | did you mean model.n_heads
        train new --set n_heads=4                            | write section.key=value
        train new --set model.n_heads                        | write section.key=value
        train new --set =                                    | write section.key=value
        train new --set modle.n_heads=4                      | unknown setting modle.n_heads
        train new --set model.n_heads=four                   | model.n_heads
        train new --set model.n_heads=0                      | model.n_heads
        train new --set model.n_heads=7                      | not divisible
        train new --set model.d_model=33 --set model.n_heads=3 | is odd
        train new --set model.p_drop=1.5                     | model.p_drop
        train new --set model.p_drop=nan                     | model.p_drop
        train new --set model.norm=both                      | model.norm
        train new --set model.n_layers=10000000              | model.n_layers
        train new --set model.d_model=10000000               | model.d_model
        train new --set model.d_ff=1000000000000             | model.d_ff
        train new --set model.n_heads=99999999999999999999999 | model.n_heads
        train new --set model.vocab_size=1000000000000       | model.vocab_size
        train new --set model.max_positions=1000000000000    | model.max_positions
        train new --set data.vocab_size=1000000000000        | data.vocab_size
        train new --set data.vocab_size=-1                   | data.vocab_size
        train new --set data.max_ratio=0                     | data.max_ratio
        train new --set data.max_ratio=nan                   | data.max_ratio
        train new --set train.steps=0                        | train.steps
        train new --set train.steps=1e6                      | train.steps
        train new --set train.seed=-1                        | train.seed
        train new --set train.seed=99999999999999999999999   | train.seed
        train new --set train.lr_factor=inf                  | train.lr_factor
        train new --set train.label_smoothing=1              | train.label_smoothing
        train new --set train.consistency=-1                 | train.consistency
        train new --set train.precision=float8               | train.precision
        train new --set train.compile=maybe                  | train.compile
        train new --set train.clip_norm=0                    | train.clip_norm
        train new --set {deep}                               | unknown setting
        train new --set model.n_heads={deep}                 | model.n_heads
        train new --set model.n_heads={brackets}             | model.n_heads
        check --preset huge                                  | unknown preset huge
        check --set train.steps=x                            | train.steps
        check --set model.d_model=10000000                   | model.d_model
        check --config deep.toml                             | deep.toml
        paper figure1 --output f.svg --preset nothing        | unknown preset nothing
        paper figure1 --output f.svg --set model.n_layers=10000000 | model.n_layers
        bench bleu --train src.txt tgt.txt --valid src.txt tgt.txt --preset huge | unknown preset
        bench model --shape huge                             | huge
        bench train --shape huge                             | huge
    """,
    "training files": """
        train new --train                                    | --train
        train new --train missing.en missing.de              | there is no file missing.en
        train new --train src.txt                            | line 1 has 0 tabs
        train new --train src.txt missing.de                 | missing.de
        train new --train src.txt tgt.txt src.txt            | 3 files
        train new --train src.txt short.txt                  | must be line-aligned
        train new --train src.txt src.txt                    | given for both sides
        train new --train empty.txt empty2.txt               | there are no sentence pairs
        train new --train dir dir                            | given for both sides
        train new --train binary.bin binary.bin              | given for both sides
        train new --train src.txt binary.bin                 | binary.bin, line 1 is not UTF-8
        train new --train latin1.txt tgt.txt                 | is not UTF-8
        train new --train utf16.txt tgt.txt                  | UTF-16
        train new --train cut.txt.gz tgt.txt                 | is damaged
        train new --train fake.gz tgt.txt                    | fake.gz
        train new --train tabs.tsv                           | has 2 tabs, not one
        train new --train bad.jsonl                          | is not JSON
        train new --train deep.jsonl                         | is not JSON
        train new --train keys.jsonl                         | needs an object
        train new --train src.txt tgt.txt                    | too few
        train new --train pairs.tsv --valid missing.tsv      | missing.tsv
        train new --train pairs.tsv --valid src.txt          | src.txt
        train new --valid pairs.tsv                          | --valid without --train
        train new --train {long} {long}                      | File name too long
        train new --train file/a file/b                      | Not a directory
        train new --train - tgt.txt                          | standard input holds both sides
        train new --train pairs.tsv:0                        | '0' is neither a weight above 0
        train new --train pairs.tsv:-1                       | '-1' is neither a weight
        train new --train pairs.tsv:nan                      | 'nan' is neither a weight
        train new --train pairs.tsv:1e9                      | '1e9' is neither a weight
        train new --train pairs.tsv:half                     | 'half' is neither a weight
        train new --train pairs.tsv:                         | '' is neither a weight
        train new --train missing.tsv:0.5                    | there is no file missing.tsv
        train new --train src.txt:0.5 tgt.txt                | there is no file src.txt:0.5
        train new --train "pairs.tsv:tag=my tag"             | a tag consists of letters, digits
        train new --train pairs.tsv:tag=                     | a tag consists of letters, digits
        train new --train pairs.tsv:tag=s                    | every vocabulary has it already
        train new --train pairs.tsv --train pairs.tsv        | + no pair of pairs.tsv is left
        train new --train src.txt --train tgt.txt            | src.txt, line 1 has 0 tabs
        train new --train - --train -                        | can be read only once
        train new --train pairs.tsv --set data.noise_typo=1  | did you mean data.noise_typos
        train new --train pairs.tsv --set data.noise_join=-1 | data.noise_join
        train run --train pairs.tsv:2                        | other weights or tags
        check --train pairs.tsv:tag=a+b                      | a tag consists of letters, digits
        train new --task parsing                             | --task parsing without --train
        train file                                           | file
        train file/run                                       | Not a directory
        train /proc/run                                      | /proc/run
        train {long}                                         | File name too long
        train {nul}                                          | NUL
        train run --set train.seed=7                         | was started with
        train run --preset tiny                              | was started with
        train run --train src.txt tgt.txt                    | other text
        check --train missing.tsv                            | there is no file missing.tsv
        check --train src.txt short.txt                      | must be line-aligned
        check --train dir                                    | is a directory
        check --train pairs.tsv --test missing.tsv           | missing.tsv
        check --train pairs.tsv --test pairs.tsv tgt.txt src.txt | 3 files
        check --valid pairs.tsv                              | --valid without --train
        check --train {nul}                                  | NUL
        bench bleu --train missing.tsv --valid pairs.tsv --output out | there is no file missing.tsv
        bench bleu --train pairs.tsv --valid pairs.tsv --output file  | file
        bench bleu --train pairs.tsv --valid pairs.tsv --against marian --output out | marian
        bench train --train missing.en missing.de --steps 1  | missing.en
        bench train --against marian                         | marian
    """,
    "text": """
        translate --input missing.txt                        | there is no file missing.txt
        translate --input dir                                | is a directory
        translate --input file/x                             | file/x
        translate --input {long}                             | File name too long
        translate --input {nul}                              | NUL
        translate --input cut.txt.gz                         | + is damaged
        translate --input src.txt hello                      | translate one or the other
        translate --resume hello                             | name it with --output
        translate --alignments hello                         | of the JSON output: add --json
        translate --output dir hello                         | is a directory
        translate --output nowhere/out.txt hello             | there is no directory nowhere
        translate --output file/out.txt hello                | file
        translate --output /proc/out.txt hello               | /proc/out.txt
        translate --output /proc/self/mem/x hello            | /proc/self/mem
        translate --output {long} hello                      | File name too long
        translate --output {nul} hello                       | NUL
        translate --output "" hello                          | directory
        translate --output /dev/full hello                   | No space left
        translate --output out.txt --resume --n-best 2 hello | with --n-best, add --json
        translate --output /dev/null --resume hello          | cannot be resumed
        translate --engine marian hello                      | --engine
        translate --device gpu hello                         | --device
        score missing.txt tgt.txt                            | there is no file missing.txt
        score src.txt missing.txt                            | there is no file missing.txt
        score src.txt short.txt                              | must be line-aligned
        score src.txt dir                                    | is a directory
        score src.txt src.txt                                | given for both sides
        score - -                                            | standard input
        score empty.txt empty2.txt                           | there are no sentence pairs
        score src.txt binary.bin                             | is not UTF-8
        score {long} tgt.txt                                 | File name too long
        score {nul} tgt.txt                                  | NUL
        evaluate missing.txt tgt.txt                         | there is no file missing.txt
        evaluate src.txt missing.txt                         | there is no file missing.txt
        evaluate src.txt short.txt                           | line
        evaluate src.txt dir                                 | dir
        evaluate empty.txt empty2.txt                        | empty
        evaluate - -                                         | standard input
        evaluate src.txt binary.bin                          | binary.bin
        evaluate src.txt tgt.txt --ref missing.txt           | missing.txt
        evaluate src.txt tgt.txt --ref short.txt             | short.txt
        evaluate src.txt tgt.txt --translations missing.txt  | missing.txt
        evaluate src.txt tgt.txt --translations short.txt    | short.txt
        evaluate src.txt tgt.txt --translations tgt.txt --model model | leave out --model
        evaluate src.txt tgt.txt --translations tgt.txt --against missing.txt | missing.txt
        evaluate src.txt tgt.txt --translations tgt.txt --against dir | dir
        evaluate src.txt tgt.txt --output dir                | dir
        evaluate src.txt tgt.txt --output file/out           | file
        evaluate src.txt tgt.txt --output nowhere/out        | nowhere
        evaluate src.txt tgt.txt --output /proc/out          | /proc
        evaluate src.txt tgt.txt --output src.txt            | src.txt
        evaluate src.txt tgt.txt --output {long}             | File name too long
        evaluate src.txt tgt.txt --record dir                | dir
        evaluate src.txt tgt.txt --record file/out.json      | file
        evaluate src.txt tgt.txt --record nowhere/out.json   | nowhere
        evaluate src.txt tgt.txt --record tgt.txt            | tgt.txt
        evaluate src.txt tgt.txt --record /proc/out.json     | /proc
        evaluate src.txt tgt.txt --record {nul}              | NUL
        evaluate src.txt tgt.txt --title mine                | --record
        evaluate src.txt tgt.txt --card                      | --model
        evaluate src.txt tgt.txt --language klingon          | klingon
        explain ""                                           | there is no word to explain
        explain {word}                                       | at most 256
        explain {words} --seed 1                             | at most 256
        explain hello --from absent                          | absent
        explain hello --target x --seed 1 --model model      | --seed
        explain hello --kind cross --target {words}          | at most 256
    """,
    "models": """
        translate --model missing hello                      | missing
        translate --model file hello                         | file
        translate --model file/x hello                       | file/x
        translate --model dir hello                          | dir
        translate --model full hello                         | full
        translate --model hf-other hello                     | of type 'bert': only marian
        translate --model hf-huge hello                      | --from huggingface hf-huge OUT
        translate --model begun hello                        | begun is a run that has no model yet
        translate --model {long} hello                       | File name too long
        translate --model {nul} hello                        | NUL
        translate --model "" hello                           | config.json
        score src.txt tgt.txt --model missing                | missing
        score src.txt tgt.txt --model file                   | file
        evaluate src.txt tgt.txt --model missing             | missing
        evaluate src.txt tgt.txt --model full                | full
        evaluate src.txt tgt.txt --against full              | full
        explain hello --model missing                        | missing
        explain hello --model full                           | full
        info missing                                         | missing
        info file                                            | file
        info file/x                                          | file/x
        info dir                                             | dir
        info full                                            | full
        info {long}                                          | File name too long
        info {nul}                                           | NUL
        info model --output curve.svg                        | is not a run
        info run --output curve.txt                          | curve.txt
        info run --output nowhere/curve.svg                  | nowhere
        info run --output file/curve.svg                     | file
        info run --output /proc/curve.svg                    | /proc
        info run --output dir                                | dir
        average missing                                      | is not a run
        average file                                         | is not a run
        average dir                                          | is not a run
        average model                                        | is not a run
        average {long}                                       | File name too long
        average run --output full                            | is not empty
        average run --output file                            | file
        average run --output file/out                        | + file
        average run --output /proc/out                       | + /proc
        average run --output {long}                          | + File name too long
        average run --note missing.md                        | missing.md
        average run --note dir                               | dir
        average run --note binary.bin                        | binary.bin
        import --from fairseq hf out                          | --from
        import --from huggingface missing out                | missing
        import --from huggingface file out                   | file
        import --from huggingface dir out                    | dir
        import --from huggingface full out                   | full
        import --from huggingface hf-broken out              | hf-broken
        import --from marian hf-broken out                   | hf-broken has no file of weights
        import --from marian missing out                     | no directory missing
        translate --to xx hello                              | 'xx'; bundled: en-de, de-en
        translate --to de --model model hello                | leave out --to or --model
        translate --model xx-yy hello                        | bundled model; bundled: en-de, de-en
        translate --model hf:name hello                      | hf:name is not hf:ORG/NAME
        info hf:../../x                                      | hf:../../x is not hf:ORG/NAME
        import --from huggingface hf-deep out                | nested too deeply
        import --from huggingface hf-other out               | hf-other
        import --from huggingface hf-empty out               | hf-empty
        import --from huggingface hf-huge out                | hf-huge
        import --from huggingface model full                 | is not empty
        import --from huggingface {nul} out                  | NUL
        export --to onnx out --model model                   | --to
        export --to huggingface out --model missing          | missing
        export --to huggingface out --model full             | full
        export --to huggingface full --model model           | is not empty
        export --to huggingface file --model model           | file
        export --to huggingface file/out --model run/model   | file
        export --to huggingface /proc/out --model run/model  | /proc
        export --to huggingface {long} --model model         | File name too long
        export --to ctranslate2 out --model missing          | missing
        export --to ctranslate2 file/out --model model       | file
        export --to ctranslate2 /proc/out --model model      | /proc
        export --to ctranslate2 full --model model           | is not empty
        export --to ctranslate2 out --model model --sentences missing.txt | missing.txt
        export --to ctranslate2 out --model model --sentences dir | dir
        export --to huggingface out --model model --sentences binary.bin | binary.bin
        paper figure1 --output f.txt                         | f.txt
        paper figure1 --output f                             | f
        paper figure1 --output dir                           | dir
        paper figure1 --output nowhere/f.svg                 | nowhere
        paper figure1 --output file/f.svg                    | file
        paper figure1 --output /proc/f.svg                   | /proc
        paper figure1 --output {long}.svg                    | File name too long
        paper figure1 --output {nul}.svg                     | NUL
        bench translate --model missing                      | missing
        bench translate --model full                         | full
        bench translate --model model --against marian       | marian
        bench translate --model model --input missing.txt    | missing.txt
        bench translate --model model --input src.txt --ref short.txt | short.txt
        bench translate --model model --output file/out      | file
    """,
}
