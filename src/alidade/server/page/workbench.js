// The text under work: its sentences, their translations and what a person has corrected. No drawing here.
//
// Every translation is filed under what it was asked for (sentence, dictionary, kept beginning). What is shown is
// looked up there, so an answer that comes late is filed and never shown in the place of a newer one.
import { watched, debounce, keep, kept } from "./base.js";
import { ask, pair, wasStopped } from "./api.js";
import { places, prepare } from "./words.js";
import { terms } from "./terms.js";

const TYPING_PAUSE = 150;
const AT_ONCE = 8;
const MOST_KEPT = 4000;

/** Where two texts differ: how long they are alike from the start and from the end. */
function difference(old, now) {
  const most = Math.min(old.length, now.length);
  let start = 0;
  while (start < most && old[start] === now[start]) start++;
  let end = 0;
  while (end < most - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  return { start, end };
}

/** Sentences after an edit, before the server has said where they are now: what was touched becomes one open stretch. */
export function moveSentences(sentences, old, now) {
  const { start, end } = difference(old, now);
  const before = sentences.filter((one) => one.end < start);
  const after = sentences.filter((one) => one.start > old.length - end);
  const touched = sentences.filter((one) => !before.includes(one) && !after.includes(one));
  const shift = now.length - old.length;
  const moved = after.map((one) => ({ ...one, start: one.start + shift, end: one.end + shift }));
  const from = Math.min(start, ...touched.map((one) => one.start));
  const to = Math.max(now.length - end, ...touched.map((one) => one.end + shift));
  const middle = { start: from, end: Math.max(from, to), text: now.slice(from, Math.max(from, to)), stale: touched.map((one) => one.shown || one.stale || "").join(" ") };
  return [...before, ...(middle.text.trim() ? [middle] : []), ...moved];
}

class Workbench {
  constructor() {
    this.view = watched(0);
    this.text = "";
    this.sentences = [];
    this.answers = new Map();
    this.corrections = new Map();
    this.past = [];
    this.future = [];
    this.error = "";
    this.running = null;
    this.refreshSoon = debounce(TYPING_PAUSE, () => this.refresh());
  }

  changed() { this.view.set(this.view.get() + 1); }

  key(text) {
    const prefix = this.corrections.get(text)?.prefix || "";
    return [pair().target_language, terms.stamp(), text, prefix].join("\u0001");
  }

  /** The translation of a sentence as it stands, or nothing yet. */
  answer(sentence) {
    const found = this.answers.get(this.key(sentence.text));
    if (found) sentence.shown = found.text;
    return found;
  }

  get isComplete() { return this.sentences.every((one) => this.answer(one)); }

  /** The whole translation; sentences that are not translated yet are left out. */
  get translated() {
    let at = 0;
    let text = "";
    for (const one of this.sentences) {
      text += this.text.slice(at, one.start) + (this.answer(one)?.text ?? one.stale ?? "");
      at = one.end;
    }
    return this.sentences.length ? text + this.text.slice(at) : "";
  }

  write(text) {
    if (text === this.text) return;
    this.sentences = moveSentences(this.sentences, this.text, text);
    this.text = text;
    keep({ text });
    this.changed();
    this.refreshSoon();
  }

  stop() {
    this.running?.abort();
    this.running = new AbortController();
    return this.running.signal;
  }

  /** Ask where the sentences are, and for the translations that are not there yet. */
  async refresh() {
    const signal = this.stop();
    const { text } = this;
    try {
      const spans = text.trim() ? await ask("/api/sentences", { ...pair(), text }, { signal }) : [];
      if (text !== this.text) return;
      this.settle(spans);
      this.changed();
    } catch (error) {
      if (wasStopped(error)) return;
      this.error = error.message;
      return void this.changed();
    }
    await this.complete(signal);
  }

  settle(spans) {
    const place = places(this.text);
    const old = new Map(this.sentences.map((one) => [one.start, one.shown || one.stale]));
    this.sentences = spans.map((span) => {
      const start = place(span.start), end = place(span.end);
      return { start, end, text: this.text.slice(start, end), stale: old.get(start) || "" };
    });
  }

  /** Sentences of which something is kept are asked for one by one, the others together. */
  async translate(missing, signal) {
    const plain = [...new Set(missing.filter((one) => !this.corrections.get(one.text)?.prefix).map((one) => one.text))];
    const begun = [...new Set(missing.map((one) => one.text).filter((text) => this.corrections.get(text)?.prefix))];
    for (let first = 0; first < plain.length; first += AT_ONCE) await this.fetch(plain.slice(first, first + AT_ONCE), signal);
    for (const text of begun) await this.fetch([text], signal);
  }

  async fetch(texts, signal) {
    const keys = texts.map((text) => this.key(text));
    const prefix = this.corrections.get(texts[0])?.prefix || null;
    const { translations } = await ask("/api/translate", { ...pair(), ...terms.question(), text: texts, prefix }, { signal });
    translations.forEach((one, n) => this.answers.set(keys[n], prepare(one)));
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= MOST_KEPT) break;
      this.answers.delete(oldest);
    }
    this.changed();
  }

  // Corrections

  remember() {
    this.past = [...this.past.slice(-200), this.corrections];
    this.future = [];
  }

  set(text, correction) {
    this.remember();
    this.corrections = new Map(this.corrections).set(text, correction);
  }

  /** Keep the words before `number`, put one's own there, and have the rest translated anew. */
  async correct(sentence, number, own) {
    const answer = this.answer(sentence);
    if (!answer || !own.trim()) return;
    const { marks = [] } = this.corrections.get(sentence.text) || {};
    const before = answer.text.slice(0, answer.target[number].start);
    const size = own.trim().split(/\s+/).length;
    const places = Array.from({ length: size }, (_, n) => number + n);
    const prefix = before + own.trim();
    this.set(sentence.text, { prefix, accepted: number + size, marks: [...marks.filter((n) => n < number), ...places] });
    sentence.stale = prefix;
    this.changed();
    await this.complete();
  }

  /** Ask for whatever is not translated as it now should be. */
  async complete(signal = this.stop()) {
    try {
      await this.translate(this.sentences.filter((one) => !this.answer(one)), signal);
      this.error = "";
    } catch (error) {
      if (!wasStopped(error)) this.error = error.message;
    }
    this.changed();
  }

  /** Keep the first words as they are, whatever happens to the rest. */
  accept(sentence, count) {
    const answer = this.answer(sentence);
    const { marks = [] } = this.corrections.get(sentence.text) || {};
    const prefix = count ? answer.text.slice(0, answer.target[count - 1].end) : "";
    this.set(sentence.text, { prefix, accepted: count, marks: marks.filter((n) => n < count) });
    this.answers.set(this.key(sentence.text), answer);
    this.changed();
  }

  accepted(sentence) { return this.corrections.get(sentence.text) || { accepted: 0, marks: [] }; }

  undo() { this.step(this.past, this.future); }
  redo() { this.step(this.future, this.past); }

  step(from, to) {
    if (!from.length) return;
    to.push(this.corrections);
    this.corrections = from.pop();
    this.changed();
    this.complete();
  }
}

export const workbench = new Workbench();
workbench.text = kept.get().text || "";

export { Workbench };
terms.changed.watch(() => workbench.refresh());
