// Equation 1 with the numbers of one cell: from q·k to the softmax and the output.

import {capitalised, html, percent, svg, textWidth} from "./dom.js";
import {contentWidth, drawing, matrixImage} from "./figure.js";
import {readable} from "./pair.js";
import {numbers, select, state} from "./state.js";

const ROW = 30, WIDEST = 1000, NARROW = 560;
const number = value => value.toFixed(2).replace("-", "−");

export const title = "Equation";
const hint = "Attention(Q, K, V) = softmax(QKᵀ/√dₖ)V, for one query and one key of one head.";
export const uses = ["kind", "layer", "head"];
export const needs = "explain";

/** The chosen cell of tokens; without one, the strongest of the selected token, or of the second query. */
export function cellOf(pair) {
  const {weights} = pair.matrix(state.kind, Math.max(1, +state.layer), Math.max(1, +state.head), "pieces");
  const [query, key] = numbers(state.cell), side = state.pin[0], at = Number(state.pin.slice(1));
  const strongest = row => row.indexOf(Math.max(...row));
  if (query < weights.length && key < weights[0].length) return [query, key];
  if (side === "k" && at < weights[0].length) return [strongest(weights.map(row => row[at])), at];
  const row = side === "q" && at < weights.length ? at : Math.min(1, weights.length - 1);
  return [row, strongest(weights[row])];
}

export function draw(box, {pair, explain, say}) {
  const [query, key] = cellOf(pair), {d_k: size} = explain;
  const queries = pair.sides[state.kind][0].tokens.map(readable), keys = explain.keys.map(readable);
  const choice = (label, names, index, choose) => html("label", {class: "muted"}, `${label} `, html("select", {onchange: event => choose(event.target.value)},
    ...names.map((name, i) => html("option", {value: i, selected: i === index}, name))));
  const controls = html("div", {class: "scrubber"}, choice("query", queries, query, value => select(`q${value}`, {cell: `${value},${key}`})), choice("key", keys, key, value => select(`q${query}`, {cell: `${query},${value}`})));

  const room = Math.max(280, contentWidth(box)), narrow = room < NARROW, width = Math.min(WIDEST, room);
  const left = narrow ? 64 : 96, long = narrow ? width - left - 2 : width - left - 330; // of a strip
  const picture = drawing(width, 10, "Equation 1");
  let y = 30;
  const write = (x, text, attributes = {}) => picture.append(svg("text", {x, y, "dominant-baseline": "central", ...attributes}, text));
  const strip = (name, values, note) => {
    const most = Math.max(...values.map(Math.abs), 1e-9);
    write(0, name, {class: "symbol"});
    picture.append(svg("rect", {x: left - .5, y: y - 9.5, width: long + 1, height: 19, class: "edge"}),
      matrixImage([values], {x: left, y: y - 9, width: long, height: 18, shade: value => value / most}));
    if (narrow) y += 22;
    write(narrow ? left : left + long + 14, note, {class: "faint small"});
    y += ROW;
  };
  strip("q", explain.q, `query, ${queries[query]}`);
  strip("k", explain.k, `key, ${keys[key]}`);
  strip("q ∘ k", explain.q.map((value, i) => value * explain.k[i]), `Σ = q·k${explain.products ? ` = ${number(explain.products[key])}` : ""}`);
  y += 12;
  if (explain.products) write(0, `q·k / √dₖ  =  ${number(explain.products[key])} / √${size}  =  ${number(explain.scores[key])}`, {class: "symbol"});
  else write(0, `score  =  ${number(explain.scores[key])}`, {class: "symbol"});
  y += 42;
  write(0, "softmax over all keys", {class: "faint small"});
  y += 26;
  const label = Math.max(...keys.map(name => textWidth(name, 14))) + 16, full = Math.min(long, width - label - 130);
  explain.weights.forEach((weight, i) => {
    const seen = explain.visible[i];
    write(label - 10, keys[i], {"text-anchor": "end", "font-size": 14, class: i === key ? "strong" : seen ? "" : "faint"});
    write(label + 60, seen ? number(explain.scores[i]) : "−∞", {"text-anchor": "end", class: "faint small"});
    picture.append(svg("rect", {x: label + 74, y: y - 8, width: Math.max(1, full * weight), height: 16, rx: 3, class: i === key ? "bar" : "bar other"}));
    write(label + 82 + full * weight, seen ? percent(weight) : "masked", {class: "faint small"});
    y += 25;
  });
  y += 20;
  strip("v", explain.v, `value of ${keys[key]}, weighted ${percent(explain.weights[key])}`);
  strip("Σ wᵢ vᵢ", explain.output, "output of the head for this query");
  write(narrow ? 0 : left, `blue is positive, orange negative${narrow ? "" : "; each strip by its own largest value"}`, {class: "faint small"});
  picture.setAttribute("viewBox", `0 0 ${width} ${y + 14}`);
  picture.setAttribute("height", y + 14);
  box.replaceChildren(controls, html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Equation 1"}, picture));
  say(`${hint} ${capitalised(explain.title)}.`);
  return {picture};
}
