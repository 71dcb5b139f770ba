// The Parse tab: the constituents of a sentence as a tree.

import {newest, post, sentenceOf} from "./api.js";
import {byId, html, svg, textWidth} from "./dom.js";
import {contentWidth, drawing, savePng, saveSvg} from "./figure.js";
import {sentencesOf} from "./inside.js";
import {onChange, set, state} from "./state.js";

// of the kind that the bundled parser knows
const EXAMPLE = "Mutations in this gene cause glaucoma in mice that lack the receptor.";

const SIZE = 15, LEVEL = 46, TAG = 28, GAP = 14; // TAG: from a word to its part of speech
const INDENT = 16, LINE = 25, NARROW = 560; // of the outline on a narrow screen

/* How treebanks write brackets and quotation marks. */
const WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "``": "“", "''": "”"};

/** A tree {label, children} of a bracketed one; words are leaves without children. */
function readTree(text) {
  const parts = text.match(/[()]|[^\s()]+/g) || [];
  let at = 0;
  const read = () => {
    if (parts[at] !== "(") {
      const word = parts[at++];
      return {label: WRITTEN[word] || word, children: []};
    }
    at++;
    const node = {label: parts[at] === "(" ? "" : parts[at++], children: []};
    while (at < parts.length && parts[at] !== ")") node.children.push(read());
    at++;
    return node;
  };
  const root = read();
  return root.label === "TOP" && root.children.length === 1 ? root.children[0] : root;
}

const isWord = node => !node.children.length;
const isTag = node => node.children.length === 1 && isWord(node.children[0]);
const kindOf = node => isWord(node) ? "leaf" : isTag(node) ? "tag" : "symbol";
const text = (node, x, y, anchor) => svg("text", {x, y, "text-anchor": anchor, "dominant-baseline": "central", "font-size": SIZE, class: kindOf(node)}, node.label);

/** Words in a line below, their parts of speech above them, and the constituents above these. */
function drawTree(tree) {
  const nodes = [], width = node => textWidth(node.label, SIZE + 1) + GAP;
  let right = 0, deepest = 0;
  (function place(node, level, least) { // least: the width of a label above with no other child
    nodes.push(Object.assign(node, {level}));
    const wide = Math.max(width(node), node.children.length > 1 ? 0 : least);
    if (isWord(node)) {
      node.x = right + wide / 2;
      right += wide;
      return;
    }
    if (!isTag(node)) deepest = Math.max(deepest, level);
    for (const child of node.children) place(child, level + 1, node.children.length > 1 ? 0 : wide);
    node.x = (node.children[0].x + node.children.at(-1).x) / 2;
  })(tree, 0, 0);
  const tags = 20 + LEVEL * (deepest + 1), y = node => isWord(node) ? tags + TAG : isTag(node) ? tags : 20 + LEVEL * node.level;
  const lines = nodes.filter(node => !isWord(node) && !isTag(node)).flatMap(node =>
    node.children.map(child => svg("path", {class: "branch", d: `M${node.x} ${y(node) + 11}v9H${child.x}V${y(child) - 11}`})));
  const picture = drawing(Math.max(right, 80), tags + TAG + 18, "Tree", ...lines, ...nodes.map(node => text(node, node.x, y(node), "middle")));
  picture.classList.add("centred");
  return picture;
}

/** The same as an outline: a line for each constituent, and one for each word. */
function drawOutline(tree, width) {
  const parts = [];
  let y = 16;
  (function place(node, level) {
    const x = 2 + INDENT * level, top = y;
    parts.push(text(node, x, y, "start"));
    y += LINE;
    if (isTag(node)) return parts.push(text(node.children[0], x + textWidth(node.label, SIZE) + 10, top, "start"));
    for (const child of node.children) {
      parts.push(svg("path", {class: "branch", d: `M${x + 4} ${top + 11}V${y}h8`}));
      place(child, level + 1);
    }
    return undefined;
  })(tree, 0);
  return drawing(width, y, "Tree", ...parts);
}

export function startParse() {
  const status = html("p", {id: "parse-state", class: "state", role: "status"}), box = byId("parse-figure"), field = byId("parse-text");
  let asked = "", tree = "";

  /** Says a sentence: above the tree, which is of another sentence then, or in place of it. */
  function showState(sentence, kind = "") {
    status.className = `state ${kind}`;
    status.textContent = sentence;
    box.classList.toggle("stale", Boolean(tree && sentence));
    if (tree) box.before(status);
    else box.replaceChildren(html("div", {class: "empty"}, status));
  }

  function show() {
    if (!tree) return box.replaceChildren(html("div", {class: "empty"}, html("p", {}, "Type a sentence above, or start with one:"),
      html("button", {type: "button", class: "plain strong", onclick: () => set({q: EXAMPLE})}, EXAMPLE)));
    const room = contentWidth(box), read = readTree(tree), picture = room < NARROW ? drawOutline(read, room) : drawTree(read);
    return box.replaceChildren(html("div", {class: "scroll"}, picture),
      html("details", {}, html("summary", {class: "muted"}, "Brackets"), html("p", {class: "muted brackets"}, tree)),
      html("div", {class: "exports"}, html("button", {type: "button", class: "plain", onclick: () => saveSvg(picture, "tree")}, "SVG"),
        html("button", {type: "button", class: "plain", onclick: () => savePng(picture, "tree")}, "PNG")));
  }

  const parse = newest((signal, q) => post("parse", {q}, signal), found => {
    tree = found?.tree || "";
    showState(found ? "" : "The sentence is too long for this model.", "bad");
    if (found) show();
  }, (error, q) => {
    if (error.kind === undefined) throw error;
    showState(sentenceOf(error), error.seconds ? "bad busy" : "bad");
    if (error.seconds) setTimeout(() => { if (q === asked) parse(q); }, 1000 * error.seconds);
  });

  /** Parses the first sentence of the text that the tabs share. */
  function refresh() {
    const [q = ""] = sentencesOf(state.q);
    if (state.tab === "parse" && q !== asked) start(q);
  }

  function start(q) {
    field.value = asked = q;
    if (q) {
      showState("Parsing …", "busy");
      return parse(q);
    }
    parse.cancel();
    tree = "";
    showState("");
    return show();
  }

  byId("parse-form").addEventListener("submit", event => {
    event.preventDefault();
    asked = null; // the same sentence again, after a failure
    set({q: field.value});
    refresh();
  });
  field.addEventListener("keydown", event => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    byId("parse-form").requestSubmit();
  });
  let width = innerWidth;
  window.addEventListener("resize", () => {
    if (tree && state.tab === "parse" && innerWidth !== width) show();
    width = innerWidth;
  });
  document.addEventListener("again", () => { if (state.tab === "parse" && asked) start(asked); });
  onChange(refresh);
  show();
  refresh();
}
