// The translation: words that one can look at, correct and accept. The same for a text and for a segment of a file.
import { html, useState, useEffect, useLayoutEffect, useRef, useWatched } from "./base.js";
import { ask, pair, wasStopped } from "./api.js";
import { t, percent } from "./i18n.js";
import { LinkedText, shade } from "./words.js";
import { terms } from "./terms.js";

/** All sentences of a workbench as words; `id` tells several on one page apart. */
export function Target({ bench, id, label, onWhy, empty }) {
  useWatched(bench.view);
  const [asked, setAsked] = useState(null);
  const box = useRef(null);
  const home = () => box.current.firstElementChild;
  const words = () => [...box.current.querySelectorAll("[data-i]")];

  const placeOf = (element) => {
    const sentence = bench.sentences[Number(element.parentElement.id.split("-").pop())];
    return { sentence, number: Number(element.dataset.i) };
  };
  const open = (element, typed = "") => {
    const { sentence, number } = placeOf(element);
    if (bench.answer(sentence)) setAsked({ sentence, number, typed, id: element.parentElement.id });
  };
  /** The word with this number, as soon as it has been drawn; nobody's focus is taken away who has gone elsewhere. */
  const wanted = useRef(null);
  const focusWord = (textId, number) => {
    home().focus();
    wanted.current = { textId, number };
    requestAnimationFrame(focusWanted);
  };
  const focusWanted = () => {
    if (!wanted.current) return;
    const found = document.getElementById(wanted.current.textId)?.words;
    if (!found?.length) return;
    if (document.activeElement === home()) (found[wanted.current.number] || found[found.length - 1]).focus();
    wanted.current = null;
  };
  useLayoutEffect(focusWanted);
  const close = (number = asked?.number) => {
    if (asked) focusWord(asked.id, number);
    setAsked(null);
  };

  const onKeyDown = (event) => {
    if (event.target.closest(".menu")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      event.preventDefault();
      return void (event.shiftKey ? bench.redo() : bench.undo());
    }
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "y") {
      event.preventDefault();
      return void bench.redo();
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const all = words();
    const at = all.indexOf(event.target);
    const go = (place) => {
      event.preventDefault();
      all[Math.max(0, Math.min(place, all.length - 1))]?.focus();
    };
    if (at < 0) {
      if (["Enter", "ArrowRight", "ArrowDown"].includes(event.key)) go(0);
      return;
    }
    if (event.key === "ArrowRight" || event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") go(at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(all.length - 1);
    else if (event.key === "Escape") home().focus();
    else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(event.target);
    } else if (event.key === "Tab" && !event.shiftKey) {
      const { sentence, number } = placeOf(event.target);
      if (bench.accepted(sentence).accepted <= number) bench.accept(sentence, number + 1);
      if (at < all.length - 1) {
        event.preventDefault();
        const next = placeOf(all[at + 1]);
        focusWord(all[at + 1].parentElement.id, next.number);
      }
    } else if (event.key.length === 1) {
      event.preventDefault();
      open(event.target, event.key);
    }
  };
  const onClick = (event) => {
    const word = event.target.closest("[data-i]");
    if (word) open(word);
  };

  let at = 0;
  const parts = [];
  bench.sentences.forEach((sentence, n) => {
    parts.push(bench.text.slice(at, sentence.start));
    at = sentence.end;
    const answer = bench.answer(sentence);
    const { accepted, marks } = bench.accepted(sentence);
    const shownId = `${id}-t-${n}`;
    parts.push(answer
      ? html`<${LinkedText} key=${shownId} id=${shownId} other="${id}-s-${n}" text=${answer.text} words=${answer.target}
          marks=${`${accepted} ${marks}`} draw=${drawWord(accepted, marks)} />`
      : html`<span key="${shownId}w" class="stale">${sentence.stale}</span>`);
  });
  return html`<div class="target" ref=${box} onKeyDown=${onKeyDown} onClick=${onClick}>
    <div class="words" tabindex="0" role="group" aria-label=${label} aria-describedby="${id}-hint"
      lang=${pair().target_language}>${bench.sentences.length ? parts : html`<span class="empty">${empty}</span>`}</div>
    ${asked && html`<${WordMenu} key=${`${asked.id} ${asked.number}`} bench=${bench} asked=${asked} close=${close}
      why=${onWhy && (() => { onWhy(asked.sentence); close(); })} />`}
    <p class="hint" id="${id}-hint">${t("targetHint")}</p>
  </div>`;
}

/** A function for each look of a sentence, so that sentences that look the same are not drawn again. */
const looks = new Map();
function drawWord(accepted, marks) {
  const look = `${accepted} ${marks}`;
  if (!looks.has(look)) {
    looks.set(look, (word, n, shown) => html`<span role="button" tabindex="-1" data-i=${n} aria-haspopup="dialog" class=${[
      "w", shade(word), word.starred && "starred", word.isLast && "last", accepted && (n < accepted ? "kept" : "open"), marks.includes(n) && "own",
    ].filter(Boolean).join(" ")}>${shown}</span>`);
  }
  return looks.get(look);
}

/** What else could stand at a word, and one's own word. */
function WordMenu({ bench, asked, close, why }) {
  const { sentence, number, typed } = asked;
  const answer = bench.answer(sentence);
  const word = answer?.target[number];
  const [found, setFound] = useState(null);
  const [error, setError] = useState("");
  const [own, setOwn] = useState(typed);
  const box = useRef(null);
  const field = useRef(null);

  useEffect(() => {
    const stopping = new AbortController();
    const prefix = answer.text.slice(0, word.start).trimEnd();
    ask("/api/alternatives", { ...pair(), ...terms.question(), text: sentence.text, prefix, with_translations: false }, { signal: stopping.signal })
      .then((one) => setFound(one.alternatives.slice(0, 6)))
      .catch((problem) => wasStopped(problem) || setError(problem.message));
    return () => stopping.abort();
  }, []);
  useLayoutEffect(() => {
    place(box.current, document.getElementById(asked.id)?.words[number]);
    if (typed) field.current.focus();
    else box.current.focus();
    const outside = (event) => box.current?.contains(event.target) || close();
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, []);
  if (!word) return null;

  const choose = (text) => {
    if (!text.trim()) return;
    bench.correct(sentence, number, text);
    close(number + text.trim().split(/\s+/).length - 1);
  };
  const onKeyDown = (event) => {
    event.stopPropagation();
    const options = [...box.current.querySelectorAll("button, input")];
    const at = options.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      options[(at + step + options.length) % options.length].focus();
    } else if (event.key === "Tab") {
      event.preventDefault();
      options[(at + (event.shiftKey ? -1 : 1) + options.length) % options.length].focus();
    } else if (event.key.length === 1 && document.activeElement !== field.current && event.key !== " ") field.current.focus();
  };
  const from = word.partners.map((n) => answer.source[n].text).join(" ");
  return html`<div class="menu" ref=${box} role="dialog" tabindex="-1" aria-label=${t("alternativesFor", { word: word.text })} onKeyDown=${onKeyDown}>
    <p class="from">${from ? html`<span lang=${pair().source_language}>${from}</span> → <b lang=${pair().target_language}>${word.text}</b>` : t("fromNothing")}
      ${from && html`<span class="share">${percent(word.sure)}</span>`}</p>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <ul class="options" lang=${pair().target_language} aria-busy=${!found}>${(found || []).map((one) => html`<li key=${one.word}>
      <button onClick=${() => choose(one.word)}>
        <span class="option">${one.word}</span><${Bar} share=${one.share} /><span class="share">${percent(one.share)}</span></button></li>`)}</ul>
    <form onSubmit=${(event) => { event.preventDefault(); choose(own); }}>
      <input ref=${field} value=${own} onInput=${(event) => setOwn(event.target.value)} lang=${pair().target_language}
        aria-label=${t("ownWord")} placeholder=${t("ownWord")} autocomplete="off" />
      <button class="small" disabled=${!own.trim()}>${t("put")}</button>
    </form>
    <div class="row">
      <button class="plain" onClick=${() => { bench.accept(sentence, number + 1); close(); }}>${t("keepToHere")}</button>
      ${why && html`<button class="plain" onClick=${why}>${t("whyWord")}</button>`}
    </div>
  </div>`;
}

/** A share as a small bar. */
export function Bar({ share }) {
  return html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=${Math.round(100 * share)} height="4" /></svg>`;
}

/** Below its word, inside of the pane. */
function place(menu, word) {
  if (!word) return;
  const pane = menu.offsetParent.getBoundingClientRect();
  const at = word.getBoundingClientRect();
  const left = Math.max(0, Math.min(at.left - pane.left - 8, pane.width - menu.offsetWidth));
  menu.style.left = `${left}px`;
  menu.style.top = `${at.bottom - pane.top + 6}px`;
}
