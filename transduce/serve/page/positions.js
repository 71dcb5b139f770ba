// §3.4, §3.5: what the first layer reads: embeddings, and the sinusoids that say where a token stands.

import {html, svg, textWidth} from "./dom.js";
import {contentWidth, drawing, matrixImage} from "./figure.js";
import {readable} from "./pair.js";
import {select, state} from "./state.js";

const ROW = 18, MOST = 48, NARROW = 560;

export const title = "Positions";
const HINTS = {
  embeddings: "Each row is the learned embedding of a token, times √d_model: the same token has the same row.",
  positions: "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same: each row is added to the embedding of its token.",
  sum: "Embedding and position added, as the first layer of the encoder reads them.",
};
const LEGEND = "Blue is positive, orange negative.";
export const uses = ["input"];

/** The encoding of a position, §3.5. */
const encoding = (position, size) => Float32Array.from({length: size}, (_, i) => {
  const angle = position / 10000 ** (2 * Math.floor(i / 2) / size);
  return i % 2 ? Math.cos(angle) : Math.sin(angle);
});

export function draw(box, {pair, say}) {
  const {d_model: size, positions: kind} = pair.model, input = state.input in HINTS ? state.input : "positions", sines = input === "positions";
  const tokens = pair.source.tokens.map(readable), count = Math.min(MOST, sines ? Math.max(24, tokens.length) : tokens.length);
  const left = Math.max(...tokens.map(token => textWidth(token, 13))) + 38, room = contentWidth(box), narrow = room < NARROW;
  const embeddings = sines ? [] : pair.embeddings();
  const rows = Array.from({length: count}, (_, position) => {
    const place = encoding(position, size);
    return sines ? place : input === "sum" ? place.map((value, i) => value + embeddings[position][i]) : embeddings[position];
  });
  const largest = sines ? 1 : 2.5 * Math.sqrt(rows.flatMap(row => [...row]).reduce((sum, value) => sum + value * value, 0) / count / size);
  const wide = Math.max(200, Math.min(920, room - left - 8)), high = count * ROW, top = 34, below = top + high + 60;
  const selected = () => Math.min(count - 1, Number(state.kind === "encoder" || state.kind === "cross" && state.pin[0] === "k" ? state.pin.slice(1) : 0));
  const mark = svg("rect", {x: left - 1, width: wide + 2, height: ROW, class: "frame"}), curve = svg("path", {class: "curve"});
  const caption = svg("text", {x: narrow ? 0 : left, y: below - 14, class: "faint small"});
  const surface = svg("rect", {x: left, y: top, width: wide, height: high, class: "surface"});
  const picture = drawing(left + wide + 8, below + 144, "What the first layer reads",
    svg("text", {x: left, y: 18, class: "faint small"}, `even${narrow ? "" : ` dimensions, 0 to ${size - 2}`}${sines ? ": sine" : ""}`),
    svg("text", {x: left + wide / 2 + 6, y: 18, class: "faint small"}, `odd${narrow ? "" : ` dimensions, 1 to ${size - 1}`}${sines ? ": cosine" : ""}`),
    matrixImage(rows.map(row => [...row.filter((_, i) => i % 2 === 0), ...row.filter((_, i) => i % 2)]), {x: left, y: top, width: wide, height: high, shade: value => value / largest}),
    ...rows.map((_, position) => svg("text", {x: left - 34, y: top + (position + .5) * ROW, "text-anchor": "end", "dominant-baseline": "central", "font-size": 13}, tokens[position] ?? "")),
    ...rows.map((_, position) => svg("text", {x: left - 8, y: top + (position + .5) * ROW, "text-anchor": "end", "dominant-baseline": "central", class: "faint small"}, String(position))),
    mark, caption, svg("path", {d: `M${left} ${below + 100}h${wide}`, class: "axis"}), curve, surface,
    ...rows.map((_, position) => position % 4 ? null : svg("text", {x: left + (position + .5) / count * wide, y: below + 136, "text-anchor": "middle", class: "faint small"}, String(position))));

  function show(position) {
    mark.setAttribute("y", top + position * ROW);
    const products = rows.map(row => row.reduce((sum, value, i) => sum + value * rows[position][i], 0));
    const x = other => left + (other + .5) / count * wide, most = Math.max(...products);
    curve.setAttribute("d", products.map((value, other) => `${other ? "L" : "M"}${x(other).toFixed(1)} ${(below + 100 - 95 * value / most).toFixed(1)}`).join(""));
    caption.textContent = `dot product of ${sines ? `position ${position}` : `“${tokens[position]}”`} with every other${narrow || !sines ? "" : ": it depends on the distance alone"}`;
  }
  const point = event => {
    const corner = surface.getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor((event.clientY - corner.top) / corner.height * count)));
  };
  surface.addEventListener("pointermove", event => show(point(event)));
  const choose = position => select(`k${position}`, state.kind === "decoder" ? {kind: "cross"} : {});
  surface.addEventListener("pointerleave", () => show(selected()));
  surface.addEventListener("click", event => choose(point(event)));
  const move = event => {
    const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(count - 1, selected() + step)));
  };
  show(selected());
  box.replaceChildren(html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Encodings of positions; arrow keys choose one", onkeydown: move}, picture));
  say(`${kind === "sinusoidal" || input === "embeddings" ? HINTS[input] : `This model's positions are ${kind}; these are the paper's sinusoids for its d_model.`} ${LEGEND}`);
  return {picture, update: names => { if (names.has("pin")) show(selected()); }};
}
