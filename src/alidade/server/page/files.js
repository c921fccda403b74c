// Files: drop one, watch it being translated, look through its segments, take it away.
import { html, useEffect, useLayoutEffect, useRef, useState, useWatched, download, say } from "./base.js";
import { ask, send, pair } from "./api.js";
import { t, number, percent } from "./i18n.js";
import { terms } from "./terms.js";
import { DictionaryPane } from "./dictionary.js";
import { SegmentEditor } from "./segment.js";
import { Icon } from "./icons.js";

const PATH = "/api/documents";
const PAGE = 100;
const BEYOND = 8;
const POLLING = 700;
const SHOWN = ["all", "unsure", "unused", "machine", "person", "waiting"];

export function FilesView({ rest }) {
  return rest ? html`<${DocumentView} key=${rest} id=${rest} />` : html`<${FileList} />`;
}

function FileList() {
  const [documents, setDocuments] = useState([]);
  const [error, setError] = useState("");
  const [isOver, setIsOver] = useState(false);
  const field = useRef(null);
  const { open } = useWatched(terms.view);
  const load = () => ask(PATH).then((found) => setDocuments(found.reverse())).catch((problem) => setError(problem.message));
  useEffect(() => {
    load();
    const timer = setInterval(load, 3000);
    return () => clearInterval(timer);
  }, []);
  const upload = async (file) => {
    if (!file) return;
    setError("");
    const form = new FormData();
    form.append("file", file);
    for (const [name, value] of Object.entries(pair())) form.append(name, value);
    if (open) form.append("dictionary_id", open.id);
    try {
      const made = await (await send(PATH, { method: "POST", form, patient: false })).json();
      location.hash = `#files/${made.id}`;
    } catch (problem) { setError(problem.message); }
  };
  const remove = (id) => send(`${PATH}/${id}`, { method: "DELETE" }).then(load).catch((problem) => setError(problem.message));
  return html`<div class="drop ${isOver ? "over" : ""}" onDragOver=${(event) => { event.preventDefault(); setIsOver(true); }} onDragLeave=${() => setIsOver(false)}
      onDrop=${(event) => { event.preventDefault(); setIsOver(false); upload(event.dataTransfer.files[0]); }}>
      <p class="big">${t("dropFile")}</p>
      <p class="hint">${t("fileKinds")}</p>
      <p class="bar-row"><button class="main" onClick=${() => field.current.click()}>${t("chooseFile")}</button></p>
      <input ref=${field} type="file" hidden aria-label=${t("chooseFile")} onChange=${(event) => upload(event.target.files[0])} />
      ${error && html`<p class="error" role="alert">${error}</p>`}
    </div>
    <${FoldedDictionary} />
    ${documents.length > 0 && html`<table class="documents">
      <thead><tr><th scope="col">${t("file")}</th><th scope="col">${t("state")}</th><th scope="col">${t("segments")}</th><th scope="col"><span class="unseen">${t("actions")}</span></th></tr></thead>
      <tbody>${documents.map((one) => html`<tr key=${one.id}>
        <td><a href="#files/${one.id}">${one.name}</a></td>
        <td>${one.state === "error" ? html`<span class="unused">${one.message}</span>` : t(`document_${one.state}`)}</td>
        <td>${number(one.num_translated)} / ${number(one.num_segments)}</td>
        <td class="actions"><button class="icon" onClick=${() => remove(one.id)} aria-label=${`${t("remove")} ${one.name}`} title=${t("remove")}><${Icon} name="remove" /></button></td></tr>`)}</tbody>
    </table>`}`;
}

/** The dictionary that files are translated with: out of the way, and at hand. */
function FoldedDictionary() {
  const { open } = useWatched(terms.view);
  return html`<details class="fold"><summary>${t("dictionary")}: <b>${open ? `${open.name} (${number(open.entries.length)})` : t("noDictionary")}</b></summary><${DictionaryPane} /></details>`;
}

/** One file: how far it is, and its segments. */
function DocumentView({ id }) {
  const [info, setInfo] = useState(null);
  const [error, setError] = useState("");
  const [show, setShow] = useState("all");
  const [search, setSearch] = useState("");
  const [stamp, setStamp] = useState(0);
  const { open } = useWatched(terms.view);
  const isWorking = info && (info.state === "queued" || info.state === "translating");
  const poll = () => ask(`${PATH}/${id}`).then((found) => {
    setInfo(found);
    setStamp((n) => n + 1);
  }).catch((problem) => setError(problem.message));
  useEffect(() => { poll(); }, [id]);
  useEffect(() => {
    if (!isWorking) return undefined;
    const timer = setInterval(poll, POLLING);
    return () => clearInterval(timer);
  }, [isWorking]);
  const fetchFile = async () => {
    try {
      download(await (await send(`${PATH}/${id}/result`)).blob(), info.name);
    } catch (problem) { setError(problem.message); }
  };
  const again = () => ask(`${PATH}/${id}/again`, { dictionary_id: open?.id || null }).then(setInfo).catch((problem) => setError(problem.message));
  if (error && !info) return html`<p class="error" role="alert">${error}</p><p><a href="#files">${t("files")}</a></p>`;
  if (!info) return html`<p class="hint" aria-busy="true">…</p>`;
  return html`<div class="bar-row document">
      <a class="back" href="#files" aria-label=${t("files")} title=${t("files")}><${Icon} name="back" /></a>
      <h2>${info.name}</h2>
      <span class="soft" role="status">${info.state === "error" ? info.message : isWorking ? `${number(info.num_translated)} / ${number(info.num_segments)}` : t("numSegments", { n: number(info.num_segments) })}</span>
      <select class="boxed" aria-label=${t("show")} value=${show} onChange=${(event) => setShow(event.target.value)}>${SHOWN.map((one) => html`<option key=${one} value=${one}>${t(`show_${one}`)}</option>`)}</select>
      <input class="search" type="search" placeholder=${t("search")} aria-label=${t("search")} value=${search} onInput=${(event) => setSearch(event.target.value)} />
      <button disabled=${isWorking || info.state !== "done"} onClick=${again} title=${t("againHint")}>${t("again")}</button>
      <button class="main" disabled=${info.state !== "done"} onClick=${fetchFile}><${Icon} name="download" /> ${t("download")}</button>
    </div>
    <progress class=${isWorking ? "" : "done"} max=${info.num_segments || 1} value=${info.num_translated} aria-label=${t("progress")}></progress>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <${FoldedDictionary} />
    <${SegmentTable} key="${show} ${search}" id=${id} show=${show} search=${search} stamp=${stamp} canEdit=${info.state === "done"} />`;
}

/** Only what is seen is in the page: rows of one height, and one that is open. */
function SegmentTable({ id, show, search, stamp, canEdit }) {
  const [total, setTotal] = useState(null);
  const [, redraw] = useState(0);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  const [current, setCurrent] = useState(0);
  const [opened, setOpened] = useState(-1);
  const [extra, setExtra] = useState(0);
  const pages = useRef(new Map());
  const box = useRef(null);
  const editor = useRef(null);
  const height = matchMedia("(max-width: 50rem)").matches ? 92 : 48;

  const fetchPage = async (page, isFresh) => {
    if (pages.current.get(page) && !isFresh) return;
    if (!pages.current.get(page)) pages.current.set(page, []);
    const query = new URLSearchParams({ show, search, start: page * PAGE, count: PAGE });
    const found = await ask(`${PATH}/${id}/segments?${query}`).catch(() => null);
    if (!found) return void pages.current.delete(page);
    pages.current.set(page, found.segments);
    setTotal(found.total);
    redraw((n) => n + 1);
  };
  const first = Math.max(0, Math.floor((seen.top - (opened >= 0 && seen.top > opened * height ? extra : 0)) / height) - BEYOND);
  const last = Math.min((total ?? PAGE) - 1, Math.ceil((seen.top + seen.height) / height) + BEYOND);
  useEffect(() => {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(last, 0) / PAGE); page++) fetchPage(page, false);
  }, [first, last]);
  useEffect(() => {
    for (const page of [Math.floor(first / PAGE), Math.floor(Math.max(last, 0) / PAGE)]) fetchPage(page, true);
  }, [stamp]);
  useLayoutEffect(() => {
    const watching = new ResizeObserver(() => box.current && setSeen((old) => ({ ...old, height: box.current.clientHeight })));
    watching.observe(box.current);
    return () => watching.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (opened < 0 || !editor.current) return setExtra(0);
    const watching = new ResizeObserver(([entry]) => setExtra(entry.target.offsetHeight - height));
    watching.observe(editor.current);
    return () => watching.disconnect();
  }, [opened]);

  const at = (n) => pages.current.get(Math.floor(n / PAGE))?.[n % PAGE];
  const topOf = (n) => n * height + (opened >= 0 && n > opened ? extra : 0);
  const go = (n, isFocused = true) => {
    const place = Math.max(0, Math.min(n, (total || 1) - 1));
    setCurrent(place);
    const view = box.current;
    if (topOf(place) < view.scrollTop) view.scrollTop = topOf(place);
    else if (topOf(place) + height > view.scrollTop + view.clientHeight) view.scrollTop = topOf(place) + height - view.clientHeight;
    if (isFocused) requestAnimationFrame(() => requestAnimationFrame(() => view.querySelector(`[aria-rowindex="${place + 1}"]`)?.focus()));
  };
  const open = (n) => {
    if (!canEdit || !at(n)) return;
    setCurrent(n);
    setOpened(n);
  };
  const saved = (n, segment, goesOn) => {
    const page = pages.current.get(Math.floor(n / PAGE));
    if (page) page[n % PAGE] = segment;
    if (goesOn && n + 1 < total) {
      setOpened(n + 1);
      go(n + 1, false);
    } else {
      setOpened(-1);
      go(n);
    }
    say(t("saved"));
  };
  const onKeyDown = (event) => {
    if (event.target.getAttribute("role") !== "row") return;
    const jumps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key in jumps) go(current + jumps[event.key]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(total - 1);
    else if (event.key === "Enter") open(current);
    else return;
    event.preventDefault();
  };

  const rows = [];
  for (let n = first; n <= last; n++) {
    const segment = at(n);
    const style = { top: `${topOf(n)}px` };
    if (n === opened && segment) {
      rows.push(html`<div key="open" class="opened" style=${style} ref=${editor} role="row" aria-rowindex=${n + 1}><div role="gridcell">
        <${SegmentEditor} key=${segment.number} document=${id} segment=${segment} saved=${(one, goesOn) => saved(n, one, goesOn)} close=${() => { setOpened(-1); go(n); }} /></div></div>`);
    } else {
      rows.push(html`<div key=${n} class="segment" style=${style} role="row" aria-rowindex=${n + 1} tabindex=${n === current ? 0 : -1}
        onClick=${() => open(n)} onFocus=${() => setCurrent(n)}><${Row} segment=${segment} /></div>`);
    }
  }
  return html`<div class="segments" ref=${box} role="grid" aria-label=${t("segments")} aria-rowcount=${total ?? -1} onKeyDown=${onKeyDown}
      onScroll=${(event) => setSeen({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}>
    <div class="all" role="rowgroup" style=${{ height: `${(total || 0) * height + (opened >= 0 ? extra : 0)}px` }}>${rows}</div>
    ${total === 0 && html`<p class="hint nothing">${t("nothingFound")}</p>`}
  </div>`;
}

function Row({ segment }) {
  if (!segment) return html`<span role="gridcell" class="soft">…</span>`;
  const { source_language: source, target_language: target } = pair();
  return html`<span role="gridcell" class="n">${number(segment.number + 1)}</span>
    <span role="gridcell" class="s" lang=${source}>${segment.sources[0]}</span>
    <span role="gridcell" class="t" lang=${target}>${segment.targets[0] || ""}</span>
    <span role="gridcell" class="state ${segment.state}">${t(`segment_${segment.state}`)}${segment.state === "machine" && segment.confidence !== null ? html` <span class="${segment.confidence < 0.6 ? "low" : ""}">${percent(segment.confidence)}</span>` : ""}${
      segment.unused.length && segment.state !== "person" ? html` <span class="unused" title=${segment.unused.join(", ")}>${t("termsUnused")}</span>` : ""}</span>`;
}
