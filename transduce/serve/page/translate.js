// The Translate tab: text in, translation out, as one types.

import {newest, post, sentenceOf} from "./api.js";
import {byId, download, html, percent} from "./dom.js";
import {compare} from "./diff.js";
import {splitWords} from "./confidence.js";
import {onChange, RESET, set, state} from "./state.js";

const PAUSE = 60; // milliseconds without a key before a request is sent
const SHORT = 500; // characters of a text whose alternatives are shown
const PART = 3000; // characters of a request; longer texts are sent in parts
const FILE_BYTES = 2 ** 20;
const EXAMPLES = {
  en: ["A dog runs on the beach.", "Two men are sitting on a bench and drinking coffee.",
    "Yesterday I saw an old man who was reading a newspaper in the park."],
  de: ["Ein Hund läuft am Strand.", "Zwei Männer sitzen auf einer Bank und trinken Kaffee."],
};
/* What the checks found; those that repaired something are good news. */
const FLAGS = {
  empty: "The model wrote nothing.",
  repetition: "A phrase was repeated again and again although the source does not repeat it.",
  copy: "The source was copied instead of translated.",
  length: "The translation is much longer or shorter than its source.",
  missing: "A number, time, address or the like of the source was lost.",
  cut: "The translation ended at the length limit, before the model had finished.",
  repaired: "These faults were found, and a second search gave a translation without them.",
  inserted: "What was missing was copied into the translation from the source.",
  language: "The source does not look like the language that the model translates.",
  "low-score": "The model is unusually unsure of this translation.",
  capitals: "The source was in capitals; it was translated in ordinary case and set in capitals again.",
  split: "A sentence was translated in pieces: it was too long, or has direct speech.",
  "no-text": "There was no text to translate.",
};
const GOOD = ["repaired", "inserted", "capitals", "split"];
const AUTO = "auto";

export function startTranslate(server) {
  const {settings} = server;
  const text = byId("text"), output = byId("output"), from = byId("source-language"), to = byId("target-language");
  const nameOf = code => server.languages.find(one => one.code === code)?.name || code;
  const targetsOf = source => [...new Set(server.pairs.filter(pair => source === AUTO || pair[0] === source).map(pair => pair[1]))];
  let timer = 0, fileName = "", shown = null, retryTimer = 0; // timer: of keys not yet sent; shown: what the output shows

  function showLanguages() {
    const sources = [...new Set(server.pairs.map(pair => pair[0]))];
    const known = sources.includes(state.s) ? state.s : AUTO;
    const detected = shown?.detected && known === AUTO && state.q.trim() ? `${nameOf(shown.detected)} (${shown.sure ? "detected" : "a guess"})` : "Detect language";
    from.replaceChildren(html("option", {value: AUTO}, detected), ...sources.map(code => html("option", {value: code}, nameOf(code))));
    from.value = known;
    const targets = targetsOf(known);
    to.replaceChildren(...targets.map(code => html("option", {value: code}, nameOf(code))));
    to.value = targets.includes(state.t) ? state.t : targets[0];
    const back = swapped();
    byId("swap").disabled = !back;
    byId("swap").title = back ? "Swap the languages" : `No model here translates from ${nameOf(to.value)}`;
    output.lang = to.value || "";
    const examples = EXAMPLES[known === AUTO ? sources[0] : known] || [];
    byId("examples").replaceChildren(...examples.length ? ["Try"] : [], ...examples.map(example =>
      html("button", {type: "button", onclick: () => { text.value = example; set({q: example}); run(); text.focus(); }}, example)));
  }

  /** The direction after a swap, if there is a model for it. */
  function swapped() {
    const source = from.value !== AUTO ? from.value : shown?.detected;
    const back = server.pairs.filter(pair => pair[0] === to.value);
    return back.find(pair => pair[1] === source) || (source ? undefined : back[0]);
  }

  function showState(sentence, kind = "") {
    const box = byId("state");
    box.className = `state ${kind}`;
    box.replaceChildren(...sentence ? [sentence] : []);
  }

  const translate = newest(async (signal, asked, report) => {
    const parts = splitParts(asked.q), results = [];
    let source = asked.s;
    for (const [i, q] of parts.entries()) {
      if (!q.trim()) { results.push({translatedText: q}); continue; }
      const found = await post("translate", {q, source, target: asked.t, flags: true, scores: true,
        alternatives: asked.q.length > SHORT ? 0 : Math.min(3, settings.alternativesLimit ?? 3)}, signal);
      results.push(found);
      source = found.detectedLanguage?.language || source; // of the first part, for all
      if (parts.length > 1) report(join(results), i + 1, parts.length);
    }
    return join(results);
  }, result => {
    const [other] = from.value === AUTO && result.detected === to.value ? targetsOf(result.detected) : [];
    if (other) { // the text is in the target language: translate it the other way round
      to.value = other;
      set({t: other});
      if (!timer) run();
      return;
    }
    showResult(result);
    showState("");
  }, failed);

  function failed(error) {
    output.classList.toggle("stale", Boolean(output.textContent));
    if (error.kind === undefined) throw error;
    showState(sentenceOf(error), error.seconds ? "bad busy" : "bad");
    if (error.seconds) retryTimer = setTimeout(run, 1000 * error.seconds);
  }

  function run() {
    clearTimeout(timer);
    clearTimeout(retryTimer);
    timer = 0;
    const q = text.value;
    byId("count").textContent = q ? `${q.length.toLocaleString("en")}${settings.charLimit > 0 && q.length > settings.charLimit * .8 ? ` of ${settings.charLimit.toLocaleString("en")}` : ""} characters` : "";
    byId("clear").hidden = !q;
    byId("examples").hidden = Boolean(q);
    if (!q.trim()) {
      translate.cancel();
      shown = null;
      showState("");
      return showResult({text: ""});
    }
    if (settings.charLimit > 0 && q.length > settings.charLimit) {
      translate.cancel();
      return showState(`The text has ${q.length.toLocaleString("en")} characters; this server takes ${settings.charLimit.toLocaleString("en")}.`, "bad");
    }
    const slow = setTimeout(() => output.classList.add("stale"), 250);
    const busy = setTimeout(() => showState("Translating …", "busy"), 400);
    const report = (result, done, all) => { showResult(result); showState(`Translating … ${done} of ${all} parts`, "busy"); };
    translate({q, s: from.value, t: to.value}, report).finally(() => { clearTimeout(slow); clearTimeout(busy); });
  }

  function showResult(result) {
    shown = result.text ? result : null;
    output.classList.remove("stale");
    output.replaceChildren(...result.text ? splitWords(result).map(wordSpan) : []);
    for (const id of ["copy", "look"]) byId(id).disabled = !result.text;
    byId("save").hidden = !result.text || !fileName;
    showGuards(result.flags || []);
    showAlternatives(result);
    showLanguages();
  }

  function wordSpan({text, probability}) {
    if (probability === null) return text;
    return html("span", {class: "word", title: `probability ${percent(probability)}`,
      style: `--doubt-share: ${Math.max(0, 1 - probability / .85).toFixed(2)}`}, text);
  }

  function showGuards(flags) {
    byId("guards").hidden = !flags.length;
    byId("guards").querySelector("ul").replaceChildren(...flags.map(flag =>
      html("li", {class: GOOD.includes(flag) ? "done" : "", "data-flag": flag}, FLAGS[flag] || flag)));
  }

  function showAlternatives(result) {
    const others = result.text ? [...new Set(result.alternatives)].filter(other => other !== result.text) : [];
    byId("alternatives").hidden = !others.length;
    byId("alternatives").querySelector("ol").replaceChildren(...others.map(other => {
      const words = compare(result.text, other).filter(part => part.kind !== "removed")
        .map(part => part.kind === "added" ? html("mark", {}, part.text) : part.text);
      return html("li", {}, html("button", {type: "button", dir: "auto", title: "Copy this one", onclick: () => copy(other)}, ...words));
    }));
  }

  async function copy(what) {
    try {
      await navigator.clipboard.writeText(what);
      byId("copy").textContent = "Copied";
    } catch {
      byId("copy").textContent = "Not allowed";
    }
    setTimeout(() => { byId("copy").textContent = "Copy"; }, 1500);
  }

  async function readFile(file) {
    if (!file) return;
    set({tab: "translate"});
    if (file.size > FILE_BYTES) return showState(`${file.name} is larger than ${FILE_BYTES / 2 ** 20} MB.`, "bad");
    const content = new TextDecoder().decode(await file.arrayBuffer());
    if (content.includes("\0") || content.includes("\ufffd\ufffd"))
      return showState(`${file.name} is not a text file in UTF-8.`, "bad");
    fileName = file.name;
    text.value = content;
    set({...RESET, q: content});
    run();
  }

  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { set({q: text.value}); run(); }, PAUSE);
  });
  from.addEventListener("change", () => { set({s: from.value}); showLanguages(); run(); });
  to.addEventListener("change", () => { set({t: to.value}); run(); });
  byId("swap").addEventListener("click", () => {
    const [source, target] = swapped(), q = shown?.text || text.value;
    text.value = q;
    set({q, s: source, t: target});
    showLanguages();
    run();
  });
  byId("clear").addEventListener("click", () => { text.value = ""; fileName = ""; set({q: ""}); run(); text.focus(); });
  byId("copy").addEventListener("click", () => copy(shown.text));
  byId("save").addEventListener("click", () =>
    download(fileName.replace(/(\.[^.]*)?$/, `.${to.value}$1`), new Blob([shown.text], {type: "text/plain"})));
  byId("look").addEventListener("click", () => set({...RESET, tab: "inside", t: to.value}));
  byId("open").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", event => readFile(event.target.files[0]));
  byId("confidence").addEventListener("change", event => output.classList.toggle("show-confidence", event.target.checked));
  const {classList} = document.documentElement, holdsFile = event => event.dataTransfer?.types.includes("Files") && server.pairs.length;
  document.addEventListener("dragover", event => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    classList.add("dropping");
  });
  document.addEventListener("dragleave", event => { if (!event.relatedTarget) classList.remove("dropping"); });
  document.addEventListener("drop", event => {
    classList.remove("dropping");
    if (!holdsFile(event)) return;
    event.preventDefault();
    readFile(event.dataTransfer.files[0]);
  });
  document.addEventListener("again", () => { if (state.tab === "translate") run(); });
  document.addEventListener("models", showLanguages);
  onChange(names => { // made by another tab or by the address, unless it is what is shown already
    if (timer || state.tab !== "translate" || !["tab", "q", "s", "t"].some(name => names.has(name))) return;
    const shows = text.value === state.q && from.value === state.s && (!state.t || to.value === state.t);
    if (shows && (shown || !names.has("tab"))) return;
    text.value = state.q;
    showLanguages();
    run();
  });
  if (state.q) text.value = state.q; // else what was typed before the server answered
  if (server.pairs.length) { showLanguages(); if (state.tab === "translate") run(); }
}

/** A long text as parts that end at line ends. */
function splitParts(text) {
  if (text.length <= PART) return [text];
  const parts = [""];
  for (const line of text.split(/(?<=\n)/)) {
    if (parts.at(-1).length + line.length > PART && parts.at(-1)) parts.push("");
    parts[parts.length - 1] += line;
  }
  return parts;
}

/** The answers to the parts as one. */
function join(results) {
  const several = results.length > 1, detected = results.find(one => one.detectedLanguage)?.detectedLanguage;
  return {
    text: results.map(one => one.translatedText).join(""),
    detected: detected?.language,
    sure: detected?.confidence > 0,
    alternatives: several ? [] : results[0].alternatives || [],
    flags: [...new Set(results.flatMap(one => one.flags || []))],
    scores: results.map(one => ({text: one.translatedText, ...one.scores})),
  };
}
