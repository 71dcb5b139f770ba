// The Language model tab: a text as it is written, token by token, with what else could have been written.

import {Failure, postForLines, sentenceOf} from "./api.js";
import {byId, html, percent} from "./dom.js";
import {decodeBytes} from "./pair.js";
import {numbers, onChange, set, state} from "./state.js";

const NAMES = ["prompt", "temperature", "topk", "topp", "seed", "length", "forced", "chosen"];
const LINGER = 250; // milliseconds that the runners-up stay when the pointer leaves
const EOS = "</s>";

/** A token as one reads it. */
function shown({token}) {
  if (token === EOS) return "end";
  const text = decodeBytes(token).replaceAll("▁", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥");
  if (!/[\p{C}\ufffd]/u.test(text)) return text;
  return /\p{C}/u.test(token) ? `U+${token.codePointAt(0).toString(16)}` : token; // a byte, as <0x00>
}

export function startGenerate({settings}) {
  const form = byId("generate-form"), prompt = byId("prompt"), box = byId("written"), panel = byId("runners");
  const inputs = [...form.querySelectorAll("[name]")];
  let steps = [], controller = null, open = -1, follow = -1, timer = 0, frame = 0, low = true, own = false, ended = false;

  const change = changes => { own = true; set(changes); own = false; };
  const spans = () => box.querySelectorAll(".token");

  function say(sentence, kind = "") {
    byId("generate-state").className = `state ${kind}`;
    byId("generate-state").textContent = sentence;
  }

  function showControls() {
    prompt.value = state.prompt;
    for (const input of inputs) {
      input.value = state[input.name];
      const output = input.parentElement.querySelector("output");
      if (output) output.textContent = Number(state[input.name]).toFixed(2);
    }
  }

  function showButtons() {
    const writing = controller !== null;
    byId("write").hidden = writing;
    byId("stop").hidden = !writing;
    byId("copy-written").disabled = !steps.length;
    byId("go-on").disabled = writing || !steps.length || ended || steps.length >= settings.tokensLimit;
  }

  /** Writes `length` tokens after those that are forced; the first `kept` are on the page already. */
  async function write(kept = 0) {
    controller?.abort();
    const mine = controller = new AbortController(), forced = numbers(state.forced);
    cut(kept);
    showButtons();
    say("Writing …", "busy");
    const fields = {prompt: state.prompt, temperature: Number(state.temperature), top_p: Number(state.topp),
      top_k: state.topk ? Number(state.topk) : null, seed: Number(state.seed), prefix: forced, stream: true,
      tokens: Math.min(settings.tokensLimit, forced.length + Number(state.length))};
    let number = 0, end = "", again = 0;
    try {
      await postForLines("generate", fields, mine.signal, line => {
        if (mine !== controller) return;
        if (line.error) throw new Failure("refused", line.error);
        if (line.end) end = line.end;
        else if (number++ >= kept) add(line);
      });
      if (mine !== controller) return;
      ended = end === "eos";
      say(`${steps.length.toLocaleString("en")} tokens${{eos: "; the line has ended", deadline: "; the server's time for a request ran out"}[end] || ""}.`);
    } catch (error) {
      if (mine !== controller || mine.signal.aborted) return;
      again = number ? 0 : error.seconds; // if nothing was written yet
      say(again ? sentenceOf(error) : error.message, again ? "bad busy" : "bad");
      if (again) setTimeout(() => { if (mine === controller) write(kept); }, 1000 * again);
      if (error.kind === undefined) throw error;
    } finally {
      if (mine === controller && !again) { controller = null; showButtons(); }
    }
  }

  function stop() {
    controller?.abort();
    controller = null;
    say(`Stopped after ${steps.length.toLocaleString("en")} tokens.`);
    showButtons();
  }

  /** Removes the tokens after the first `count`. */
  function cut(count) {
    hide();
    ended = false;
    steps.length = Math.min(steps.length, count);
    if (steps.length) [...spans()].slice(steps.length).forEach(span => span.remove());
    else box.replaceChildren(...state.prompt ? [html("span", {class: "muted"}, state.prompt)] : []);
  }

  function add(step) {
    const number = steps.push(step) - 1, chosen = numbers(state.chosen).includes(number);
    const visible = /[^\s\p{C}]|^ +$/u.test(step.text), sign = visible ? null : html("span", {class: "sign"}, shown(step));
    box.append(html("span", {class: `token${chosen ? " chosen" : ""}`, role: "button", tabindex: number ? "-1" : "0", "data-number": number,
      "aria-label": `${shown(step)}, probability ${percent(step.probability)}`,
      style: `--doubt-share: ${Math.max(0, 1 - step.probability / .85).toFixed(2)}`}, sign, step.text));
    frame ||= requestAnimationFrame(() => { frame = 0; if (low) box.scrollTop = box.scrollHeight; });
    if (number === follow) { follow = -1; focus(number); }
  }

  /** The probability of a token and its runners-up, beside it. */
  function show(number) {
    clearTimeout(timer);
    if (number === open) return;
    hide();
    open = number;
    const step = steps[number], span = spans()[number];
    span.classList.add("on");
    const row = (one, ...rest) => [html("span", {}, shown(one)), html("span", {}, percent(one.probability)), html("i", {style: `--share: ${one.probability}`}), ...rest];
    panel.replaceChildren(html("p", {}, ...row(step)), ...step.runners_up.map(one => html("button", {type: "button", "data-id": one.id,
      title: "Go on with this one", onclick: event => force(number, one.id, event.detail === 0)}, ...row(one))));
    panel.hidden = false;
    const place = span.getClientRects(), last = place[place.length - 1], sheet = panel.parentElement.getBoundingClientRect();
    panel.style.left = `${Math.max(8, Math.min(last.left - sheet.left, sheet.width - panel.offsetWidth - 8))}px`;
    panel.style.top = `${last.bottom - sheet.top + 3}px`;
  }

  function hide() {
    clearTimeout(timer);
    spans()[open]?.classList.remove("on");
    open = -1;
    panel.hidden = true;
  }

  const hideSoon = () => { clearTimeout(timer); timer = setTimeout(() => { if (!panel.contains(document.activeElement) && !document.activeElement.classList.contains("token")) hide(); }, LINGER); };

  /** Goes on with another token in place of one; the keyboard's focus follows it. */
  function force(number, id, keyboard) {
    const ids = [...steps.slice(0, number).map(step => step.id), id];
    const chosen = [...numbers(state.chosen).filter(one => one < number), number];
    change({forced: ids.join(","), chosen: chosen.join(",")});
    follow = keyboard ? number : -1;
    write(number);
  }

  function focus(number) {
    const span = spans()[number];
    if (!span) return;
    for (const one of box.querySelectorAll('.token[tabindex="0"]')) one.tabIndex = -1;
    span.tabIndex = 0;
    span.focus();
  }

  const numberOf = event => { const span = event.target.closest?.(".token"); return span ? Number(span.dataset.number) : -1; };
  for (const name of ["pointerover", "focusin", "click"]) box.addEventListener(name, event => {
    const number = numberOf(event);
    if (number < 0) return;
    if (name === "click") focus(number);
    show(number);
  });
  box.addEventListener("pointerleave", hideSoon);
  box.addEventListener("scroll", () => { low = box.scrollHeight - box.scrollTop - box.clientHeight < 40; });
  box.addEventListener("scroll", () => { if (open >= 0 && !panel.contains(document.activeElement)) hide(); });
  let width = innerWidth;
  window.addEventListener("resize", () => {
    if (innerWidth !== width) hide();
    width = innerWidth;
  });
  panel.addEventListener("pointerenter", () => clearTimeout(timer));
  panel.addEventListener("pointerleave", hideSoon);
  for (const part of [box, panel]) part.addEventListener("focusout", event => {
    if (!box.contains(event.relatedTarget) && !panel.contains(event.relatedTarget)) hideSoon();
  });
  box.addEventListener("keydown", event => {
    const number = numberOf(event), to = {ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: steps.length - 1}[event.key];
    if (number < 0) return;
    if (event.key === "Escape") hide();
    else if (["ArrowDown", "Enter", " "].includes(event.key)) { show(number); panel.querySelector("button")?.focus(); }
    else if (to === undefined) return;
    else focus(Math.max(0, Math.min(to, steps.length - 1)));
    event.preventDefault();
  });
  panel.addEventListener("keydown", event => {
    const buttons = [...panel.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1}[event.key];
    if (event.key === "Escape" || to === -1) focus(open);
    else if (to === undefined) return;
    else buttons[Math.min(to, buttons.length - 1)].focus();
    event.preventDefault();
  });

  function start(changes = {}) {
    change({prompt: prompt.value, forced: "", chosen: "", ...changes});
    showControls();
    steps = [];
    write();
  }
  form.addEventListener("submit", event => { event.preventDefault(); start(); });
  prompt.addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("keydown", event => { if (event.key === "Escape" && controller && open < 0) stop(); });
  for (const input of inputs) input.addEventListener("input", () => {
    if (input.validity.valid) change({[input.name]: input.value});
    const output = input.parentElement.querySelector("output");
    if (output) output.textContent = Number(input.value).toFixed(2);
  });
  byId("stop").addEventListener("click", stop);
  byId("reseed").addEventListener("click", () => { if (form.reportValidity()) start({seed: Number(state.seed) + 1}); });
  byId("go-on").addEventListener("click", () => {
    if (!form.reportValidity()) return;
    change({forced: steps.map(step => step.id).join(",")});
    write(steps.length);
  });
  byId("copy-written").addEventListener("click", async () => {
    const button = byId("copy-written"), text = state.prompt + steps.map(step => step.text).join("");
    button.textContent = await navigator.clipboard.writeText(text).then(() => "Copied", () => "Not allowed");
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  byId("token-confidence").addEventListener("change", event => box.classList.toggle("show-confidence", event.target.checked));
  box.classList.add("show-confidence");
  inputs.find(input => input.name === "length").max = settings.tokensLimit;
  onChange(names => {
    if (own || state.tab !== "generate" || !NAMES.some(name => names.has(name))) return;
    showControls();
    steps = [];
    write();
  });
  showControls();
  showButtons();
  if (!byId("generate").hidden && (state.prompt || state.forced)) write();
}
