// Starts the page: settings of the server, tabs, colours.

import {get, hasKey, sentenceOf, setKey} from "./api.js";
import {byId} from "./dom.js";
import {startGenerate} from "./generate.js";
import {startInside} from "./inside.js";
import {startParse} from "./parse.js";
import {onChange, read, set, state} from "./state.js";
import {startTranslate} from "./translate.js";

const tabs = [...document.querySelectorAll("[data-tab]")];
// while the server cannot be reached or loads its models
const pause = () => new Promise(done => setTimeout(done, 2000));

function chosenTab() {
  const shown = tabs.filter(tab => !tab.hidden).map(tab => tab.dataset.tab);
  return shown.includes(state.tab) ? state.tab : shown[0];
}

function showTab() {
  const chosen = chosenTab();
  for (const tab of tabs) {
    const selected = tab.dataset.tab === chosen;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    byId(tab.dataset.tab).hidden = !selected;
  }
}

function startTabs() {
  for (const tab of tabs) tab.addEventListener("click", () => set({tab: tab.dataset.tab}));
  document.querySelector(".tabs").addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const shown = tabs.filter(tab => !tab.hidden);
    const next = shown[(shown.indexOf(document.activeElement) + step + shown.length) % shown.length];
    set({tab: next.dataset.tab});
    next.focus();
  });
  byId("skip").addEventListener("click", event => {
    event.preventDefault();
    document.querySelector("main > section:not([hidden]) :is(textarea, input)")?.focus();
  });
}

const THEMES = {auto: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"]};

function showTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  const [sign, words] = THEMES[name];
  byId("theme").textContent = sign;
  byId("theme").setAttribute("aria-label", `Colours: ${words}`);
  byId("theme").title = `Colours: ${words}`;
  document.dispatchEvent(new Event("theme"));
}

function startTheme() {
  let name = localStorage.getItem("theme") in THEMES ? localStorage.getItem("theme") : "auto";
  byId("theme").addEventListener("click", () => {
    const names = Object.keys(THEMES);
    name = names[(names.indexOf(name) + 1) % names.length];
    localStorage.setItem("theme", name);
    showTheme(name);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => showTheme(name));
  showTheme(name);
}

function notice(sentence, bad = false) {
  byId("notice").hidden = !sentence;
  byId("notice").classList.toggle("bad", bad);
  byId("notice").textContent = sentence;
}

/** Languages, settings, and the directions [source, target]. */
async function describeServer() {
  const [languages, settings] = await Promise.all([get("languages"), get("frontend/settings")]);
  const pairs = languages.flatMap(one => one.targets.filter(code => code !== one.code).map(code => [one.code, code]));
  return {languages, settings, pairs};
}

/** Waits for a server that is not there or still loads its models. */
async function connect() {
  for (;;) {
    try {
      const found = await describeServer(), {pairs, settings} = found;
      if (pairs.length || (!settings.loading && (settings.parsing || settings.generation))) {
        notice("");
        return found;
      }
      notice("The server is loading its models …");
    } catch (error) {
      notice(sentenceOf(error), true);
    }
    await pause();
  }
}

/** Shows the tabs and directions of the models that are loaded, and of others when they are. */
async function followModels(server) {
  const parts = [["parse", "parsing", startParse], ["generate", "generation", startGenerate]];
  for (;;) {
    for (const tab of ["translate", "inside"]) byId(`tab-${tab}`).hidden = !server.pairs.length;
    for (const [tab, feature, start] of parts) {
      if (!server.settings[feature] || !byId(`tab-${tab}`).hidden) continue;
      byId(`tab-${tab}`).hidden = false;
      showTab();
      start(server);
    }
    showTab();
    if (!server.settings.loading) return;
    await pause();
    Object.assign(server, await describeServer().catch(() => server));
    document.dispatchEvent(new Event("models"));
  }
}

Object.assign(state, read());
startTabs();
startTheme();
showTab();
onChange(names => { if (names.has("tab")) showTab(); });
window.addEventListener("hashchange", () => set(read()));
const again = () => document.dispatchEvent(new Event("again")); // what failed may now succeed
window.addEventListener("online", again);
byId("key-form").addEventListener("submit", event => {
  event.preventDefault();
  setKey(byId("key").value);
  byId("key-form").hidden = true;
  again();
});
const server = await connect();
byId("key-form").hidden = !server.settings.keyRequired || hasKey();
startTranslate(server);
startInside(server);
followModels(server);
if (!server.settings.loading) set({tab: chosenTab()});
document.documentElement.dataset.ready = "yes";
