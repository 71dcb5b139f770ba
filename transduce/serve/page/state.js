// What the page shows, kept in the URL's fragment, which no server sees.

const START = {
  tab: "translate", q: "", s: "auto", t: "", // the text and its languages
  sentence: "0", view: "ribbon", kind: "cross", layer: "0", head: "0", unit: "words", // 0: the mean of all
  pin: "", step: "0", cell: "", // selected token, "q" or "k" and its number; step of the decoder; cell "query,key"
  off: "", edit: "", prefix: "", tokens: "", // heads switched off, edited source, forced token ids
  beam: "4", alpha: "0.6", tour: "0", input: "positions", // what the view of positions shows
  prompt: "", temperature: "1", topk: "", topp: "1", seed: "1", length: "200", // of the language model
  forced: "", chosen: "", // token ids that its text begins with, positions of those that were chosen
};

/* What belongs to one sentence, for another one. */
export const RESET = {sentence: "0", pin: "", step: "0", cell: "", off: "", edit: "", prefix: "", tokens: ""};

export const state = {...START};

/** The numbers of a value such as "3,14". */
export const numbers = text => text.split(",").filter(Boolean).map(Number);

const listeners = [];

export function onChange(listener) { listeners.push(listener); }

/** Changes some values; listeners are called with the names of those that differ. */
export function set(changes) {
  const names = new Set();
  for (const [name, value] of Object.entries(changes)) {
    if (state[name] === String(value)) continue;
    state[name] = String(value);
    names.add(name);
  }
  if (!names.size) return;
  write();
  for (const listener of listeners) listener(names);
}

/** Selects a token in all views; of the decoder, query i is what it does at step i. */
export function select(pin, more = {}) {
  const kind = more.kind ?? state.kind, step = pin[0] === "q" && kind !== "encoder" ? {step: pin.slice(1)} : {};
  set({pin, cell: "", ...step, ...more});
}

export const selectStep = step => state.kind === "encoder" ? set({step, pin: "", cell: ""}) : select(`q${step}`);

function write() {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (value !== START[name]) fields.set(name, value);
  const text = fields.toString();
  if (text.length < 20_000) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

/** Reads the fragment. */
export function read() {
  const fields = new URLSearchParams(location.hash.slice(1)), found = {...START};
  for (const name of Object.keys(START)) if (fields.has(name)) found[name] = fields.get(name);
  return found;
}
