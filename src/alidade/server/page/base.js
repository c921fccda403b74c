// What all modules share: preact, values that the page watches, and what the browser keeps of them.
import { html, render, Component, useState, useEffect, useLayoutEffect, useRef, useMemo } from "./vendor/preact-htm.js";

export { html, render, useState, useEffect, useLayoutEffect, useRef, useMemo };

/** A value with those who watch it. */
export function watched(value) {
  const watchers = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const watcher of [...watchers]) watcher();
    },
    change(part) { this.set({ ...value, ...part }); },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

/** The value, now and whenever it changes. */
export function useWatched(one) {
  const [, redraw] = useState(0);
  useLayoutEffect(() => one.watch(() => redraw((n) => n + 1)), [one]);
  return one.get();
}

/** A component that is drawn again only when one of its properties has changed. */
export function memo(draw) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const now = this.props;
      for (const name in next) if (next[name] !== now[name]) return true;
      for (const name in now) if (!(name in next)) return true;
      return false;
    }
    render(props) { return draw(props); }
  };
}

function read() {
  try { return JSON.parse(localStorage.getItem("alidade") || "{}"); } catch { return {}; }
}

/** What the browser remembers: text, languages, dictionary, theme. */
export const kept = watched(read());
export function keep(part) {
  kept.change(part);
  try { localStorage.setItem("alidade", JSON.stringify(kept.get())); } catch { /* private windows keep nothing */ }
}

/** A sentence for a moment at the bottom of the page, and for screen readers. */
export const notice = watched("");
let noticeTimer = 0;
export function say(text) {
  notice.set(text);
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => notice.set(""), 4000);
}

export function debounce(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

/** Save bytes under a name, as a link would. */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
