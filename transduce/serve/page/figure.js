// Figures: matrices as images, labels that react, and files of them.

import {color, download, html, svg} from "./dom.js";

const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "opacity", "font-family", "font-size", "font-style", "font-weight", "text-anchor", "dominant-baseline", "visibility", "display", "image-rendering"];

/** An SVG image of a matrix with one pixel for each cell; `shade` gives 0 to 1, negative for the other colour. */
export function matrixImage(weights, {x = 0, y = 0, width, height, shade = weight => weight}) {
  const canvas = html("canvas", {width: weights[0].length, height: weights.length});
  const context = canvas.getContext("2d"), pixels = context.createImageData(canvas.width, canvas.height);
  const colors = [color("--heat"), color("--doubt-mark")].map(text => text.match(/[\d.]+/g).map(Number));
  let at = 0;
  for (const row of weights) for (const weight of row) {
    const value = shade(weight), [red, green, blue] = colors[value < 0 ? 1 : 0];
    pixels.data.set([red, green, blue, Math.min(255, Math.round(255 * Math.abs(value)))], at);
    at += 4;
  }
  context.putImageData(pixels, 0, 0);
  return svg("image", {href: canvas.toDataURL(), x, y, width, height, preserveAspectRatio: "none", class: "matrix"});
}

/** Enter and space click an element of a drawing, as they do a button; without a label its text is its name. */
export function asButton(node, label, act) {
  node.setAttribute("role", "button");
  node.setAttribute("tabindex", "0");
  if (label) node.setAttribute("aria-label", label);
  node.addEventListener("click", act);
  node.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act(event);
  });
  return node;
}

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

/** Of many buttons only one is a stop of the Tab key, the first that is `chosen` or else the first; arrow keys go to the nearest. */
export function arrowKeys(box, buttons, chosen) {
  const all = [...box.querySelectorAll(buttons)], stop = node => { for (const one of all) one.setAttribute("tabindex", one === node ? 0 : -1); };
  const centre = node => { const {x, y, width, height} = node.getBoundingClientRect(); return [x + width / 2, y + height / 2]; };
  stop(all.find(node => node.matches(chosen)) || all[0]);
  box.addEventListener("focusin", event => { if (all.includes(event.target)) stop(event.target); });
  box.addEventListener("keydown", event => {
    const [right, down] = ARROWS[event.key] || [];
    if (right === undefined || !all.includes(event.target)) return;
    event.preventDefault();
    const [x, y] = centre(event.target);
    const far = node => {
      const [dx, dy] = centre(node).map((value, i) => value - [x, y][i]), along = right * dx + down * dy;
      return along > 4 ? along + 3 * Math.abs(right ? dy : dx) : Infinity;
    };
    const next = all.reduce((a, b) => far(b) < far(a) ? b : a);
    if (far(next) < Infinity) next.focus();
  });
}

/** The drawing as the text of an SVG file that needs nothing else. */
function svgText(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, i) => {
    const style = getComputedStyle(original), kept = [];
    for (const name of COPIED) if (style.getPropertyValue(name)) kept.push(`${name}:${style.getPropertyValue(name)}`);
    copies[i].setAttribute("style", kept.join(";"));
    for (const name of ["class", "role", "tabindex"]) copies[i].removeAttribute(name);
  });
  const {width, height} = drawing.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(svg("rect", {width, height, fill: color("--card")}));
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(drawing, name) {
  download(`${name}.svg`, new Blob([svgText(drawing)], {type: "image/svg+xml"}));
}

export async function savePng(drawing, name) {
  const {width, height} = drawing.viewBox.baseVal, scale = Math.min(2, 8000 / Math.max(width, height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(drawing))}`;
  await image.decode();
  const canvas = html("canvas", {width: Math.ceil(width * scale), height: Math.ceil(height * scale)});
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob(blob => download(`${name}.png`, blob), "image/png");
}

/** The width of a box without its padding. */
export function contentWidth(box) {
  const style = getComputedStyle(box);
  return box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

/** A drawing of a size; it scrolls sideways in its box when it does not fit. */
export const drawing = (width, height, label, ...children) =>
  svg("svg", {viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`, width: Math.ceil(width), height: Math.ceil(height), role: "group", "aria-label": label}, ...children);
