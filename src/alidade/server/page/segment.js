// A segment of a file, open: the same words, alternatives and corrections as in a text, or plain writing.
import { html, debounce, useEffect, useMemo, useRef, useState, useWatched } from "./base.js";
import { ask, send, pair, wasStopped } from "./api.js";
import { t } from "./i18n.js";
import { LinkedText, prepare } from "./words.js";
import { LinkedField } from "./text.js";
import { Workbench } from "./workbench.js";
import { Target } from "./target.js";
import { terms } from "./terms.js";
import { TermDialogue } from "./dictionary.js";

/** A workbench with one sentence, whose translation is given. */
function benchFor(source, target) {
  const bench = new Workbench();
  bench.text = source;
  bench.sentences = [{ start: 0, end: source.length, text: source, stale: target }];
  return bench;
}

const align = async (source, target, options) => prepare(await ask("/api/align", { ...pair(), source, target }, options));

const prefixOf = (bench) => bench.corrections.get(bench.sentences[0].text)?.prefix;

/** What a translation links, or the rest of a correction, or a translation where there is none. Writing stops it, for it
    would bring the old text back. */
async function fillIn(bench, target) {
  const [sentence] = bench.sentences;
  const signal = bench.stop();
  try {
    if (target.trim() && !prefixOf(bench)) bench.answers.set(bench.key(sentence.text), await align(sentence.text, target, { signal }));
    else await bench.translate([sentence], signal);
    bench.changed();
  } catch (problem) {
    if (!wasStopped(problem)) throw problem;
  }
}

/** The text as it is to be saved: a correction has its rest, which may still be on its way. */
async function finalText(bench) {
  const [sentence] = bench.sentences;
  while (prefixOf(bench) && !bench.answer(sentence)) {
    await bench.complete();
    if (bench.error) throw new Error(bench.error);
  }
  return bench.answer(sentence)?.text ?? sentence.stale;
}

/** Whoever writes one segment as text writes the next one so, too. */
let wasPlain = false;

export function SegmentEditor({ document, segment, saved, close }) {
  const benches = useMemo(() => segment.sources.map((source, n) => benchFor(source, segment.targets[n] || "")), []);
  const [error, setError] = useState("");
  const [isPlain, setPlain] = useState(wasPlain);
  const box = useRef(null);
  const setIsPlain = (is) => setPlain(wasPlain = is);
  const [term, setTerm] = useState(null);
  useEffect(() => { box.current.querySelector("textarea, .target .words").focus({ preventScroll: true }); }, [isPlain]);
  useEffect(() => {
    const showError = (problem) => setError(problem.message);
    benches.forEach((bench, n) => fillIn(bench, segment.targets[n] || "").catch(showError));
    // A new term changes what the machine has written, and nothing that a person has.
    return terms.changed.watch(() => benches.forEach((bench, n) => {
      const kept = segment.state === "machine" ? "" : segment.targets[n] || "";
      fillIn(bench, bench.sentences[0].written ?? kept).catch(showError);
    }));
  }, []);
  const save = async (goesOn) => {
    try {
      const json = { targets: await Promise.all(benches.map(finalText)) };
      const response = await send(`/api/documents/${document}/segments/${segment.number}`, { method: "PUT", json });
      saved(await response.json(), goesOn);
    } catch (problem) { setError(problem.message); }
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save(true);
    else if (event.key === "Escape" && !event.defaultPrevented && !event.target.closest(".words")) close();
    else return;
    event.preventDefault();
  };
  const giveTerm = () => setTerm({ source: String(getSelection()).trim() || segment.sources[0] });
  return html`<div class="editor" ref=${box} onKeyDown=${onKeyDown}>
    ${benches.map((bench, n) => html`<${Form} key=${n} bench=${bench} n=${n} isPlain=${isPlain} />`)}
    ${segment.unused.length > 0 && html`<p class="unused">${t("termsUnused")}: ${segment.unused.join(", ")}</p>`}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <div class="bar-row">
      <span class="soft">${segment.place}</span>
      <button class="plain" aria-pressed=${String(isPlain)} onClick=${() => setIsPlain(!isPlain)}>${t("asText")}</button>
      <button class="plain" onClick=${() => benches.forEach((bench) => bench.undo())}>${t("undo")}</button>
      <button class="plain" onMouseDown=${(event) => event.preventDefault()} onClick=${giveTerm}>${t("alwaysAs")}</button>
      <span class="end"><button onClick=${close}>${t("cancel")}</button> <button onClick=${() => save(false)}>${t("save")}</button>
      <button class="main" onClick=${() => save(true)} title="Ctrl+Enter">${t("saveNext")}</button></span>
    </div>
    ${term && html`<${TermDialogue} entry=${term} close=${() => setTerm(null)} />`}
  </div>`;
}

/** One form: there are several where the file has plurals. */
function Form({ bench, n, isPlain }) {
  useWatched(bench.view);
  const [sentence] = bench.sentences;
  const answer = bench.answer(sentence);
  const id = `segment${n}`;
  const linkSoon = useMemo(() => debounce(250, async (text) => {
    const found = await align(sentence.text, text).catch(() => null);
    if (!found || sentence.stale !== text) return;
    bench.answers.set(bench.key(sentence.text), found);
    bench.changed();
  }), []);
  const write = (text) => {
    bench.stop();
    bench.corrections = new Map();
    bench.answers.delete(bench.key(sentence.text));
    sentence.stale = sentence.written = text;
    bench.changed();
    linkSoon(text);
  };
  const text = answer?.text ?? sentence.stale;
  return html`<div class="form">
    <p class="words" lang=${pair().source_language}><${LinkedText} id="${id}-s-0" other="${id}-t-0" text=${sentence.text} words=${answer?.source} /></p>
    ${isPlain
      ? html`<${LinkedField} id="${id}-t" label=${t("translation")} text=${text} lang=${pair().target_language} onWrite=${write}
          sentences=${[{ start: 0, end: text.length, text, words: answer?.target, other: `${id}-s-0` }]} />`
      : html`<${Target} bench=${bench} id=${id} label=${t("translation")} empty="" />`}
  </div>`;
}
