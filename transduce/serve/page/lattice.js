// Beam search as a lattice: what was kept, what was pruned, and the length penalty.

import {html, svg, textWidth} from "./dom.js";
import {arrowKeys, asButton, drawing} from "./figure.js";
import {decodeBytes, readable} from "./pair.js";
import {selectStep, set, state} from "./state.js";

const ROW = 46, TOP = 50, SIZE = 14, SMALL = 11, MINUS = "−";
const END = "</s>";

export const title = "Beam";
const hint = "Columns are steps, the likeliest partial translations above, each token with the log-probability of all up to it; those without a frame were pruned, ■ is the end. Slide α to see which finished translation the length penalty prefers.";
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
    column.forEach((node, row) => Object.assign(node, {x, y: TOP + row * ROW, wide: Math.max(textWidth(node.name, SIZE), textWidth(number(node.total), SMALL)) + 18}));
    x += Math.max(...column.map(node => node.wide)) + 40;
  }
  const edges = nodes.map(node => {
    const parent = nodes[node.parent], [x1, y1] = parent ? [parent.x + parent.wide, parent.y] : [4, TOP];
    const middle = (x1 + node.x) / 2;
    return svg("path", {d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${node.y} ${node.x} ${node.y}`, class: `edge-line ${node.state}`});
  });
  const labels = nodes.map(node => {
    const made = svg("g", {class: `node ${node.state}`, "data-node": node.index, "aria-description": `${text(node)}, ${node.state}`},
      svg("rect", {x: node.x, y: node.y - 18, width: node.wide, height: 37, rx: 6}),
      svg("text", {x: node.x + node.wide / 2, y: node.y - 6, "text-anchor": "middle", "dominant-baseline": "central", "font-size": SIZE}, node.name),
      svg("text", {x: node.x + node.wide / 2, y: node.y + 10, "text-anchor": "middle", "dominant-baseline": "central", "font-size": SMALL, class: "faint"}, number(node.total)));
    for (const name of ["pointerenter", "focus"]) made.addEventListener(name, () => tell(node));
    for (const name of ["pointerleave", "blur"]) made.addEventListener(name, () => tell(null));
    return asButton(made, "", () => selectStep(node.length - 1));
  });
  const heads = columns.map(([first], i) => svg("text", {x: first.x + 9, y: 14, class: "faint small", "data-column": i}, String(i + 1)));
  const high = TOP + Math.max(...columns.map(column => column.length)) * ROW - 20;
  const picture = drawing(x, high, "Lattice of the beam search", svg("g", {}, ...edges), ...heads, ...labels);
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
  function text(node) {
    const words = decodeBytes(path(node).filter(one => one.text !== END).map(one => one.text).join("")).replaceAll("▁", " ").trim();
    return node.text === END ? `${words} ■` : words;
  }

  /** Marks the way to a node and says its scores. */
  function tell(node) {
    const way = new Set(node ? path(node).map(one => one.index) : []);
    for (const parts of [labels, edges]) parts.forEach((part, i) => part.classList.toggle("way", way.has(i)));
    say(node ? `${text(node)}: log-probability of the token ${number(node.log_prob)}, of all ${number(node.total)}, score with the length penalty ${number(score(node, state.alpha))}${node.state === "pruned" ? "; pruned" : ""}` : hint);
  }

  const showStep = () => heads.forEach((head, i) => head.classList.toggle("strong", i === Number(state.step)));

  function rank() {
    const alpha = Number(state.alpha);
    slider.value = alpha;
    shown.textContent = `α = ${alpha.toFixed(2)}`;
    const ranked = finished.toSorted((a, b) => score(b, alpha) - score(a, alpha));
    const best = new Set(ranked.length ? path(ranked[0]).map(node => node.index) : []);
    labels.forEach((label, i) => label.classList.toggle("first", best.has(i)));
    edges.forEach((edge, i) => edge.classList.toggle("first", best.has(i)));
    table.replaceChildren(...ranked.map((node, i) => html("li", {class: i ? "" : "first"},
      html("span", {class: "hypothesis", dir: "auto"}, text(node).slice(0, -2)),
      html("span", {class: "muted"}, `log P ${number(node.total)}, ${node.length} tokens, score ${number(score(node, alpha))}`))));
  }

  box.replaceChildren(
    html("div", {class: "scrubber"}, html("label", {for: "alpha", class: "muted"}, "length penalty"), slider, shown,
      html("label", {for: "beam-width", class: "muted"}, "beam"), width),
    html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Lattice"}, picture), table);
  rank();
  arrowKeys(picture, ".node", ".first");
  showStep();
  say(hint);
  return {picture, update: names => { if (names.has("alpha")) rank(); if (names.has("step")) showStep(); }};
}
