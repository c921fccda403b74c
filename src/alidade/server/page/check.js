// A translation that exists already: which words belong together, and which nothing explains.
import { html, debounce, keep, kept, useEffect, useMemo, useState } from "./base.js";
import { ask, pair, wasStopped } from "./api.js";
import { t, number } from "./i18n.js";
import { prepare } from "./words.js";
import { terms } from "./terms.js";
import { Copy, LinkedField } from "./text.js";

const isWord = (text) => /[\p{L}\p{N}]/u.test(text);

export function CheckView() {
  const [texts, setTexts] = useState(kept.get().checked || ["", ""]);
  const [found, setFound] = useState(null);
  const [error, setError] = useState("");
  const look = useMemo(() => {
    let stopping = null;
    return debounce(250, async ([source, target]) => {
      stopping?.abort();
      stopping = new AbortController();
      const { signal } = stopping;
      setError("");
      if (!source.trim() || !target.trim()) return setFound(null);
      try {
        const { dictionary_ids = [], inflect = false } = terms.question();
        const answer = await ask("/api/check", { ...pair(), source, target, dictionary_ids, inflect }, { signal });
        const prepared = prepare(answer);
        for (const n of answer.unexplained) prepared.target[n].isUnexplained = true;
        setFound({ ...prepared, asked: [source, target] });
      } catch (problem) { if (!wasStopped(problem)) setError(problem.message); }
    });
  }, []);
  useEffect(() => {
    keep({ checked: texts });
    look(texts);
  }, [texts]);
  const isCurrent = found && found.asked[0] === texts[0] && found.asked[1] === texts[1];
  const sides = ["source", "target"];
  const field = (n) => {
    const words = isCurrent && found.text === texts[1] ? found[sides[n]] : null;
    const sentences = texts[n] ? [{ start: 0, end: texts[n].length, text: texts[n], words, other: `check-${sides[1 - n]}-0` }] : [];
    const label = t(n ? "translation" : "source");
    return html`<section class="pane" aria-label=${label} aria-busy=${!isCurrent && Boolean(texts[0].trim() && texts[1].trim()) && !error}>
      <header><h2>${label}</h2><span class="tools"><${Copy} text=${() => texts[n]} /></span></header>
      <${LinkedField} id="check-${sides[n]}" label=${label} text=${texts[n]} sentences=${sentences} lang=${n ? pair().target_language : pair().source_language}
        placeholder=${t(n ? "itsTranslation" : "typeHere")} onWrite=${(text) => setTexts(n ? [texts[0], text] : [text, texts[1]])} />
    </section>`;
  };
  const added = isCurrent ? found.unexplained.map((n) => found.target[n].text).filter(isWord) : [];
  const leftOut = isCurrent ? found.source.filter((word) => !word.partners.length && isWord(word.text)).map((word) => word.text) : [];
  return html`<div class="panes">${field(0)}${field(1)}</div>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <section class="findings" aria-label=${t("findings")} aria-live="polite">
      ${!isCurrent ? html`<p class="hint">${t("checkHint")}</p>` : html`
        <dl>
          <dt>${t("unexplainedTarget")}</dt><dd>${list(added)}</dd>
          <dt>${t("unexplainedSource")}</dt><dd>${list(leftOut)}</dd>
          <dt>${t("problems")}</dt><dd>${found.problems.length ? html`<ul>${found.problems.map((one, n) => html`<li key=${n} class="unused">${one.message}</li>`)}</ul>` : t("none")}</dd>
          <dt>${t("score")}</dt><dd>${[found.score, found.lexical_score, found.alignment_score].map((value, n) => `${n ? `${t(n === 1 ? "lexical" : "alignment")} ` : ""}${number(Math.round(100 * value) / 100)}`).join(" · ")}</dd>
        </dl>`}
    </section>`;
}

const list = (words) => (words.length ? html`<span class="chips">${words.map((word, n) => html`<span key=${n}>${word}</span>`)}</span>` : t("none"));
