// Beam search as a lattice: what was kept, what was pruned, and the length penalty.

import {html, svg, textWidth} from "./dom.js";
import {drawing} from "./figure.js";
import {readable} from "./pair.js";
import {set, state} from "./state.js";

const ROW = 34, SIZE = 14, MINUS = "−";
const END = "</s>";

export const title = "Beam";
const hint = "Columns are steps, best partial translations above; pale ones were pruned. Slide α to see which finished translation the length penalty prefers.";
export const uses = [];
export const needs = "beam";

/** The score of a finished hypothesis: log P ÷ ((5 + length) / 6)^α. */
const score = (node, alpha) => node.total / ((5 + node.length) / 6) ** alpha;
const number = value => value.toFixed(2).replace("-", MINUS);

export function draw(box, {beam, say}) {
  const nodes = beam.nodes.map((node, index) => ({...node, index, name: node.text === END ? "■" : readable(node.text)}));
  const columns = [];
  for (const node of nodes) (columns[node.length - 1] ??= []).push(node);
  let x = 16;
  for (const column of columns) {
    column.sort((a, b) => b.total - a.total);
    const wide = Math.max(...column.map(node => textWidth(node.name, SIZE))) + 18;
    column.forEach((node, row) => Object.assign(node, {x, y: 26 + row * ROW, wide: textWidth(node.name, SIZE) + 18}));
    x += wide + 44;
  }
  const edges = nodes.map(node => {
    const parent = nodes[node.parent], [x1, y1] = parent ? [parent.x + parent.wide, parent.y] : [4, 26];
    const middle = (x1 + node.x) / 2;
    return svg("path", {d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${node.y} ${node.x} ${node.y}`, class: `edge-line ${node.state}`});
  });
  const labels = nodes.map(node => {
    const made = svg("g", {class: `node ${node.state}`, "data-node": node.index},
      svg("rect", {x: node.x, y: node.y - 13, width: node.wide, height: 26, rx: 6}),
      svg("text", {x: node.x + node.wide / 2, y: node.y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": SIZE}, node.name));
    made.addEventListener("pointerenter", () => tell(node));
    return made;
  });
  const high = Math.max(...columns.map(column => column.length)) * ROW + 30;
  const picture = drawing(x, high, "Lattice of the beam search", svg("g", {}, ...edges), ...labels);
  const finished = nodes.filter(node => node.text === END && node.state !== "pruned");
  const table = html("ol", {class: "hypotheses"});
  const slider = html("input", {type: "range", min: 0, max: 2, step: .05, value: state.alpha, id: "alpha", oninput: event => set({alpha: event.target.value})});
  const shown = html("output", {for: "alpha"});
  const width = html("select", {id: "beam-width", onchange: event => set({beam: event.target.value})},
    ...[1, 2, 4, 6, 8, 12, 16].map(size => html("option", {value: size, selected: size === beam.beam}, String(size))));

  function path(node) {
    const found = [];
    for (let one = node; one; one = nodes[one.parent]) found.unshift(one);
    return found;
  }
  const text = node => path(node).filter(one => one.text !== END).map(one => one.text).join("").replaceAll("▁", " ").trim();
  const tell = node => say(`${text(node)}: log p of the token ${number(node.log_prob)}, of all ${number(node.total)}, with the penalty ${number(score(node, state.alpha))}${node.state === "pruned" ? " (pruned)" : ""}`);

  function rank() {
    const alpha = Number(state.alpha);
    slider.value = alpha;
    shown.textContent = `α = ${alpha.toFixed(2)}`;
    const ranked = finished.toSorted((a, b) => score(b, alpha) - score(a, alpha));
    const best = new Set(ranked.length ? path(ranked[0]).map(node => node.index) : []);
    labels.forEach((label, i) => label.classList.toggle("first", best.has(i)));
    edges.forEach((edge, i) => edge.classList.toggle("first", best.has(i)));
    table.replaceChildren(...ranked.map((node, i) => html("li", {class: i ? "" : "first"},
      html("span", {class: "hypothesis"}, text(node)),
      html("span", {class: "muted"}, `log P ${number(node.total)}, ${node.length} tokens, score ${number(score(node, alpha))}`))));
  }

  box.replaceChildren(
    html("div", {class: "scrubber"}, html("label", {for: "alpha", class: "muted"}, "length penalty"), slider, shown,
      html("label", {for: "beam-width", class: "muted"}, "beam"), width),
    html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Lattice"}, picture), table);
  rank();
  say(hint);
  return {picture, update: names => { if (names.has("alpha")) rank(); }};
}
