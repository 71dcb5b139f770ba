// A guided tour of one sentence, from embedding to softmax, in the paper's symbols.

import {html} from "./dom.js";
import {set, state} from "./state.js";

/* Section of the paper, heading, text, and what is shown beside it. */
const STOPS = [
  ["§3.4", "Tokens and embeddings", "The sentence is cut into pieces of words from a vocabulary shared by both languages. Each piece becomes a vector of d_model numbers, its embedding, multiplied by √d_model. The end of the sentence is a token too.", {view: "ribbon", kind: "encoder", unit: "pieces", layer: 0, head: 0, pin: ""}],
  ["§3.5", "Positional encoding", "Attention itself does not know the order of its inputs. So a vector of sines and cosines is added to each embedding: every row here is one position. The dot product of two rows depends on their distance alone.", {view: "positions", step: 2}],
  ["§3.2.1", "Scaled dot-product attention", "Each position makes a query q, a key k and a value v. The weights of a query are softmax(q·k/√d_k) over all keys, and its output is the mean of the values by these weights. Large products would push the softmax to regions with tiny gradients; 1/√d_k counters that.", {view: "equation", kind: "encoder", layer: 1, head: 1, cell: ""}],
  ["§3.2.2", "Multi-head attention", "h heads do this in parallel, each with its own projections to d_k = d_model/h dimensions, and their outputs are joined by W^O. Each learns a task of its own: one looks at the previous token, another rests on the end of the sentence.", {view: "heads", kind: "encoder", layer: 0, head: 0, unit: "pieces"}],
  ["§3.1, §3.3", "The encoder", "A layer is self-attention and then a feed-forward network, max(0, xW₁ + b₁)W₂ + b₂, at each position. A residual connection and layer normalisation surround both. Here is the last layer: every position can attend to every other.", {view: "ribbon", kind: "encoder", layer: 0, head: 0, unit: "words", pin: "q1"}],
  ["§3.2.3", "Masked self-attention", "The decoder writes from left to right. Its self-attention sees only what is already written: above the diagonal the scores are set to −∞ before the softmax, so their weights are zero.", {view: "heads", kind: "decoder", layer: 1, head: 1, unit: "pieces"}],
  ["§3.2.3", "Attention over the encoder", "Queries come from the decoder, keys and values from the encoder. For each word that it writes, the decoder chooses what of the source to use: this is where the two languages meet.", {view: "ribbon", kind: "cross", layer: 0, head: 0, unit: "words", pin: "q1"}],
  ["§3.4", "Linear and softmax", "The last vector is multiplied by the embeddings of all tokens, and the softmax makes probabilities of these products. Choose a runner-up: the model continues as if it had written that.", {view: "steps", step: 1}],
  ["§6.1", "Beam search", "Not the best token of each step but the best whole translation is wanted. Beam search keeps the four best beginnings and divides the log-probability by the length penalty ((5 + n)/6)^α, with α = 0.6.", {view: "beam", alpha: .6}],
];

/** A text whose d_k and W^O are set as in the paper. */
const typeset = text => text.split(/([_^]\p{L}+)/u).map((part, i) => i % 2 ? html(part[0] === "_" ? "sub" : "sup", {}, part.slice(1)) : part);

const go = number => set({tour: number, ...(number ? STOPS[number - 1][3] : {})});

/** The panel of the present stop, or nothing. */
export function tourPanel() {
  const number = Number(state.tour);
  if (!number || number > STOPS.length) return [];
  const [section, heading, text, shown] = STOPS[number - 1];
  if (number === 1 && state.view !== shown.view) queueMicrotask(() => go(1));
  const button = (label, target, strong) => html("button", {type: "button", class: `plain${strong ? " strong" : ""}`, onclick: () => go(target)}, label);
  return [html("aside", {class: "tour", "aria-label": "Guided tour"},
    html("p", {class: "muted"}, `${number} of ${STOPS.length} · ${section}`),
    html("h2", {}, heading), html("p", {}, ...typeset(text)),
    html("div", {class: "tour-foot"}, number > 1 && button("Back", number - 1), number < STOPS.length ? button("Next", number + 1, true) : button("Done", 0, true),
      html("span", {class: "spread"}), number < STOPS.length && button("End the tour", 0)))];
}
