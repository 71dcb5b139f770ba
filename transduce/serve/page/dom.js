// Makes elements; text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== false && child !== undefined));
  return node;
}

export const html = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

export const byId = id => document.getElementById(id);

/** The colour of a CSS variable, as the present theme has it. */
export function color(name) {
  const probe = html("i", {style: `color: var(${name})`, hidden: true});
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export const capitalised = text => text.replace(/^./u, first => first.toUpperCase());

export function percent(share) {
  if (share < .0005) return "<0.1 %";
  return share < .00995 ? `${(100 * share).toFixed(1)} %` : `${Math.round(100 * share)} %`;
}

const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text in the font of the page. */
export function textWidth(text, size = 15, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

export function download(name, blob) {
  const link = html("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // a slow machine may begin late
}
