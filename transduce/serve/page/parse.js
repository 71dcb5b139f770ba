// The Parse tab: the constituents of a sentence as a tree.

import {newest, post} from "./api.js";
import {byId, html, svg, textWidth} from "./dom.js";
import {drawing, savePng, saveSvg} from "./figure.js";
import {set, state} from "./state.js";

const SIZE = 15, LEVEL = 56, GAP = 18;

/** A tree {label, children} of a bracketed one; words are leaves without children. */
export function readTree(text) {
  const parts = text.match(/[()]|[^\s()]+/g) || [];
  let at = 0;
  const read = () => {
    if (parts[at] !== "(") return {label: parts[at++], children: []};
    at++;
    const node = {label: parts[at] === "(" ? "" : parts[at++], children: []};
    while (at < parts.length && parts[at] !== ")") node.children.push(read());
    at++;
    return node;
  };
  return read();
}

function drawTree(tree) {
  const nodes = [];
  let right = 0, deepest = 0;
  (function place(node, level) {
    deepest = Math.max(deepest, level);
    node.level = level;
    node.wide = textWidth(node.label, SIZE) + 10;
    if (node.children.length) {
      for (const child of node.children) place(child, level + 1);
      node.x = (node.children[0].x + node.children.at(-1).x) / 2;
    } else {
      node.x = right + node.wide / 2;
      right += node.wide + GAP;
    }
    nodes.push(node);
  })(tree, 0);
  const y = node => 24 + LEVEL * (node.children.length ? node.level : deepest);
  const lines = nodes.flatMap(node => node.children.map(child => svg("path", {class: "branch", d: `M${node.x} ${y(node) + 12}L${child.x} ${y(child) - 14}`})));
  return drawing(Math.max(right, 80), y({children: [], level: 0}) + 24, "Tree", ...lines,
    ...nodes.map(node => svg("text", {x: node.x, y: y(node), "text-anchor": "middle", "dominant-baseline": "central", "font-size": SIZE, class: node.children.length ? "symbol" : "leaf"}, node.label)));
}

export function startParse() {
  const status = byId("parse-state"), box = byId("parse-figure"), field = byId("parse-text");
  const parse = newest((signal, q) => post("parse", {q}, signal), found => {
    status.className = "state";
    status.textContent = found ? "" : "The sentence is too long for this model.";
    if (!found) return box.replaceChildren();
    const picture = drawTree(readTree(found.tree));
    return box.replaceChildren(html("div", {class: "scroll"}, picture), html("p", {class: "muted brackets"}, found.tree),
      html("button", {type: "button", class: "plain", onclick: () => saveSvg(picture, "tree")}, "SVG"),
      html("button", {type: "button", class: "plain", onclick: () => savePng(picture, "tree")}, "PNG"));
  }, error => { status.className = "state bad"; status.textContent = error.message; });
  byId("parse-form").addEventListener("submit", event => {
    event.preventDefault();
    if (!field.value.trim()) return;
    status.className = "state busy";
    status.textContent = "Parsing …";
    set({q: field.value});
    parse(field.value);
  });
  field.value = state.q;
  if (state.tab === "parse" && state.q) parse(state.q);
}
