// The probability of each word of a translation, from those of its tokens.

/** The translation in pieces {text, probability}; spaces and words without a score have null. */
export function splitWords({text, scores = []}) {
  const byCharacter = new Float32Array(text.length).fill(NaN);
  let start = 0;
  for (const part of scores) {
    if (part.tokens) place(part, byCharacter, start);
    start += part.text.length;
  }
  const pieces = [];
  let at = 0;
  for (const piece of text.split(/(\s+)/)) {
    const some = byCharacter.subarray(at, at + piece.length).filter(value => !isNaN(value));
    at += piece.length;
    if (piece) pieces.push({text: piece, probability: some.length && piece.trim() ? Math.exp(some.reduce((a, b) => a + b, 0)) : null});
  }
  return pieces;
}

/** Writes the log-probability of each token at its first character. */
function place({text, tokens, tokenScores, units = [tokens.length]}, byCharacter, start) {
  const ended = tokenScores.length === tokens.length + units.length; // each sentence has a score of EOS
  if (!ended && tokenScores.length !== tokens.length) return;
  const lower = text.toLowerCase(); // a source in capitals was translated in ordinary case
  let token = 0, score = 0, at = 0;
  for (const count of units) {
    for (let i = 0; i < count; i++, token++, score++) {
      const surface = tokens[token].replaceAll("▁", "").toLowerCase();
      const found = surface ? lower.indexOf(surface, at) : -1;
      if (found < 0 || found > at + 12) continue;
      byCharacter[start + found] = tokenScores[score];
      at = found + surface.length;
    }
    if (ended) score++;
  }
}
