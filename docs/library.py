"""The library in a few steps: `python docs/library.py [RUN]`, by default with the bundled model.

The cells, marked by `# %%`, also run one by one in a notebook.
"""

# %% Translate one text or several; keywords change the search of §6.1.
import sys

from transduce import Translator

directory = sys.argv[1] if len(sys.argv) > 1 else None
translator = Translator.load(directory)
print(translator)
print(translator.translate("How are you?"))
print(translator.translate(["How are you?", "Good morning."], beam=1))

# %% Scores, flags and alternatives. pandas.DataFrame(results) makes a table of them.
results = translator.results(["How are you?", "Good morning."], beam=5, n_best=3)
for result in results:
    print(f"{result.text} → {result.translation} ({result.score:.2f}) {' '.join(result.flags)}")
    for alternative in result.alternatives[1:]:
        print(f"    or {alternative.translation} ({alternative.score:.2f})")

# %% Attention weights: which source word each target word looks at most, in the last layer.
attention = translator.attention("How are you?").by_word()
weights = attention.cross[-1].mean(axis=0)  # [layer, head, target, source] → [target, source]
for word, row in zip(attention.target, weights, strict=True):
    print(f"after {word!r}: {attention.source[row.argmax()]!r} {row.max():.2f}")

# %% The network itself: the log-probability of a given translation.
import torch  # noqa: E402

from transduce import load  # noqa: E402

model, tokenizer = load(directory)
bos, eos = model.config.bos_id, model.config.eos_id
source = torch.tensor([[*tokenizer.encode("How are you?"), eos]])
(ids,) = tokenizer.encode_targets(["Wie geht es dir?"])
target = torch.tensor([[bos, *ids]])  # the decoder's inputs are its outputs offset by one
with torch.inference_mode():
    log_probs = model(source, target).log_softmax(-1)[0]
wanted = torch.tensor([*ids, eos])
log_prob = log_probs[torch.arange(len(wanted)), wanted].sum().item()
print(f"log p = {log_prob:.3f}, as `score` says:")
print(sum(translator.score(["How are you?"], ["Wie geht es dir?"])[0] or ()))

# %% A new network: the paper's base model, with any settings of Table 3.
from transduce import ModelConfig, Transformer  # noqa: E402

base = Transformer(ModelConfig.base(vocab_size=8000))
print(repr(base).splitlines()[1].strip())
