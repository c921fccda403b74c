// Why this word? Where the model looked, how it scored, and what else it had in mind.
import { html, useEffect, useState } from "./base.js";
import { ask, pair, wasStopped } from "./api.js";
import { t, percent, number } from "./i18n.js";
import { LinkedText, light, prepare, tell } from "./words.js";
import { terms } from "./terms.js";

const NUM_BEST = 5;
const CELL = 24;

/** All about a sentence of the text; `other`: the id of its source. */
export function Why({ bench, sentence, other }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState("");
  const current = sentence && bench.answer(sentence);
  useEffect(() => {
    if (!current) return undefined;
    const stopping = new AbortController();
    const { prefix = "" } = bench.accepted(sentence);
    const question = { ...pair(), ...terms.question(), text: sentence.text, prefix: prefix || null, num_best: NUM_BEST, with_attention: true };
    setError("");
    ask("/api/translate", question, { signal: stopping.signal })
      .then(({ translations: [one] }) => setFound([one, ...one.alternatives].map(prepare)))
      .catch((problem) => wasStopped(problem) || setError(problem.message));
    return () => stopping.abort();
  }, [current]);
  if (!current) return html`<p class="hint">${t("whyHint")}</p>`;
  if (error) return html`<p class="error" role="alert">${error}</p>`;
  if (!found) return html`<p class="hint" aria-busy="true">…</p>`;
  // A wider search may rank what a narrower one has found in another way: what stands in the text comes first.
  const shown = found.find((one) => one.text === current.text) || found[0];
  const best = [shown, ...found.filter((one) => one !== shown)];
  return html`<section class="why" aria-label=${t("whyWord")}>
    <div class="scrolled" tabindex="0" role="group" aria-label=${t("attention")}><${HeatMap} one=${shown} /></div>
    <div class="best scrolled" tabindex="0" role="group" aria-label=${t("nBest")}>
      <table>
        <thead><tr><th scope="col">${t("nBest")}</th><th scope="col">${t("score")}</th><th scope="col">${t("lexical")}</th><th scope="col">${t("alignment")}</th><th scope="col">${t("sure")}</th></tr></thead>
        <tbody>${best.map((one, n) => html`<tr key=${n}>
          <td lang=${pair().target_language}><${LinkedText} id="why-b-${n}" other=${other} text=${one.text} words=${one.target} /></td>
          <td>${round(one.score)}</td><td>${round(one.lexical_score)}</td><td>${round(one.alignment_score)}</td><td>${percent(one.confidence)}</td></tr>`)}</tbody>
      </table>
      <p class="hint">${t("scoresHint")}</p>
    </div>
  </section>`;
}

const round = (value) => number(Math.round(100 * value) / 100);

/** A row for each target word, a column for each source word; the pointer of each target word stands on top. */
function HeatMap({ one }) {
  const { source, target, attention } = one;
  const left = 12 + 8.2 * Math.max(...target.map((word) => word.text.length));
  const top = 14 + 5.9 * Math.max(...source.map((word) => word.text.length));
  const sure = new Map(one.links.map((link) => [`${link.target} ${link.source}`, link.confidence]));
  const share = (i, j) => attention?.[i]?.[j] ?? sure.get(`${i} ${j}`) ?? 0;
  const width = left + CELL * source.length + top;
  const height = top + CELL * target.length + 6;
  const over = (event) => {
    const row = event.target.dataset.row;
    if (row !== undefined) light(document.getElementById("why-t").words[row]);
  };
  return html`<svg class="heat" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${t("attentionOf", { n: target.length, m: source.length })} onPointerMove=${over}>
    <g class="linked" id="why-s" ref=${(element) => tell(element, source, "why-t")}>${source.map((word, j) => html`<text key=${j} class="w" data-i=${j}
      transform="translate(${left + CELL * (j + 0.5)} ${top - 6}) rotate(-45)">${word.text}</text>`)}</g>
    <g class="linked" id="why-t" ref=${(element) => tell(element, target, "why-s")}>${target.map((word, i) => html`<text key=${i} class="w" data-i=${i}
      x=${left - 8} y=${top + CELL * (i + 0.5)} text-anchor="end" dominant-baseline="central">${word.text}</text>`)}</g>
    ${target.map((_, i) => source.map((__, j) => html`<rect key="${i} ${j}" class="cell" data-row=${i} x=${left + CELL * j + 1} y=${top + CELL * i + 1} width=${CELL - 2} height=${CELL - 2} rx="4"
      fill-opacity=${Math.max(0.04, share(i, j)).toFixed(3)}><title>${`${target[i].text} – ${source[j].text}: ${percent(share(i, j))}`}</title></rect>`))}
    ${target.map((word, i) => word.partners.map((j) => html`<circle key="${i} ${j}" class="pointer" data-row=${i} cx=${left + CELL * (j + 0.5)} cy=${top + CELL * (i + 0.5)} r="5" />`))}
  </svg>`;
}
