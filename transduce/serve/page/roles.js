// What each head does in this sentence pair, by the measures of `transduce attend --heads`.

const CLEAR = .1; // a share this much larger than with equal weights gives a head its role
const BROAD = .75; // of the entropy of equal weights
const FAR = 5; // positions
const ROLES = {previous: "previous", same: "same", next: "next", special: "end", punctuation: "punctuation", far: "distant"};

/** The role of every head of a kind: [layer][head]. */
export function rolesOf(pair, kind) {
  return Array.from({length: pair.layers(kind)}, (_, layer) =>
    Array.from({length: pair.heads(kind)}, (_, head) => roleOf(pair, kind, layer + 1, head + 1)));
}

function roleOf(pair, kind, layer, head) {
  const {keys, weights} = pair.matrix(kind, layer, head, "pieces");
  const special = pair.special(kind), marks = keys.map((key, j) => j !== special && !/[\p{L}\p{N}_]/u.test(key));
  const names = Object.keys(ROLES), excess = Object.fromEntries(names.map(name => [name, 0]));
  let entropy = 0, equalEntropy = 0;
  weights.forEach((row, i) => {
    const seen = kind === "decoder" ? i + 1 : keys.length;
    equalEntropy += Math.log2(seen);
    row.forEach((weight, j) => {
      if (weight > 0) entropy -= weight * Math.log2(weight);
      if (j >= seen) return;
      const more = (weight - 1 / seen) / weights.length, offset = j - i;
      if (offset === -1) excess.previous += more;
      if (offset === 0) excess.same += more;
      if (offset === 1) excess.next += more;
      if (j === special) excess.special += more;
      if (marks[j]) excess.punctuation += more;
      if (Math.abs(offset) >= FAR && j !== special && !marks[j]) excess.far += more;
    });
  });
  const best = names.reduce((a, b) => excess[b] > excess[a] ? b : a);
  if (excess[best] >= CLEAR) return kind === "decoder" && best === "special" ? "start" : ROLES[best];
  return entropy >= BROAD * equalEntropy ? "broad" : "content";
}
