// Source above, target below, and between them the strongest links of each word.

import {html, percent, svg, textWidth} from "./dom.js";
import {contentWidth, drawing} from "./figure.js";
import {select, set, state} from "./state.js";

const STRONGEST = 3, SIZE = 16, NARROW = 560;

export const title = "Ribbon";
const hint = "Hover a word to keep its links, click to pin it, arrow keys move. Drawn are the three strongest links of each query, none below equal weights.";
export const uses = ["kind", "layer", "head", "unit"];

export function draw(box, {pair, say}) {
  const made = ribbon(pair, say, contentWidth(box), contentWidth(box) < NARROW);
  made.picture.classList.add("centred");
  box.replaceChildren(html("div", {class: "scroll"}, made.picture));
  return made;
}

/** The words and links of the chosen heads; `upright`: in the paper's two columns. */
export function ribbon(pair, say, room, upright) {
  const {queries, keys, weights} = pair.matrix(state.kind, +state.layer, +state.head, state.unit);
  const places = layout(queries, keys, room, upright);
  const links = strongestLinks(weights), most = Math.max(...links.map(link => link.weight), .01);
  const hue = +state.head ? `var(--head-${(state.head - 1) % 8 + 1})` : "var(--accent)";
  const lines = links.map(link => {
    const {x1, y1, x2, y2} = places.ends(link);
    const path = upright ? `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}` : `M${x1} ${y1}C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`;
    return svg("path", {d: path, class: "link", "data-query": link.query, "data-key": link.key,
      style: `stroke: ${hue}; stroke-width: ${(1 + 7 * link.weight).toFixed(1)}; --strength: ${(.15 + .75 * link.weight / most).toFixed(2)}`});
  });
  const labels = [...keys.map((text, index) => label("k", index, text)), ...queries.map((text, index) => label("q", index, text))];
  const picture = drawing(places.width, places.height, `Links between words: ${pair.translation}`, svg("g", {}, ...lines), ...labels);

  const selected = () => pair.selected(state);
  const pin = word => word ? select(word[0] + pair.tokenOf(state.kind, word[0], Number(word.slice(1)), state.unit)) : set({pin: ""});

  function label(side, index, text) {
    const {x, y, anchor} = places.at(side, index), width = textWidth(text, SIZE) + 12;
    const node = svg("g", {class: "word", tabindex: -1, role: "button", "data-word": side + index, "aria-label": `${side === "q" ? "query" : "key"} ${text}`},
      svg("rect", {x: anchor === "middle" ? x - width / 2 : anchor === "end" ? x - width + 6 : x - 6, y: y - 14, width, height: 28, rx: 6}),
      svg("text", {x, y, "text-anchor": anchor, "dominant-baseline": "central", "font-size": SIZE}, text));
    node.addEventListener("pointerenter", () => emphasise(side + index));
    node.addEventListener("pointerleave", () => emphasise(selected()));
    node.addEventListener("click", () => { pin(selected() === side + index ? "" : side + index); node.focus({preventScroll: true}); });
    return node;
  }

  /** Only classes change, so that hovering stays smooth. */
  function emphasise(word) {
    const side = word[0], index = Number(word.slice(1));
    const known = word && index < (side === "q" ? queries : keys).length;
    picture.classList.toggle("some", Boolean(known));
    const row = !known ? [] : side === "q" ? [...weights[index]] : weights.map(all => all[index]);
    for (const line of lines) line.classList.toggle("on", known && Number(line.dataset[side === "q" ? "query" : "key"]) === index);
    for (const node of labels) {
      const own = node.dataset.word, other = own[0] !== side;
      node.classList.toggle("on", own === word);
      node.style.setProperty("--share", known && other ? row[own.slice(1)] : 0);
    }
    const first = labels.find(node => node.dataset.word === word) || labels[0];
    for (const node of labels) node.setAttribute("tabindex", node === first ? 0 : -1);
    if (!known) return say(hint);
    const names = side === "q" ? keys : queries;
    const best = row.map((weight, i) => [weight, names[i]]).sort((a, b) => b[0] - a[0]).slice(0, 4);
    return say(`${(side === "q" ? queries : keys)[index]} ${side === "q" ? "attends to" : "is attended to by"} ${best.map(([weight, name]) => `${name} ${percent(weight)}`).join(" · ")}`);
  }

  picture.addEventListener("keydown", event => {
    const flat = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (event.key === "Escape") return set({pin: ""});
    if (event.key === "Enter" || event.key === " ") return event.target.dispatchEvent(new Event("click"));
    if (!flat) return undefined;
    event.preventDefault();
    const [along, across] = upright ? [flat[1], flat[0]] : flat, now = document.activeElement.dataset.word || "k0";
    const side = across ? (across > 0 ? "q" : "k") : now[0], words = side === "q" ? queries : keys;
    const next = side + Math.max(0, Math.min(words.length - 1, Number(now.slice(1)) + (isRightToLeft(words) && !upright ? -along : along)));
    pin(next);
    return labels.find(node => node.dataset.word === next)?.focus();
  });
  emphasise(selected());
  return {picture, update: names => { if (names.has("pin")) emphasise(selected()); }};
}

/** The strongest links of each query, none weaker than equal weights. */
function strongestLinks(weights) {
  return weights.flatMap((row, query) => [...row].map((weight, key) => ({query, key, weight}))
    .filter(link => link.weight >= 1 / row.length).sort((a, b) => b.weight - a.weight).slice(0, STRONGEST));
}

const isRightToLeft = words => /[\u0590-\u08ff]/.test(words.join(""));

/** Where words stand: in two lines, or in two columns on a narrow screen. */
function layout(queries, keys, room, upright) {
  const widths = some => some.map(text => textWidth(text, SIZE) + 18);
  if (upright) {
    const left = Math.max(...widths(keys)), right = Math.max(...widths(queries)), step = 34;
    const width = Math.max(room, left + right + 80), y = index => 24 + step * index;
    return {
      width, height: 48 + step * (Math.max(keys.length, queries.length) - 1),
      at: (side, index) => side === "k" ? {x: left - 8, y: y(index), anchor: "end"} : {x: width - right + 8, y: y(index), anchor: "start"},
      ends: link => ({x1: left + 2, y1: y(link.key), x2: width - right - 2, y2: y(link.query)}),
    };
  }
  const total = some => widths(some).reduce((a, b) => a + b, 0);
  const width = Math.max(Math.min(room, 1.7 * Math.max(total(queries), total(keys))), total(queries), total(keys));
  const centres = some => {
    const each = widths(some), gap = (width - total(some)) / each.length;
    let at = 0;
    return each.map(one => { const x = at + (one + gap) / 2; at += one + gap; return isRightToLeft(some) ? width - x : x; });
  };
  const top = 26, bottom = 286, xs = {k: centres(keys), q: centres(queries)};
  return {
    width, height: bottom + 26,
    at: (side, index) => ({x: xs[side][index], y: side === "k" ? top : bottom, anchor: "middle"}),
    ends: link => ({x1: xs.k[link.key], y1: top + 16, x2: xs.q[link.query], y2: bottom - 16}),
  };
}
