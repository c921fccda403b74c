// The dictionary's pane, and the dialogue in which a term is given.
import { html, useEffect, useMemo, useRef, useState, useWatched, say } from "./base.js";
import { languages } from "./api.js";
import { t, number } from "./i18n.js";
import { terms, readForms, uses } from "./terms.js";
import { Icon } from "./icons.js";

const MOST_SHOWN = 200;

/** "Always translate … as …"; `entry`: what is known so far, `replaced`: the entry that is edited. */
export function TermDialogue({ entry, close }) {
  const dialogue = useRef(null);
  const { pairs, chosen } = languages.get();
  const [source, setSource] = useState(entry.source || "");
  const [forms, setForms] = useState((entry.targets || []).join(" | "));
  const [inflect, setInflect] = useState(entry.inflect || false);
  const [isKept, setIsKept] = useState(entry.is_kept || false);
  const [error, setError] = useState("");
  useEffect(() => {
    const box = dialogue.current;
    box.showModal();
    box.addEventListener("close", close);
    return () => box.removeEventListener("close", close);
  }, []);
  const save = async (event) => {
    event.preventDefault();
    try {
      await terms.put({ ...entry.rest, source: source.trim(), targets: isKept ? [] : readForms(forms), inflect, is_kept: isKept }, t("myTerms"), entry.replaced);
      dialogue.current.close();
    } catch (problem) { setError(problem.message); }
  };
  const pair = pairs[chosen];
  return html`<dialog class="sheet" ref=${dialogue} aria-labelledby="term-title">
    <form onSubmit=${save}>
      <h2 id="term-title">${entry.replaced ? t("editTerm") : t("newTerm")}</h2>
      <label class="line"><span>${pair?.source_name}</span><input required value=${source} lang=${pair?.source} onInput=${(event) => setSource(event.target.value)} /></label>
      <label class="line"><span>${pair?.target_name}</span><input required=${!isKept} disabled=${isKept} autofocus value=${forms} lang=${pair?.target} aria-describedby="forms-hint"
        onInput=${(event) => setForms(event.target.value)} /></label>
      <p class="hint" id="forms-hint">${t("formsHint")}</p>
      <p class="line"><label><input type="checkbox" checked=${isKept} onChange=${(event) => setIsKept(event.target.checked)} /> ${t("neverTranslated")}</label></p>
      ${pair?.can_inflect && html`<p class="line"><label><input type="checkbox" checked=${inflect} onChange=${(event) => setInflect(event.target.checked)} /> ${t("inflectEntry")}</label></p>`}
      ${error && html`<p class="error" role="alert">${error}</p>`}
      <div class="row"><button type="button" onClick=${() => dialogue.current.close()}>${t("cancel")}</button><button class="main">${t("save")}</button></div>
    </form>
  </dialog>`;
}

/** Asks for the name of a new dictionary. */
function NewDictionary({ close }) {
  const dialogue = useRef(null);
  const [name, setName] = useState("");
  useEffect(() => {
    dialogue.current.showModal();
    dialogue.current.addEventListener("close", close);
  }, []);
  const save = async (event) => {
    event.preventDefault();
    await terms.create(name.trim());
    dialogue.current.close();
  };
  return html`<dialog class="sheet" ref=${dialogue} aria-labelledby="new-title"><form onSubmit=${save}>
    <h2 id="new-title">${t("newDictionary")}</h2>
    <label class="line"><span>${t("name")}</span><input required autofocus value=${name} onInput=${(event) => setName(event.target.value)} /></label>
    <div class="row"><button type="button" onClick=${() => dialogue.current.close()}>${t("cancel")}</button><button class="main">${t("save")}</button></div>
  </form></dialog>`;
}

/** The list of entries; `answers`: the translations in which they may have been used, if there are any. */
export function DictionaryPane({ answers }) {
  const { all, open } = useWatched(terms.view);
  const [search, setSearch] = useState("");
  const [edited, setEdited] = useState(null);
  const [isNew, setIsNew] = useState(false);
  const [error, setError] = useState("");
  const file = useRef(null);
  const found = uses(answers || []);
  const entries = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    return (open?.entries || []).filter((one) => !wanted || [one.source, ...one.targets].some((text) => text.toLowerCase().includes(wanted)));
  }, [open, search]);
  const attempt = async (work) => {
    setError("");
    try { await work(); } catch (problem) { setError(problem.message); }
  };
  const load = async (event) => {
    const [one] = event.target.files;
    event.target.value = "";
    if (one) await attempt(async () => say(t("imported", { n: number(await terms.import(one)) })));
  };
  const rank = (one) => (found.has(one.source) ? 0 : 1);
  const shown = [...entries].sort((one, other) => rank(one) - rank(other)).slice(0, MOST_SHOWN);
  return html`<section class="dictionary" aria-label=${t("dictionary")}>
    <div class="bar-row">
      <select class="boxed" aria-label=${t("dictionary")} value=${open?.id || ""} onChange=${(event) => attempt(() => terms.choose(event.target.value))}>
        <option value="">${t("noDictionary")}</option>
        ${all.map((one) => html`<option key=${one.id} value=${one.id}>${one.name}</option>`)}</select>
      <button onClick=${() => setIsNew(true)}>${t("newDictionary")}</button>
      <button onClick=${() => file.current.click()}><${Icon} name="upload" /> ${t("import")}</button>
      <input ref=${file} type="file" hidden accept=".tsv,.csv,.tbx" onChange=${load} aria-label=${t("import")} />
      ${open && html`
        <select class="boxed" aria-label=${t("export")} value="" onChange=${(event) => { const format = event.target.value; event.target.value = ""; if (format) attempt(() => terms.export(format)); }}>
          <option value="">${t("export")} …</option>${["tsv", "csv", "tbx"].map((one) => html`<option key=${one} value=${one}>${one.toUpperCase()}</option>`)}</select>
        <select class="boxed" aria-label=${t("mode")} value=${open.mode} onChange=${(event) => attempt(() => terms.change({ mode: event.target.value }))}>
          <option value="suggest">${t("suggest")}</option><option value="require">${t("require")}</option></select>
        <label class="check"><input type="checkbox" checked=${open.inflect} onChange=${(event) => attempt(() => terms.change({ inflect: event.target.checked }))} /> ${t("inflect")}</label>
        <input class="search" type="search" value=${search} placeholder=${t("search")} aria-label=${t("search")} onInput=${(event) => setSearch(event.target.value)} />
        <button class="icon" onClick=${() => confirm(t("removeDictionary", { name: open.name })) && attempt(() => terms.removeAll())} aria-label=${t("removeAll")} title=${t("removeAll")}><${Icon} name="remove" /></button>`}
    </div>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${!open ? html`<p class="hint">${t("noDictionaryHint")}</p>` : html`
    <table>
      <thead><tr><th scope="col">${t("source")}</th><th scope="col">${t("translation")}</th>${answers && html`<th scope="col">${t("inThisText")}</th>`}<th scope="col"><span class="unseen">${t("actions")}</span></th></tr></thead>
      <tbody>${shown.map((one) => html`<tr key=${one.source}>
        <td>${one.source}</td>
        <td>${one.is_kept ? html`<i>${t("keptAsIs")}</i>` : one.targets.join(" | ")}${one.inflect ? html` <span class="tag">${t("inflects")}</span>` : ""}</td>
        ${answers && html`<td><${Use} use=${found.get(one.source)} /></td>`}
        <td class="actions">
          <button class="icon" onClick=${() => setEdited({ ...one, replaced: one.source, rest: one })} aria-label=${`${t("edit")} ${one.source}`} title=${t("edit")}><${Icon} name="edit" /></button>
          <button class="icon" onClick=${() => attempt(() => terms.remove(one.source))} aria-label=${`${t("remove")} ${one.source}`} title=${t("remove")}><${Icon} name="remove" /></button></td>
      </tr>`)}</tbody>
    </table>
    <p class="hint">${entries.length > MOST_SHOWN ? t("moreEntries", { n: number(entries.length - MOST_SHOWN) }) : ""}</p>
    <button onClick=${() => setEdited({})}>${t("newTerm")}</button>`}
    ${edited && html`<${TermDialogue} entry=${edited} close=${() => setEdited(null)} />`}
    ${isNew && html`<${NewDictionary} close=${() => setIsNew(false)} />`}
  </section>`;
}

function Use({ use }) {
  if (!use) return html`<span class="soft">–</span>`;
  return html`${use.used > 0 && html`<span class="used">★ ${[...use.forms].join(", ")}${use.used > 1 ? ` ×${use.used}` : ""}</span>`}
    ${use.unused > 0 && html` <span class="unused">${t("notUsed")}${use.reason ? `: ${use.reason}` : ""}</span>`}`;
}
