// Words and links: offsets as JavaScript counts them, partners of words, and what lights up when one looks at a word.
import { html, memo } from "./base.js";

/** The server counts characters, JavaScript counts halves of those beyond the first plane. */
export function places(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (n) => n;
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (n) => starts[n];
}

/** A translation as the page draws it: word places, each word's partners, how sure its links are. */
export function prepare(result) {
  const inSource = places(result.source_text);
  const inTarget = places(result.text);
  const source = result.source_words.map((w) => ({
    text: w.text, start: w.start === null ? -1 : inSource(w.start), end: w.end === null ? -1 : inSource(w.end), partners: [], sure: 0,
  }));
  const target = result.target_words.map((w) => ({
    text: w.text, start: inTarget(w.start), end: inTarget(w.end), partners: [], sure: 0, starred: w.is_from_dictionary,
  }));
  for (const { target_words: numbers } of result.entries) if (numbers.length) target[numbers[numbers.length - 1]].isLast = true;
  for (const link of result.links) {
    const s = source[link.source], t = target[link.target];
    s.partners.push(link.target);
    t.partners.push(link.source);
    s.sure = Math.max(s.sure, link.confidence);
    t.sure = Math.max(t.sure, link.confidence);
  }
  return { ...result, source, target };
}

const SHADES = [0.2, 0.35, 0.5];
/** "x": nothing explains it; "u": nothing belongs to it; "c0" to "c3": from unsure to sure. */
export function shade(word) {
  if (word.isUnexplained) return "x";
  if (!word.partners.length) return /[\p{L}\p{N}]/u.test(word.text) ? "u" : "c3";
  const level = SHADES.findIndex((limit) => word.sure < limit);
  return `c${level < 0 ? 3 : level}`;
}

/** A text cut at its words: plain text between them, `draw(word, number, text)` for each. */
export function withWords(text, words, draw) {
  const parts = [];
  let at = 0;
  words.forEach((word, number) => {
    if (word.start < at) return;
    if (word.start > at) parts.push(text.slice(at, word.start));
    parts.push(draw(word, number, text.slice(word.start, word.end)));
    at = word.end;
  });
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/** Let the element of a text know its words and their partners; `other`: the id of the text on the other side. */
export function tell(element, words, other) {
  if (!element) return;
  element.linked = words;
  element.other = other;
  element.words = [];
  for (const child of element.children) if (child.dataset.i) element.words[child.dataset.i] = child;
}

/** A text whose words light up with their partners; drawn again only when it has changed. */
export const LinkedText = memo(({ id, other, text, words, marks, draw }) => {
  const plain = (word, number, shown) => html`<span class="w ${shade(word)}" data-i=${number}>${shown}</span>`;
  return html`<span class="linked" id=${id} data-marks=${marks} ref=${(element) => tell(element, words, other)}>${
    words ? withWords(text, words, draw || plain) : text}</span>`;
});

let lit = [];
let here = null;

export function darken() {
  for (const element of lit) element.classList.remove("lit", "here");
  lit = [];
  here = null;
}

/** Light a word up, and the words that belong to it on the other side. Nothing else is touched. */
export function light(element) {
  if (element === here) return;
  darken();
  const text = element?.parentElement;
  if (!text?.linked) return;
  here = element;
  element.classList.add("here");
  lit.push(element);
  const others = document.getElementById(text.other)?.words || [];
  for (const number of text.linked[element.dataset.i]?.partners || []) {
    const partner = others[number];
    if (partner) {
      partner.classList.add("lit");
      lit.push(partner);
    }
  }
}

const wordOf = (element) => element.closest?.(".linked > [data-i]");

/** The word under a point, also where a text field lies over it. */
export function wordAt(x, y) {
  for (const element of document.elementsFromPoint(x, y)) {
    const word = wordOf(element);
    if (word) return word;
  }
  return null;
}

/** Hovering and focus, for the whole page at once. */
export function listen(root) {
  let frame = 0;
  let point = null;
  const look = () => {
    frame = 0;
    const word = wordAt(point.x, point.y);
    if (word) light(word);
    else if (!document.activeElement?.dataset.i) darken();
  };
  root.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    point = { x: event.clientX, y: event.clientY };
    frame ||= requestAnimationFrame(look);
  });
  root.addEventListener("pointerleave", darken);
  root.addEventListener("focusin", (event) => {
    const word = wordOf(event.target);
    if (word) light(word);
  });
}
