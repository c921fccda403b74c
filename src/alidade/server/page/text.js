// Two panes: the text as it is written, its translation as it comes.
import { html, useEffect, useRef, useState, useWatched, say } from "./base.js";
import { languages, pair } from "./api.js";
import { t } from "./i18n.js";
import { LinkedText, darken, light } from "./words.js";
import { workbench } from "./workbench.js";
import { Target } from "./target.js";
import { Icon } from "./icons.js";

/** A field to write in, with the words of what is written beneath it, so that they can light up. */
export function LinkedField({ id, label, text, sentences, onWrite, onSelect, placeholder, lang, describedBy }) {
  const field = useRef(null);
  const look = () => {
    const { selectionStart, selectionEnd } = field.current;
    onSelect?.(text.slice(selectionStart, selectionEnd), selectionStart);
    const n = sentences.findIndex((one) => one.start <= selectionStart && selectionStart <= one.end);
    const place = selectionStart - sentences[n]?.start;
    const word = sentences[n]?.words?.findIndex((one) => one.start <= place && place <= one.end && one.start >= 0);
    const element = word >= 0 && document.getElementById(`${id}-${n}`)?.words[word];
    if (element) light(element);
  };
  let at = 0;
  const parts = [];
  sentences.forEach((one, n) => {
    parts.push(text.slice(at, one.start));
    at = one.end;
    parts.push(html`<${LinkedText} key=${n} id="${id}-${n}" other=${one.other} text=${one.text} words=${one.words} />`);
  });
  parts.push(text.slice(at), "\n");
  return html`<div class="field">
    <div class="mirror" aria-hidden="true">${parts}</div>
    <textarea ref=${field} aria-label=${label} aria-describedby=${describedBy} value=${text} placeholder=${placeholder} lang=${lang} spellcheck="false"
      onInput=${(event) => onWrite(event.target.value)} onKeyUp=${look} onClick=${look} onSelect=${look} onBlur=${darken}></textarea>
  </div>`;
}

export function Copy({ text }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      say(t("copied"));
    } catch { say(t("notCopied")); }
  };
  return html`<button class="icon" onClick=${copy} aria-label=${t("copy")} title=${t("copy")}><${Icon} name="copy" /></button>`;
}

export function TextView() {
  useWatched(workbench.view);
  useWatched(languages);
  useEffect(() => { workbench.refresh(); }, [languages.get().chosen]);
  const sentences = workbench.sentences.map((one, n) => ({ ...one, words: workbench.answer(one)?.source, other: `text-t-${n}` }));
  const { source_language: source, target_language: target } = pair();
  return html`<div class="panes">
    <section class="pane" aria-label=${t("source")}>
      <header><h2>${t("source")}</h2>
        <span class="tools">
          <button class="icon" disabled=${!workbench.text} onClick=${() => workbench.write("")} aria-label=${t("clear")} title=${t("clear")}><${Icon} name="clear" /></button>
          <${Copy} text=${() => workbench.text} />
        </span></header>
      <${LinkedField} id="text-s" label=${t("source")} text=${workbench.text} sentences=${sentences} placeholder=${t("typeHere")} lang=${source}
        onWrite=${(text) => workbench.write(text)} />
    </section>
    <section class="pane" aria-label=${t("translation")} aria-busy=${!workbench.isComplete}>
      <header><h2>${t("translation")}</h2>
        <span class="tools">
          <button class="icon" disabled=${!workbench.past.length} onClick=${() => workbench.undo()} aria-label=${t("undo")} title=${t("undo")}><${Icon} name="undo" /></button>
          <button class="icon" disabled=${!workbench.future.length} onClick=${() => workbench.redo()} aria-label=${t("redo")} title=${t("redo")}><${Icon} name="redo" /></button>
          <${Copy} text=${() => workbench.translated} />
        </span></header>
      <${Target} bench=${workbench} id="text" label=${t("translation")} empty=${t("appears")} />
      ${workbench.error && html`<p class="error" role="alert">${workbench.error}</p>`}
    </section>
  </div>`;
}
