// A sentence pair inside the model: its tokens, and the attention weights of every head.

export const KINDS = {
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  cross: "attention of the decoder over the encoder",
};

const BYTES = /(?:<0x[0-9A-F]{2}>)+/g;
export const decodeBytes = text => text.replace(BYTES, run =>
  new TextDecoder().decode(Uint8Array.from(run.match(/[0-9A-F]{2}/g), code => parseInt(code, 16))));

/** A token as one reads it: a hyphen before a piece that continues a word. */
export const readable = token => decodeBytes(token.startsWith("▁") ? token.slice(1) || "▁" : /^[\p{L}\p{N}]/u.test(token) ? `-${token}` : token);

/** The answer of POST /attention: the length of the header, the header, the weights as uint8. */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return new Pair(header, new Uint8Array(buffer, 4 + length));
}

class Pair {
  constructor(header, block) {
    Object.assign(this, header); // translation, source, target, kinds, steps
    this.block = block;
    this.cache = new Map();
    const written = [...this.target.tokens.slice(1), this.source.tokens.at(-1)];
    const source = {tokens: this.source.tokens, starts: this.source.words};
    const target = {tokens: this.target.tokens, starts: this.target.words};
    // the decoder has read target[i] when it writes the token after it
    const writing = {tokens: written, starts: [...this.target.words.slice(1).map(i => i - 1), written.length - 1]};
    this.sides = {encoder: [source, source], decoder: [target, target], cross: [writing, source]};
  }

  get kindNames() { return Object.keys(this.kinds).filter(kind => this.kinds[kind].shape[0]); }
  layers(kind) { return this.kinds[kind].shape[0]; }
  heads(kind) { return this.kinds[kind].shape[1]; }

  /** The embedding of each source token, times √d_model; the block has it in 127ths of the largest number. */
  embeddings() {
    const {shape: [rows, columns], offset, largest} = this.embedding;
    return Array.from({length: rows}, (_, i) => Float32Array.from(this.block.subarray(offset + i * columns, offset + (i + 1) * columns), byte => (byte - 128) / 127 * largest));
  }

  /** The position of EOS among the keys, or of BOS in the decoder. */
  special(kind) { return kind === "decoder" ? 0 : this.source.tokens.length - 1; }

  /** The first token of a word of a side, "q" or "k"; and the word of a token, -1 if there is none. */
  tokenOf(kind, side, index, unit) { return unit === "pieces" ? index : this.#side(kind, side).starts[index]; }
  unitOf(kind, side, token, unit) {
    const {tokens, starts} = this.#side(kind, side);
    if (!(token < tokens.length)) return -1;
    return unit === "pieces" ? token : starts.findLastIndex(start => start <= token);
  }
  #side(kind, side) { return this.sides[kind][side === "q" ? 0 : 1]; }

  /** The word or piece that is selected, as "q3" or "k3"; "" if none is. */
  selected({kind, pin, unit}) {
    const index = pin ? this.unitOf(kind, pin[0], Number(pin.slice(1)), unit) : -1;
    return index < 0 ? "" : pin[0] + index;
  }

  /** Weights of a layer and head, counted from 1; 0 is the mean of all. */
  matrix(kind, layer, head, unit = "words") {
    const name = `${kind} ${layer} ${head} ${unit}`;
    if (!this.cache.has(name)) this.cache.set(name, this.#compute(kind, layer, head, unit));
    return this.cache.get(name);
  }

  #compute(kind, layer, head, unit) {
    const {shape: [layers, heads, rows, columns], offset} = this.kinds[kind];
    const chosen = (number, count) => number ? [number - 1] : Array.from({length: count}, (_, i) => i);
    const some = chosen(layer, layers).flatMap(l => chosen(head, heads).map(h => l * heads + h));
    const weights = Array.from({length: rows}, () => new Float32Array(columns));
    for (const map of some) for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++)
      weights[i][j] += this.block[offset + (map * rows + i) * columns + j] / 255 / some.length;
    const [query, key] = this.sides[kind];
    if (unit === "pieces") return {queries: query.tokens.map(readable), keys: key.tokens.map(readable), weights};
    return {queries: words(query), keys: words(key), weights: merge(weights, query.starts, key.starts)};
  }
}

function words({tokens, starts}) {
  return starts.map((start, i) => decodeBytes(tokens.slice(start, starts[i + 1]).join("").replaceAll("▁", "")));
}

/** Sums over the pieces of a key, means over those of a query. */
function merge(weights, queries, keys) {
  const ends = [...queries.slice(1), weights.length];
  const columns = keys.map((start, j) => [start, keys[j + 1] ?? weights[0].length]);
  return queries.map((start, i) => {
    const row = new Float32Array(keys.length), count = ends[i] - start;
    for (let query = start; query < ends[i]; query++)
      columns.forEach(([from, to], j) => { for (let key = from; key < to; key++) row[j] += weights[query][key] / count; });
    return row;
  });
}
