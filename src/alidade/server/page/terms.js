// The open dictionary: its entries, how they count, and what became of them in the text.
import { watched, keep, kept, download } from "./base.js";
import { ask, send, pair } from "./api.js";

const PATH = "/api/dictionaries";

class Terms {
  constructor() {
    this.view = watched({ all: [], open: null });
    /** Counts whatever may change a translation. */
    this.changed = watched(0);
    this.numUnderWay = 0;
  }

  get open() { return this.view.get().open; }

  /** Part of what a translation is filed under. */
  stamp() { return this.open ? `${this.open.id} ${this.changed.get()}` : ""; }

  /** Part of a question to the server. */
  question() {
    return this.open ? { dictionary_ids: [this.open.id], mode: this.open.mode, inflect: this.open.inflect } : {};
  }

  async load() {
    const { source_language: source, target_language: target } = pair();
    const all = (await ask(PATH)).filter((one) => one.source_language === source && one.target_language === target);
    this.view.change({ all });
    const last = all.find((one) => one.id === kept.get().dictionary);
    await this.choose(last?.id);
  }

  async choose(id) {
    keep({ dictionary: id || "" });
    const before = this.open?.id;
    this.view.change({ open: id ? await ask(`${PATH}/${id}`) : null });
    if (before !== id) this.changed.set(this.changed.get() + 1);
  }

  async again(id) {
    const open = await ask(`${PATH}/${id}`);
    if (this.numUnderWay) return; // older than what shows; the change under way asks again
    const all = this.view.get().all.filter((one) => one.id !== id);
    this.view.set({ all: [...all, open], open });
    keep({ dictionary: id });
    this.changed.set(this.changed.get() + 1);
  }

  async create(name, mode = "require") {
    const made = await ask(PATH, { ...pair(), name, mode, entries: [] }, { patient: false });
    await this.again(made.id);
  }

  /** Settings show at once: the next one may be changed while the server is still told of this one. */
  async change({ entries, removed, ...settings }) {
    const { id } = this.open;
    this.view.change({ open: { ...this.open, ...settings } });
    this.numUnderWay++;
    try {
      await send(`${PATH}/${id}`, { method: "PATCH", json: { entries, removed, ...settings } });
    } finally {
      this.numUnderWay--;
      if (!this.numUnderWay && this.open?.id === id) await this.again(id);
    }
  }

  /** Into the open dictionary, or into a new one. */
  async put(entry, name, replaced) {
    if (!this.open) await this.create(name);
    await this.change({ entries: [entry], removed: replaced && replaced !== entry.source ? [replaced] : [] });
  }

  async remove(source) { await this.change({ removed: [source] }); }

  async removeAll() {
    const { id } = this.open;
    await send(`${PATH}/${id}`, { method: "DELETE" });
    this.view.change({ all: this.view.get().all.filter((one) => one.id !== id) });
    await this.choose("");
  }

  async import(file) {
    const form = new FormData();
    form.append("file", file);
    for (const [name, value] of Object.entries({ ...pair(), mode: "require" })) form.append(name, value);
    const made = await (await send(`${PATH}/import`, { method: "POST", form, patient: false })).json();
    await this.again(made.id);
    return made.num_entries;
  }

  async export(format) {
    const response = await send(`${PATH}/${this.open.id}/export?format=${format}`);
    download(await response.blob(), `${this.open.name}.${format}`);
  }
}

export const terms = new Terms();

/** A dictionary's entry as it is written in a field: several forms with `|` between them. */
export const readForms = (text) => text.split("|").map((form) => form.trim()).filter(Boolean);

/** What became of the entries in some translations: for each source how often it was used and how often not, and why. */
export function uses(answers) {
  const found = new Map();
  for (const answer of answers) {
    for (const one of answer?.entries || []) {
      const source = one.entry.split(" = ")[0];
      const known = found.get(source) || { source, used: 0, unused: 0, forms: new Set(), reason: "" };
      if (one.is_used) {
        known.used++;
        known.forms.add(one.form);
      } else {
        known.unused++;
        known.reason = one.reason;
      }
      found.set(source, known);
    }
  }
  return found;
}
