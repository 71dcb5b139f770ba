// The words that differ between two texts.

/** Parts {kind: "same" | "removed" | "added", text, before}, by the longest common subsequence of words; `before` is how the first text has it. */
export function compare(before, after) {
  const [a, b] = [before, after].map(text => text.split(/(?<=\s)|(?=[^\p{L}\p{N}\s])/u));
  if (a.length * b.length > 1e6) return [{kind: "removed", text: before, before}, {kind: "added", text: after, before: ""}];
  const longest = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--)
    longest[i][j] = same(a[i], b[j]) ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const parts = [];
  const add = (kind, text, before = text) => {
    if (parts.at(-1)?.kind !== kind) parts.push({kind, text: "", before: ""});
    parts.at(-1).text += text;
    parts.at(-1).before += before;
  };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(a[i], b[j])) add("same", b[j++], a[i++]);
    else if (i < a.length && (j === b.length || longest[i + 1][j] >= longest[i][j + 1])) add("removed", a[i++]);
    else add("added", b[j++]);
  }
  return parts;
}

const same = (x, y) => x.trim() === y.trim();
