// Requests to the server that the page came from.

import {byId, capitalised} from "./dom.js";

/** A request that failed: `kind` is offline, busy, loading, late, key or refused. */
export class Failure extends Error {
  constructor(kind, sentence, seconds = 0) {
    super(capitalised(sentence));
    this.kind = kind;
    this.seconds = seconds; // after which to try again; 0 if that would not help
  }
}

/** What is said of a request that failed. */
export function sentenceOf({message, seconds}) {
  if (!seconds) return message;
  return `${message.replace(/\.$/, "")}; trying again${seconds > 2 ? ` in ${seconds}\u00a0s` : ""}\u00a0…`;
}

const KEY = "transduce-key";
export const setKey = key => sessionStorage.setItem(KEY, key);
export const hasKey = () => Boolean(sessionStorage.getItem(KEY));

export async function get(path) {
  return (await request(path, {})).json();
}

export async function post(path, fields, signal) {
  return (await send(path, fields, signal)).json();
}

export async function postForBytes(path, fields, signal) {
  return (await send(path, fields, signal)).arrayBuffer();
}

/** Calls `deliver` with each line of JSON, as it arrives. */
export async function postForLines(path, fields, signal, deliver) {
  const reader = (await send(path, fields, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {done, value = ""} = await reader.read();
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) deliver(JSON.parse(line));
      if (done) return;
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof Failure) throw error;
    throw new Failure("offline", "The connection to the server was lost.", 1);
  }
}

function send(path, fields, signal) {
  const key = sessionStorage.getItem(KEY);
  const body = JSON.stringify(key ? {...fields, api_key: key} : fields);
  return request(path, {method: "POST", headers: {"Content-Type": "application/json"}, body, signal});
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("offline", "The server cannot be reached.", 1);
  }
  if (response.ok) return response;
  let sentence = "";
  try { sentence = (await response.json()).error || ""; } catch { /* not JSON */ }
  throw failure(response.status, sentence, Number(response.headers.get("Retry-After")) || 1);
}

function failure(status, sentence, seconds) {
  if (status === 429) return new Failure("busy", "The server is busy.", seconds);
  if (status === 503 && /not ready in time|took too long/.test(sentence)) return new Failure("late", sentence);
  if (status === 503) return new Failure("loading", "The server is not ready.", seconds);
  if (status === 403 || /api key/i.test(sentence)) {
    byId("key-form").hidden = false;
    return new Failure("key", sentence || "The key is not valid.");
  }
  return new Failure("refused", sentence || `The server answered ${status}.`);
}

/** Runs only the newest call of `work(signal, ...)`: an older one is cancelled and never delivers. */
export function newest(work, deliver, fail) {
  let controller = null;
  const run = async (...words) => {
    controller?.abort();
    const mine = controller = new AbortController();
    try {
      const result = await work(mine.signal, ...words);
      if (mine === controller && !mine.signal.aborted) deliver(result, ...words);
    } catch (error) {
      if (mine === controller && !mine.signal.aborted) fail(error, ...words);
    }
  };
  run.cancel = () => { controller?.abort(); controller = null; };
  return run;
}
