// The Inside tab: one sentence pair and one selection, shared by all views.

import {newest, post, postForBytes, sentenceOf} from "./api.js";
import * as atlas from "./atlas.js";
import {byId, capitalised, html} from "./dom.js";
import * as equation from "./equation.js";
import {savePng, saveSvg} from "./figure.js";
import * as lattice from "./lattice.js";
import {decode, KINDS} from "./pair.js";
import * as positions from "./positions.js";
import * as ribbon from "./ribbon.js";
import {numbers, onChange, RESET, set, state} from "./state.js";
import * as steps from "./steps.js";
import {goTo, tourPanel} from "./tour.js";
import * as whatif from "./whatif.js";

const VIEWS = {ribbon, heads: atlas, steps, beam: lattice, whatif, equation, positions};
const LETTERS = {e: "encoder", d: "decoder", c: "cross"};
const EXAMPLE = "Yesterday I saw an old man who was reading a newspaper in the park.";
const PAUSE = 350; // milliseconds without a key
const REST = 2000; // milliseconds without a key before the network is loaded
const KEPT = 30; // answers

/** The sentences of a text. */
export function sentencesOf(text) {
  const segmenter = globalThis.Intl?.Segmenter && new Intl.Segmenter(undefined, {granularity: "sentence"});
  return text.split(/\n+/).flatMap(line => segmenter ? [...segmenter.segment(line)].map(one => one.segment) : [line]).map(one => one.trim()).filter(Boolean);
}

/** The selection after a change of the attention: both of the decoder have its steps, the other two the source as keys. */
function keptPin(from, to) {
  const other = state.pin[0] === "q" ? "encoder" : "decoder";
  return from === other || to === other ? "" : state.pin;
}

export function startInside(server) {
  const room = byId("inside"), answers = new Map();
  const nameOf = code => server.languages.find(one => one.code === code)?.name || code;
  let pair = null, drawn = null, typing = 0, resting = 0, preloaded = false;
  let detected = ""; // the language of the text, if none is chosen

  const say = sentence => { saying.textContent = sentence; };
  const field = html("textarea", {id: "sentence", rows: 1, autocomplete: "off", spellcheck: "false", dir: "auto", placeholder: "A sentence to look into"});
  const direction = html("select", {id: "direction", "aria-label": "Direction"});
  const which = html("select", {id: "which", "aria-label": "Sentence of the text"});
  const translation = html("p", {class: "translation", id: "translation", dir: "auto", "aria-live": "polite"});
  const status = html("p", {class: "state", id: "inside-state", role: "status"});
  const changed = html("p", {class: "changed", id: "changed", hidden: true});
  const tour = html("div", {id: "tour"});
  const views = html("div", {class: "views", role: "tablist", "aria-label": "Views"}, ...Object.entries(VIEWS).map(([name, view]) =>
    html("button", {type: "button", role: "tab", "data-view": name, "aria-controls": "figure", onclick: () => set({view: name})}, view.title)));
  const saying = html("p", {class: "saying", id: "saying", "aria-live": "polite"});
  const controls = html("form", {class: "controls", "aria-label": "What is shown", onsubmit: event => event.preventDefault()});
  const figure = html("div", {class: "figure", id: "figure", role: "tabpanel", "aria-label": "View"});
  const save = (label, action) => html("button", {type: "button", class: "plain", onclick: () => drawn?.picture && action(drawn.picture, `transduce-${state.view}`)}, label);
  const exports = html("div", {class: "exports"}, save("SVG", saveSvg), save("PNG", savePng));
  room.replaceChildren(
    html("div", {class: "sentence-bar"}, html("label", {class: "hidden", for: "sentence"}, "Sentence"), field, which, direction,
      html("button", {type: "button", class: "plain strong", id: "start-tour", onclick: () => { if (!state.q.trim()) set({q: EXAMPLE}); goTo(1); }}, "Guided tour")),
    html("div", {class: "answer"}, translation, status), changed, tour,
    html("div", {class: "view-bar"}, views, html("span", {class: "spread"}), exports),
    controls, saying, figure);
  views.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key], all = [...views.children];
    if (!step) return;
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    set({view: next.dataset.view});
    next.focus();
  });
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => set({...RESET, q: field.value}), PAUSE);
  });
  field.addEventListener("keydown", event => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    set({...RESET, q: field.value});
  });
  which.addEventListener("change", () => set({...RESET, sentence: which.value}));
  direction.addEventListener("change", () => { const [s, t] = direction.value.split(" "); set({...RESET, s, t}); });

  /** The text that is looked into, and the direction. */
  function subject() {
    const all = sentencesOf(state.q), original = all[state.sentence] || all[0] || "";
    const wanted = state.s === "auto" ? detected : state.s, {pairs} = server;
    const [source, target] = pairs.find(([s, t]) => s === wanted && t === state.t) || pairs.find(([s]) => s === wanted)
      || pairs.find(([, t]) => t === state.t) || pairs[0] || ["", ""];
    return {original, text: state.edit || original, source, target};
  }

  function showDirections() {
    const {source, target} = subject();
    direction.replaceChildren(...server.pairs.map(([s, t]) => html("option", {value: `${s} ${t}`}, `${nameOf(s)} → ${nameOf(t)}`)));
    direction.value = `${source} ${target}`;
    direction.hidden = server.pairs.length < 2;
  }

  /** What a request is about; the same for all of its kinds. */
  function request(changes = {}) {
    const {text, source, target} = subject();
    const off = [...whatif.offList()].map(name => ({kind: LETTERS[name[0]], layer: parseInt(name.slice(1)), head: Number(name.split(".")[1])}));
    const fields = {q: text, source, target, heads_off: off, prefix: numbers(state.prefix), tokens: numbers(state.tokens), ...changes};
    for (const [name, value] of Object.entries(fields)) if (Array.isArray(value) && !value.length) delete fields[name];
    return fields;
  }

  /** The answer to a request; kept, so that going back is instant. */
  async function ask(path, fields, signal) {
    const name = path + JSON.stringify(fields);
    if (!answers.has(name)) {
      const answer = path === "attention" ? decode(await postForBytes(path, fields, signal)) : await post(path, fields, signal);
      if (answers.size >= KEPT) answers.delete(answers.keys().next().value);
      answers.set(name, answer);
    }
    return answers.get(name);
  }

  /** The sentence pair, in the direction that is chosen or detected. */
  async function findPair(signal) {
    if (state.s === "auto" && server.pairs.length > 1 && state.q) {
      [{language: detected}] = await ask("detect", {q: state.q.slice(0, 1000)}, signal);
      showDirections();
    }
    return ask("attention", request(state.q.trim() ? {} : {q: EXAMPLE}), signal);
  }

  /** Loads the network before it is looked into, since the first time takes seconds. */
  function preload() {
    clearTimeout(resting);
    if (pair || preloaded || !server.pairs.length) return;
    preloaded = true;
    findPair().catch(error => { preloaded = error.kind === "refused"; });
  }

  function preloadSoon() {
    clearTimeout(resting);
    if (state.q.trim()) resting = setTimeout(preload, REST);
  }

  async function gather(signal) {
    const found = await findPair(signal), view = VIEWS[state.view] || ribbon, {original, source, target} = subject();
    const about = {pair: found, say, ...subject()};
    if (view.needs === "beam") about.beam = await ask("beam", {...request({tokens: []}), beam: Number(state.beam)}, signal);
    if (view.needs === "baseline") about.baseline = await ask("attention", {q: original, source, target}, signal);
    if (view.needs === "explain") {
      fit(found);
      const [query, key] = equation.cellOf(found);
      about.explain = await ask("explain", {...request({prefix: [], tokens: found.target.ids}), kind: state.kind, layer: Math.max(1, +state.layer), head: Math.max(1, +state.head), query, key}, signal);
    }
    return about;
  }

  const load = newest(gather, about => {
    pair = about.pair;
    showStatus("");
    figure.classList.remove("stale");
    fit(pair);
    show(about);
  }, error => {
    if (error.kind === undefined) throw error;
    showStatus(sentenceOf(error), error.seconds ? "bad busy" : "bad");
    figure.classList.toggle("stale", Boolean(pair));
    if (error.seconds) setTimeout(refresh, 1000 * error.seconds);
  });

  /** Says a sentence: beside the translation, or in place of the view if there is none. */
  function showStatus(sentence, kind = "") {
    status.textContent = sentence;
    status.className = `state ${kind}`;
    if (pair) translation.after(status);
    else figure.replaceChildren(html("div", {class: "empty"}, status));
  }

  function refresh() {
    if (state.tab !== "inside") return;
    const {original} = subject();
    if (document.activeElement !== field || !field.value.trim()) field.value = original;
    const all = sentencesOf(state.q);
    which.hidden = all.length < 2;
    which.replaceChildren(...all.map((one, i) => html("option", {value: i, selected: i === Number(state.sentence)}, `Sentence ${i + 1} of ${all.length}`)));
    showDirections();
    tour.replaceChildren(...tourPanel());
    for (const button of views.children) {
      const chosen = button.dataset.view === state.view;
      button.setAttribute("aria-selected", chosen);
      button.tabIndex = chosen ? 0 : -1;
      if (chosen) views.scrollLeft = button.offsetLeft - views.offsetLeft - (views.clientWidth - button.offsetWidth) / 2;
    }
    showChanges();
    if (!original) {
      load.cancel();
      pair = drawn = null;
      translation.textContent = "";
      controls.replaceChildren();
      say("");
      showStatus("");
      exports.hidden = true;
      figure.replaceChildren(html("div", {class: "empty"}, html("p", {}, "Type a sentence above, or start with one:"),
        html("button", {type: "button", class: "plain strong", onclick: () => set({q: EXAMPLE})}, EXAMPLE)));
      return;
    }
    exports.hidden = !pair;
    if (!pair) figure.replaceChildren();
    const slow = setTimeout(() => {
      showStatus(pair ? "Computing …" : "Computing … The first time, the network is loaded, which takes a few seconds.", "busy");
      figure.classList.toggle("stale", Boolean(pair));
    }, 200);
    load().finally(() => clearTimeout(slow));
  }

  /** Choices that this model or sentence does not have become the nearest ones. */
  function fit(found) {
    if (!found.kindNames.includes(state.kind)) state.kind = found.kindNames.at(-1);
    if (+state.layer > found.layers(state.kind)) state.layer = "0";
    if (+state.head > found.heads(state.kind)) state.head = "0";
  }

  function show(about) {
    translation.textContent = about.pair.translation || "(empty)";
    const view = VIEWS[state.view] || ribbon;
    exports.hidden = false;
    showControls(view);
    saying.style.minHeight = "";
    drawn = view.draw(figure, about);
    saying.style.minHeight = `${saying.offsetHeight}px`; // a shorter sentence while hovering must not move the drawing
    figure.dataset.drawn = state.view;
    drawn.about = about;
  }

  function showChanges() {
    const off = whatif.offList().size;
    const parts = [off && `${off} ${off === 1 ? "head" : "heads"} switched off`, state.edit && "the source is edited", (state.prefix || state.tokens) && "a token is forced"].filter(Boolean);
    changed.hidden = !parts.length;
    changed.replaceChildren(capitalised(`${parts.join(", ")}. `), html("button", {type: "button", class: "plain strong", onclick: () => set({off: "", edit: "", prefix: "", tokens: ""})}, "Undo"));
  }

  function showControls(view) {
    const all = view !== equation, again = controls.contains(document.activeElement) ? document.activeElement : null;
    const group = (name, legend, values) => html("fieldset", {}, html("legend", {}, legend), ...values.map(([value, label]) =>
      html("label", {class: "choice"}, html("input", {type: "radio", name, value, checked: (all || +state[name] || name === "kind" ? state[name] : "1") === String(value), onchange: () => set({[name]: value, ...(name === "kind" ? {pin: keptPin(state.kind, value), cell: ""} : {})})}), html("span", {}, label))));
    const count = (n, all) => [...all ? [[0, "all"]] : [], ...Array.from({length: n}, (_, i) => [i + 1, String(i + 1)])];
    const made = {
      kind: () => group("kind", "attention", pair.kindNames.map(kind => [kind, kind])),
      layer: () => group("layer", "layer", count(pair.layers(state.kind), all)),
      head: () => group("head", "head", count(pair.heads(state.kind), all)),
      input: () => group("input", "input", [["embeddings", "embeddings"], ["positions", "positions"], ["sum", "their sum"]]),
      unit: () => group("unit", "units", [["words", "words"], ["pieces", "pieces"]]),
    };
    controls.replaceChildren(...Object.keys(made).filter(name => view.uses.includes(name)).map(name => made[name]()));
    controls.hidden = !controls.children.length;
    if (again) controls.querySelector(`[name="${again.name}"][value="${again.value}"]`)?.focus();
  }

  const HEAVY = ["tab", "q", "s", "t", "sentence", "view", "off", "edit", "prefix", "tokens", "beam", "tour", "cell"];
  onChange(names => {
    if (names.has("q")) preloadSoon();
    if (state.tab !== "inside") return;
    const needsMore = VIEWS[state.view]?.needs === "explain" && ["kind", "layer", "head"].some(name => names.has(name));
    if (needsMore || HEAVY.some(name => names.has(name))) return refresh();
    if (!pair || !drawn) return;
    fit(pair);
    if (["kind", "layer", "head", "unit", "input"].some(name => names.has(name))) show(drawn.about);
    else drawn.update?.(names);
  });
  for (const id of ["tab-inside", "look"]) for (const name of ["pointerenter", "focus"]) byId(id).addEventListener(name, preload);
  document.addEventListener("again", refresh);
  document.addEventListener("models", showDirections);
  document.addEventListener("theme", () => { if (drawn && state.tab === "inside") show(drawn.about); });
  let width = innerWidth;
  window.addEventListener("resize", () => {
    if (drawn && state.tab === "inside" && innerWidth !== width) show(drawn.about);
    width = innerWidth;
  });
  preloadSoon();
  refresh();
}
