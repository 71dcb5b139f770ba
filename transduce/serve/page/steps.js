// The decoder step by step: what it wrote, how sure it was, and what it nearly wrote.

import {html, percent, svg, textWidth} from "./dom.js";
import {arrowKeys, asButton, contentWidth, drawing} from "./figure.js";
import {readable} from "./pair.js";
import {selectStep, set, state} from "./state.js";

const SIZE = 16, LINE = 40, BAR = 560;

export const title = "Steps";
const hint = "Each token with its probability. Choose a step, then a runner-up: the model goes on from there.";
export const uses = [];

export function draw(box, {pair, say}) {
  const last = pair.steps.length - 1, index = Math.min(Number(state.step), last), step = pair.steps[index];
  const width = Math.min(Math.max(contentWidth(box), 260), 980);
  const slider = html("input", {type: "range", min: 0, max: last, value: index, "aria-label": "Step of the decoder",
    "aria-valuetext": `${index + 1}: ${readable(step.token)}`, oninput: event => selectStep(event.target.value)});
  const scrubber = html("div", {class: "scrubber"}, html("span", {class: "muted"}, `step ${index + 1} of ${last + 1}`), slider);

  const chips = flow(pair.steps.map(one => readable(one.token)), 2, 20, width);
  const picture = drawing(width, chips.bottom + 460, "Steps of the decoder");
  pair.steps.forEach((one, i) => {
    const {x, y, wide, text} = chips.places[i], p = Math.exp(one.log_prob);
    const node = svg("g", {class: `chip${i === index ? " on" : ""}`, "data-step": i},
      svg("rect", {x, y: y - 15, width: wide, height: 30, rx: 6, style: `--doubt-share: ${Math.max(0, 1 - p / .85).toFixed(2)}`}),
      svg("text", {x: x + wide / 2, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": SIZE}, text));
    picture.append(asButton(node, `Step ${i + 1}: ${text}, probability ${percent(p)}`, () => selectStep(i)));
  });

  let y = chips.bottom + 26;
  picture.append(svg("text", {x: 0, y, class: "faint small"}, "attends to (mean of all heads)"));
  const attended = pair.matrix("cross", 0, 0, "pieces"), row = attended.weights[index];
  const source = flow(attended.keys, 2, y + 28, width);
  attended.keys.forEach((word, j) => {
    const {x, y: line, wide} = source.places[j];
    picture.append(svg("rect", {x, y: line - 15, width: wide, height: 30, rx: 6, class: "attended", style: `--share: ${row[j]}`}),
      svg("text", {x: x + wide / 2, y: line, "text-anchor": "middle", "dominant-baseline": "central", "font-size": SIZE}, word));
  });

  y = source.bottom + 26;
  picture.append(svg("text", {x: 0, y, class: "faint small"}, "probability of the next token"));
  const choices = [{...step, chosen: true}, ...step.runners_up].sort((a, b) => b.log_prob - a.log_prob);
  const names = choices.map(one => readable(one.token)), label = Math.max(...names.map(name => textWidth(name, SIZE))) + 24;
  const bar = Math.min(BAR, width - label - 70);
  choices.forEach((one, i) => {
    const p = Math.exp(one.log_prob), line = y + 28 + i * 34;
    const node = svg("g", {class: `runner${one.chosen ? " chosen" : ""}`, "data-id": one.id, "aria-description": one.chosen ? null : "go on from here"},
      svg("rect", {x: 0, y: line - 16, width: label + bar + 64, height: 32, rx: 6, class: "ground"}),
      svg("text", {x: label - 12, y: line, "text-anchor": "end", "dominant-baseline": "central", "font-size": SIZE}, names[i]),
      svg("rect", {x: label, y: line - 8, width: Math.max(1, bar * p), height: 16, rx: 3, class: "bar"}),
      svg("text", {x: label + bar * p + 8, y: line, "dominant-baseline": "central", class: "faint small"}, percent(p)));
    if (!one.chosen) asButton(node, "", () => force(index, one));
    picture.append(node);
  });
  resize(picture, width, y + 28 + choices.length * 34);

  function force(at, one) {
    const ids = pair.target.ids.slice(0, at), ends = one.token === pair.source.tokens.at(-1);
    if (ends && !ids.length) return say("An empty translation has nothing to show.");
    return ends ? set({tokens: ids.join(","), prefix: ""}) : set({prefix: [...ids, one.id].join(","), tokens: "", step: at});
  }

  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  box.replaceChildren(scrubber, html("div", {class: "scroll"}, picture));
  arrowKeys(picture, ".chip", ".on");
  arrowKeys(picture, ".runner:not(.chosen)", ".runner");
  if (focused) (focused.type === "range" ? slider : picture.querySelector(".chip.on")).focus();
  say(hint);
  return {picture, update: names => { if (names.has("step")) draw(box, {pair, say}); }};
}

function resize(picture, width, height) {
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("height", height);
}

/** Words set one after the other in lines of a width. */
function flow(words, left, top, width) {
  let x = left, y = top;
  const places = words.map(text => {
    const wide = textWidth(text, SIZE) + 16;
    if (x + wide > width && x > left) { x = left; y += LINE; }
    const place = {x, y, wide, text};
    x += wide + 6;
    return place;
  });
  return {places, bottom: y + 18};
}
