// Every head of every layer as a small matrix with its role; the chosen one enlarged.

import {html, percent, svg, textWidth} from "./dom.js";
import {asButton, drawing, matrixImage} from "./figure.js";
import {KINDS} from "./pair.js";
import {rolesOf} from "./roles.js";
import {ribbon} from "./ribbon.js";
import {set, state} from "./state.js";

const THUMB = 84, GAP = 14, ROLE = 18, COLUMNS = 400;

export const title = "Heads";
export const hint = "Rows are layers, columns heads; below each what it mostly attends to in this sentence: the previous, same or next token, the start or end of the sentence, punctuation, distant tokens, certain words (content), or everything (broad). Choose one to enlarge it.";
export const uses = ["kind", "unit", "off", "layer", "head"];

export function draw(box, {pair, say}) {
  const enlarged = +state.layer && +state.head;
  const small = atlas(pair), parts = [html("div", {class: "scroll"}, small)];
  if (enlarged) {
    const picture = heatMap(pair, say);
    const lines = ribbon(pair, say, COLUMNS, true);
    parts.unshift(html("div", {class: "scroll enlarged"}, picture, lines.picture));
    box.replaceChildren(...parts);
    say(told());
    return {picture, update: lines.update};
  }
  box.replaceChildren(...parts);
  say(hint);
  return {picture: small};
}

function atlas(pair) {
  const kind = state.kind, roles = rolesOf(pair, kind), heads = pair.heads(kind), left = 62;
  const picture = drawing(left + heads * (THUMB + GAP), 26 + roles.length * (THUMB + GAP + ROLE), `All heads: ${KINDS[kind]}`);
  for (let head = 0; head < heads; head++)
    picture.append(svg("text", {x: left + head * (THUMB + GAP) + THUMB / 2, y: 14, "text-anchor": "middle", class: "faint small"}, `head ${head + 1}`));
  roles.forEach((row, layer) => {
    const y = 26 + layer * (THUMB + GAP + ROLE);
    picture.append(svg("text", {x: 0, y: y + THUMB / 2, "dominant-baseline": "central", class: "faint small"}, `layer ${layer + 1}`));
    row.forEach((role, head) => {
      const x = left + head * (THUMB + GAP), {weights} = pair.matrix(kind, layer + 1, head + 1, state.unit);
      const chosen = +state.layer === layer + 1 && +state.head === head + 1;
      const off = state.off.split(",").includes(`${kind[0]}${layer + 1}.${head + 1}`);
      const node = svg("g", {class: `thumb${chosen ? " on" : ""}${off ? " off" : ""}`, "data-head": `${layer + 1}.${head + 1}`},
        svg("rect", {x: x - 3, y: y - 3, width: THUMB + 6, height: THUMB + 6, rx: 5}),
        matrixImage(weights, {x, y, width: THUMB, height: THUMB}),
        svg("text", {x: x + THUMB / 2, y: y + THUMB + 15, "text-anchor": "middle", class: "role"}, off ? "switched off" : role));
      picture.append(asButton(node, `Layer ${layer + 1}, head ${head + 1}: ${role}`, () => set({layer: layer + 1, head: head + 1})));
    });
  });
  return picture;
}

const told = () => `${KINDS[state.kind]}, layer ${state.layer}, head ${state.head}. Point at a cell to read its weight, click it for the equation.`.replace(/^./, first => first.toUpperCase());

/** One head, with words, and a click for the equation of a cell. */
export function heatMap(pair, say) {
  const {queries, keys, weights} = pair.matrix(state.kind, +state.layer, +state.head, state.unit);
  const cell = Math.max(16, Math.min(34, 560 / Math.max(keys.length, queries.length)));
  const left = Math.max(...queries.map(word => textWidth(word, 14))) + 14, top = Math.max(...keys.map(word => textWidth(word, 14))) * .72 + 26;
  const wide = keys.length * cell, high = queries.length * cell;
  const frame = svg("rect", {width: cell, height: cell, class: "frame", visibility: "hidden"});
  const row = svg("rect", {x: left, width: wide, height: cell, class: "band", visibility: "hidden"});
  const column = svg("rect", {y: top, width: cell, height: high, class: "band", visibility: "hidden"});
  const surface = svg("rect", {x: left, y: top, width: wide, height: high, class: "surface"});
  const picture = drawing(left + wide + 60, top + high + 8, `Layer ${state.layer}, head ${state.head}: rows are queries, columns keys`,
    svg("rect", {x: left - .5, y: top - .5, width: wide + 1, height: high + 1, class: "edge"}),
    matrixImage(weights, {x: left, y: top, width: wide, height: high}),
    ...queries.map((word, i) => svg("text", {x: left - 8, y: top + (i + .5) * cell, "text-anchor": "end", "dominant-baseline": "central", "font-size": 14, "data-row": i}, word)),
    ...keys.map((word, j) => svg("text", {transform: `translate(${left + (j + .5) * cell + 4} ${top - 8}) rotate(-45)`, "font-size": 14, "data-column": j}, word)),
    row, column, frame, surface);

  let at = [-1, -1];
  function point(i, j) {
    at = [i, j];
    const shown = i >= 0 && i < queries.length && j >= 0 && j < keys.length;
    for (const mark of [frame, row, column]) mark.setAttribute("visibility", shown ? "visible" : "hidden");
    if (!shown) return say(told());
    for (const mark of [frame, column]) mark.setAttribute("x", left + j * cell);
    for (const mark of [frame, row]) mark.setAttribute("y", top + i * cell);
    return say(`${queries[i]} attends to ${keys[j]}: ${percent(weights[i][j])}`);
  }
  const choose = () => {
    if (at[0] < 0) return;
    const [query, key] = pair.sides[state.kind], starts = (side, index) => state.unit === "pieces" ? index : side.starts[index];
    set({view: "equation", cell: `${starts(query, at[0])},${starts(key, at[1])}`});
  };
  surface.addEventListener("pointermove", event => {
    const corner = surface.getBoundingClientRect();
    point(Math.floor((event.clientY - corner.top) / corner.height * queries.length), Math.floor((event.clientX - corner.left) / corner.width * keys.length));
  });
  surface.addEventListener("pointerleave", () => point(-1, -1));
  asButton(surface, "Weights; arrow keys move, Enter shows the equation", choose);
  surface.addEventListener("keydown", event => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
    point(clamp(at[0] + step[0], queries.length), clamp(at[1] + step[1], keys.length));
  });
  point(-1, -1);
  return picture;
}
