// A guided tour of one sentence, from embedding to softmax, in the paper's symbols.

import {html} from "./dom.js";
import {set, state} from "./state.js";

/* Section of the paper, heading, text, and what is shown beside it. */
const STOPS = [
  ["§3.4", "Embeddings", "The sentence is cut into tokens, pieces of words from a vocabulary shared by both languages; its end is a token too. Learned embeddings convert the tokens to vectors of dimension d_model, multiplied by √d_model: every row here is one token.", {view: "positions", input: "embeddings", kind: "encoder", pin: "k2", cell: ""}],
  ["§3.5", "Positional encoding", "The model contains no recurrence and no convolution, so it would not know the order of the tokens. Positional encodings of the same dimension, sines and cosines of different frequencies, are added to the embeddings: every row here is one position.", {view: "positions", input: "positions", kind: "encoder", pin: "k2"}],
  ["§3.2.1", "Scaled dot-product attention", "Attention(Q, K, V) = softmax(QKᵀ/√d_k)V. The dot products of a query q with all keys k are divided by √d_k, the softmax makes them weights, and the output is the sum of the values v by these weights. Without 1/√d_k large products would push the softmax into regions where it has extremely small gradients.", {view: "equation", kind: "encoder", layer: 1, head: 1, pin: "q2", cell: ""}],
  ["§3.2.2", "Multi-head attention", "MultiHead(Q, K, V) = Concat(head_1, …, head_h)W^O. The h heads attend in parallel, each with its own projections of queries, keys and values to d_k = d_model/h dimensions. Below each is what it does in this sentence: some look at the previous token, others at the end of the sentence.", {view: "heads", kind: "encoder", layer: 0, head: 0, unit: "pieces", cell: ""}],
  ["§3.1, §3.3", "The encoder", "A layer has two sub-layers: self-attention, and a position-wise feed-forward network, FFN(x) = max(0, xW_1 + b_1)W_2 + b_2. Around each is a residual connection and layer normalization: LayerNorm(x + Sublayer(x)). Here are all layers and heads together: every position can attend to all positions of the layer before.", {view: "ribbon", kind: "encoder", layer: 0, head: 0, unit: "words", pin: "q2"}],
  ["§3.2.3", "Masked self-attention", "The decoder is auto-regressive: it writes from left to right and reads what it has written. Its self-attention must not see what comes later, so above the diagonal all inputs of the softmax are set to −∞.", {view: "heads", kind: "decoder", layer: 1, head: 1, unit: "pieces", pin: "q1", step: 1}],
  ["§3.2.3", "Encoder–decoder attention", "The queries come from the decoder, the keys and values from the output of the encoder. So every position of the decoder can attend to all positions of the source: this is where the two languages meet.", {view: "ribbon", kind: "cross", layer: 0, head: 0, unit: "words", pin: "q1", step: 1}],
  ["§3.4", "Linear transformation and softmax", "The output of the decoder is multiplied by the embeddings of all tokens, the same matrix as at the beginning, and the softmax converts these products to the probabilities of the next token. Choose a runner-up: the model goes on as if it had written that.", {view: "steps", kind: "cross", pin: "q1", step: 1}],
  ["§6.1", "Beam search", "Wanted is the likeliest translation, not the likeliest token of each step. Beam search keeps the 4 best partial translations, and divides the log-probability of a finished one by the length penalty ((5 + n)/6)^α, where n is its length and α = 0.6.", {view: "beam", beam: 4, alpha: .6}],
];

/** A text whose d_k and W^O are set as in the paper. */
const typeset = text => text.split(/([_^][\p{L}\p{N}]+)/u).map((part, i) => i % 2 ? html(part[0] === "_" ? "sub" : "sup", {}, part.slice(1)) : part);

export const goTo = number => set({tour: number, ...(number ? STOPS[number - 1][3] : {})});

/** The panel of the present stop, or nothing. */
export function tourPanel() {
  const number = Number(state.tour);
  if (!number || number > STOPS.length) return [];
  const [section, heading, text] = STOPS[number - 1];
  const button = (label, target, strong) => html("button", {type: "button", class: `plain${strong ? " strong" : ""}`, onclick: () => goTo(target)}, label);
  return [html("aside", {class: "tour", "aria-label": "Guided tour"},
    html("p", {class: "muted"}, `${number} of ${STOPS.length} · ${section}`),
    html("h2", {}, heading), html("p", {}, ...typeset(text)),
    html("div", {class: "tour-foot"}, number > 1 && button("Back", number - 1), number < STOPS.length ? button("Next", number + 1, true) : button("Done", 0, true),
      html("span", {class: "spread"}), number < STOPS.length && button("End the tour", 0)))];
}
