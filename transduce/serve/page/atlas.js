// Every head of every layer as a small matrix with its role; the chosen one enlarged.

import {capitalised, html, percent, svg, textWidth} from "./dom.js";
import {arrowKeys, asButton, contentWidth, drawing, matrixImage} from "./figure.js";
import {KINDS} from "./pair.js";
import {rolesOf} from "./roles.js";
import {ribbon} from "./ribbon.js";
import {select, set, state} from "./state.js";

const GAP = 14, ROLE = 18, COLUMNS = 400, LEFT = 62;
const SMALL = 84, LARGE = 104; // side of a small matrix

export const title = "Heads";
const hint = "Rows are layers, columns heads; below each what it mostly attends to in this sentence: the previous, same or next token, the start or end of the sentence, punctuation, distant tokens, certain words (content), or everything (broad). Choose one to enlarge it.";
export const uses = ["kind", "unit", "off", "layer", "head"];

export function draw(box, {pair, say}) {
  const enlarged = +state.layer && +state.head;
  const room = contentWidth(box), small = atlas(pair, room), parts = [html("div", {class: "scroll"}, small)];
  if (enlarged) {
    const {picture, rest} = heatMap(pair, say, room);
    const beside = room - picture.viewBox.baseVal.width - 3 * GAP;
    const lines = ribbon(pair, say, Math.min(COLUMNS, beside > COLUMNS / 2 ? beside : room), true);
    parts.unshift(html("div", {class: "scroll enlarged"}, picture, lines.picture));
    box.replaceChildren(...parts);
    say(describe());
    return {picture, update: names => { rest(); lines.update(names); }};
  }
  box.replaceChildren(...parts);
  say(hint);
  return {picture: small};
}

function atlas(pair, room) {
  const kind = state.kind, roles = rolesOf(pair, kind), heads = pair.heads(kind);
  const side = Math.max(SMALL, Math.min(LARGE, Math.floor((room - LEFT) / heads) - GAP));
  const picture = drawing(LEFT + heads * (side + GAP), 26 + roles.length * (side + GAP + ROLE), `All heads: ${KINDS[kind]}`);
  picture.classList.add("centred");
  for (let head = 0; head < heads; head++)
    picture.append(svg("text", {x: LEFT + head * (side + GAP) + side / 2, y: 14, "text-anchor": "middle", class: "faint small"}, `head ${head + 1}`));
  roles.forEach((row, layer) => {
    const y = 26 + layer * (side + GAP + ROLE);
    picture.append(svg("text", {x: 0, y: y + side / 2, "dominant-baseline": "central", class: "faint small"}, `layer ${layer + 1}`));
    row.forEach((role, head) => {
      const x = LEFT + head * (side + GAP), {weights} = pair.matrix(kind, layer + 1, head + 1, state.unit);
      const chosen = +state.layer === layer + 1 && +state.head === head + 1;
      const off = state.off.split(",").includes(`${kind[0]}${layer + 1}.${head + 1}`);
      const node = svg("g", {class: `thumb${chosen ? " on" : ""}${off ? " off" : ""}`, "data-head": `${layer + 1}.${head + 1}`},
        svg("rect", {x: x - 3, y: y - 3, width: side + 6, height: side + 6, rx: 5}),
        matrixImage(weights, {x, y, width: side, height: side}),
        svg("text", {x: x + side / 2, y: y + side + 15, "text-anchor": "middle", class: "role"}, off ? "switched off" : role));
      picture.append(asButton(node, `Layer ${layer + 1}, head ${head + 1}: ${role}`, () => set({layer: layer + 1, head: head + 1})));
    });
  });
  arrowKeys(picture, ".thumb", ".on");
  return picture;
}

const describe = () => capitalised(`${KINDS[state.kind]}, layer ${state.layer}, head ${state.head}. Point at a cell to read its weight, click it for the equation.`);

/** One head, with words, and a click for the equation of a cell. */
function heatMap(pair, say, room) {
  const {queries, keys, weights} = pair.matrix(state.kind, +state.layer, +state.head, state.unit);
  const left = Math.max(...queries.map(word => textWidth(word, 14))) + 14, top = Math.max(...keys.map(word => textWidth(word, 14))) * .72 + 26;
  const right = textWidth(keys.at(-1), 14) * .72 + 12; // of the last slanted word
  const cell = Math.max(16, Math.min(34, Math.min(560, room - left - right) / Math.max(keys.length, queries.length)));
  const wide = keys.length * cell, high = queries.length * cell;
  const frame = svg("rect", {width: cell, height: cell, class: "frame", visibility: "hidden"});
  const row = svg("rect", {x: left, width: wide, height: cell, class: "band", visibility: "hidden"});
  const column = svg("rect", {y: top, width: cell, height: high, class: "band", visibility: "hidden"});
  const surface = svg("rect", {x: left, y: top, width: wide, height: high, class: "surface"});
  const picture = drawing(left + wide + right, top + high + 8, `Layer ${state.layer}, head ${state.head}: rows are queries, columns keys`,
    svg("rect", {x: left - .5, y: top - .5, width: wide + 1, height: high + 1, class: "edge"}),
    matrixImage(weights, {x: left, y: top, width: wide, height: high}),
    ...queries.map((word, i) => svg("text", {x: left - 8, y: top + (i + .5) * cell, "text-anchor": "end", "dominant-baseline": "central", "font-size": 14, "data-row": i}, word)),
    ...keys.map((word, j) => svg("text", {transform: `translate(${left + (j + .5) * cell + 4} ${top - 8}) rotate(-45)`, "font-size": Math.min(14, .75 * cell), "data-column": j}, word)),
    row, column, frame, surface);

  let at = [-1, -1];
  function point(i, j) {
    at = [i, j];
    const inside = [i >= 0 && i < queries.length, j >= 0 && j < keys.length], both = inside[0] && inside[1];
    for (const [mark, shown] of [[frame, both], [row, inside[0]], [column, inside[1]]]) mark.setAttribute("visibility", shown ? "visible" : "hidden");
    for (const mark of [frame, column]) mark.setAttribute("x", left + j * cell);
    for (const mark of [frame, row]) mark.setAttribute("y", top + i * cell);
    if (!both) return say(describe());
    return say(`${queries[i]} attends to ${keys[j]}: ${percent(weights[i][j])}`);
  }
  /** Only the selected row or column is marked. */
  function rest() {
    const word = pair.selected(state), index = word ? Number(word.slice(1)) : -1;
    point(word[0] === "q" ? index : -1, word[0] === "k" ? index : -1);
  }
  const choose = () => {
    if (Math.min(...at) < 0) return;
    const [query, key] = ["q", "k"].map((side, i) => pair.tokenOf(state.kind, side, at[i], state.unit));
    select(`q${query}`, {view: "equation", cell: `${query},${key}`});
  };
  surface.addEventListener("pointermove", event => {
    const corner = surface.getBoundingClientRect();
    point(Math.floor((event.clientY - corner.top) / corner.height * queries.length), Math.floor((event.clientX - corner.left) / corner.width * keys.length));
  });
  surface.addEventListener("pointerleave", rest);
  asButton(surface, "Weights; arrow keys move, Enter shows the equation", choose);
  surface.addEventListener("keydown", event => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
    point(clamp(at[0] + step[0], queries.length), clamp(at[1] + step[1], keys.length));
  });
  rest();
  return {picture, rest};
}
