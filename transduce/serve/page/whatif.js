// What if: heads switched off, a word edited; the translation before and after.

import {compare} from "./diff.js";
import {html, svg, textWidth} from "./dom.js";
import {arrowKeys, contentWidth, drawing} from "./figure.js";
import {KINDS} from "./pair.js";
import {set, state} from "./state.js";

const SIZE = 18, LINE = 30, SPACE = 6;

export const title = "What if";
const hint = "Switch heads off or edit a word; every view then shows the changed model until you undo it.";
export const uses = [];
export const needs = "baseline";

export const offList = () => new Set(state.off.split(",").filter(Boolean));

export function draw(box, {pair, baseline, text, original, say}) {
  const width = Math.min(Math.max(contentWidth(box), 260), 980);
  const words = html("div", {class: "edit-words", role: "group", "aria-label": "Words of the source"}, ...text.split(/\s+/).map((word, i, all) => {
    const field = html("input", {value: word, "aria-label": `Word ${i + 1}`, size: Math.max(2, word.length), spellcheck: "false"});
    field.addEventListener("change", () => {
      const edited = all.map((other, j) => j === i ? field.value.trim() : other).filter(Boolean).join(" ");
      set({edit: edited === original ? "" : edited, prefix: "", tokens: "", step: 0, pin: "", cell: ""});
    });
    return field;
  }));
  const name = box.contains(document.activeElement) && document.activeElement.dataset.name, focused = name && `[data-name="${name}"]`;
  const picture = comparison(baseline.translation, pair.translation, width);
  box.replaceChildren(
    html("h2", {}, "Edit a word"), words,
    html("h2", {}, "Switch heads off"), html("div", {class: "switches"}, ...pair.kindNames.map(kind => grid(pair, kind))),
    html("h2", {}, "Translation"), html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Translations"}, picture),
    html("p", {class: "muted"}, `log P of the translation: ${sum(baseline)}${pair === baseline ? "" : ` before, ${sum(pair)} after`}`));
  for (const group of box.querySelectorAll("fieldset")) arrowKeys(group, "button", ".switch");
  if (focused) box.querySelector(focused)?.focus();
  say(hint);
  return {picture};
}

const sum = pair => pair.steps.reduce((total, step) => total + step.log_prob, 0).toFixed(2).replace("-", "−");

function toggle(names) {
  const off = offList(), every = names.every(name => off.has(name));
  for (const name of names) if (every) off.delete(name); else off.add(name);
  set({off: [...off].sort().join(","), prefix: "", tokens: "", step: 0, pin: "", cell: ""});
}

/** Buttons for every head of a kind, and one for each layer. */
function grid(pair, kind) {
  const off = offList(), heads = pair.heads(kind);
  const rows = Array.from({length: pair.layers(kind)}, (_, layer) => {
    const names = Array.from({length: heads}, (_, head) => `${kind[0]}${layer + 1}.${head + 1}`);
    return html("div", {class: "switch-row"},
      html("button", {type: "button", class: "layer", "data-name": names.join(" "), "aria-label": `${KINDS[kind]}, layer ${layer + 1}`, onclick: () => toggle(names)}, `layer ${layer + 1}`),
      ...names.map((name, head) => html("button", {type: "button", class: "switch", "data-name": name, "aria-pressed": String(!off.has(name)),
        "aria-label": `${KINDS[kind]}, layer ${layer + 1}, head ${head + 1}`, onclick: () => toggle([name])}, String(head + 1))));
  });
  return html("fieldset", {}, html("legend", {}, KINDS[kind]), ...rows);
}

/** Both translations, with the words that went and those that came. */
function comparison(before, after, width) {
  const parts = compare(before, after), picture = drawing(width, 10, "The translation before and after");
  let y = 22;
  for (const [name, without, version] of [["before", "added", "before"], ["after", "removed", "text"]]) {
    picture.append(svg("text", {x: 0, y, class: "faint small"}, name));
    let x = 64;
    for (const part of parts.filter(one => one.kind !== without)) for (const word of part[version].split(/(\s+)/).filter(Boolean)) {
      if (!word.trim()) { x += SPACE; continue; }
      const wide = textWidth(word, SIZE, part.kind === "same" ? 400 : 600);
      if (x + wide > width && x > 64) { x = 64; y += LINE; }
      picture.append(svg("text", {x, y, "font-size": SIZE, class: `diff ${part.kind}`}, word));
      x += wide;
    }
    y += LINE + 8;
  }
  picture.setAttribute("viewBox", `0 0 ${width} ${y - 20}`);
  picture.setAttribute("height", y - 20);
  return picture;
}
