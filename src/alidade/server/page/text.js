// Two panes: the text as it is written, its translation as it comes.
import { html, useEffect, useRef, useState, useWatched, say } from "./base.js";
import { languages, pair } from "./api.js";
import { t } from "./i18n.js";
import { LinkedText, darken, light } from "./words.js";
import { workbench } from "./workbench.js";
import { Target } from "./target.js";
import { DictionaryPane, TermDialogue } from "./dictionary.js";
import { Why } from "./why.js";
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

/** The target words that belong to a stretch of the source, as they stand in the translation. */
function partnersOf(start, end) {
  const sentence = workbench.sentences.find((one) => one.start <= start && end <= one.end);
  const answer = sentence && workbench.answer(sentence);
  if (!answer) return "";
  const chosen = answer.source.filter((word) => word.start >= 0 && word.start + sentence.start < end && word.end + sentence.start > start);
  const numbers = [...new Set(chosen.flatMap((word) => word.partners))].sort((one, other) => one - other);
  return numbers.map((n) => answer.target[n].text).join(" ");
}

export function TextView() {
  useWatched(workbench.view);
  useWatched(languages);
  const [selected, setSelected] = useState(null);
  const [term, setTerm] = useState(null);
  const [below, setBelow] = useState("dictionary");
  const [asked, setAsked] = useState(0);
  useEffect(() => { workbench.refresh(); }, [languages.get().chosen]);
  const sentences = workbench.sentences.map((one, n) => ({ ...one, words: workbench.answer(one)?.source, other: `text-t-${n}` }));
  const answers = workbench.sentences.map((one) => workbench.answer(one));
  const { source_language: source, target_language: target } = pair();
  const giveTerm = () => setTerm({ source: selected.text.trim(), targets: [partnersOf(selected.start, selected.start + selected.text.length)].filter(Boolean) });
  const explain = (sentence) => {
    setAsked(workbench.sentences.indexOf(sentence));
    setBelow("why");
  };
  const isTerm = selected?.text.trim() && selected.text.length < 200 && !selected.text.includes("\n");
  return html`<div class="panes">
    <section class="pane" aria-label=${t("source")}>
      <header><h2>${t("source")}</h2>
        <span class="tools">
          <button class="plain" disabled=${!isTerm} onClick=${giveTerm}><${Icon} name="term" /> ${t("alwaysAs")}</button>
          <button class="icon" disabled=${!workbench.text} onClick=${() => workbench.write("")} aria-label=${t("clear")} title=${t("clear")}><${Icon} name="clear" /></button>
          <${Copy} text=${() => workbench.text} />
        </span></header>
      <${LinkedField} id="text-s" label=${t("source")} text=${workbench.text} sentences=${sentences} placeholder=${t("typeHere")} lang=${source}
        onWrite=${(text) => workbench.write(text)} onSelect=${(text, start) => setSelected({ text, start })} />
    </section>
    <section class="pane" aria-label=${t("translation")} aria-busy=${!workbench.isComplete}>
      <header><h2>${t("translation")}</h2>
        <span class="tools">
          <button class="icon" disabled=${!workbench.past.length} onClick=${() => workbench.undo()} aria-label=${t("undo")} title=${t("undo")}><${Icon} name="undo" /></button>
          <button class="icon" disabled=${!workbench.future.length} onClick=${() => workbench.redo()} aria-label=${t("redo")} title=${t("redo")}><${Icon} name="redo" /></button>
          <${Copy} text=${() => workbench.translated} />
        </span></header>
      <${Target} bench=${workbench} id="text" label=${t("translation")} empty=${t("appears")} onWhy=${explain} />
      ${workbench.error && html`<p class="error" role="alert">${workbench.error}</p>`}
    </section>
  </div>
  <div class="below">
    <div class="tabs" role="tablist" aria-label=${t("below")} onKeyDown=${(event) => { if (event.key.startsWith("Arrow")) { setBelow(below === "why" ? "dictionary" : "why"); event.currentTarget.querySelector("[tabindex='-1']").focus(); } }}>
      ${["dictionary", "why"].map((name) => html`<button key=${name} role="tab" id="tab-${name}" aria-selected=${String(below === name)} aria-controls="below" tabindex=${below === name ? 0 : -1}
        onClick=${() => setBelow(name)}>${t(name === "why" ? "whyWord" : name)}</button>`)}</div>
    <div id="below" role="tabpanel" aria-labelledby="tab-${below}">
      ${below === "why" ? html`<${Why} bench=${workbench} sentence=${workbench.sentences[asked]} other="text-s-${asked}" />` : html`<${DictionaryPane} answers=${answers} />`}
    </div>
  </div>
  ${term && html`<${TermDialogue} entry=${term} close=${() => setTerm(null)} />`}`;
}
