// The page: its head, its views, and what it says when the server is away.
import { html, render, useEffect, useState, useWatched, keep, kept, notice } from "./base.js";
import { connection, languages, loadLanguages } from "./api.js";
import { LANGUAGES, t, useLanguage } from "./i18n.js";
import { listen } from "./words.js";
import { terms } from "./terms.js";
import { TextView } from "./text.js";
import { FilesView } from "./files.js";
import { CheckView } from "./check.js";
import { Icon } from "./icons.js";

const VIEWS = { text: TextView, files: FilesView, check: CheckView };

const viewOf = () => {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return { name: name in VIEWS ? name : "text", rest: rest.join("/") };
};

/** The part of the page after `#`: the view, and what it shows. */
function useRoute() {
  const [route, setRoute] = useState(viewOf());
  useEffect(() => {
    const change = () => setRoute(viewOf());
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return route;
}

const THEMES = ["", "light", "dark"];

function Head({ view }) {
  const { pairs, chosen } = useWatched(languages);
  const { theme = "" } = kept.get();
  const change = (index) => {
    languages.set({ pairs, chosen: index });
    keep({ source: pairs[index].source, target: pairs[index].target });
  };
  const nextTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    document.documentElement.dataset.theme = next;
    keep({ theme: next });
  };
  return html`<header class="head">
    <a class="mark" href="#text"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M4 24a12 12 0 0 1 24 0M3 24h26M16 24 25 7" /><circle cx="16" cy="24" r="2" /></svg>Alidade</a>
    <nav aria-label=${t("views")}>${Object.keys(VIEWS).map((name) => html`<a key=${name} href="#${name}" aria-current=${name === view ? "page" : null}>${t(name)}</a>`)}</nav>
    <div class="settings">
      ${pairs.length > 1 ? html`<select aria-label=${t("languages")} value=${chosen} onChange=${(event) => change(Number(event.target.value))}>
        ${pairs.map((one, n) => html`<option key=${n} value=${n}>${one.source_name} → ${one.target_name}</option>`)}</select>`
      : html`<span class="pair">${pairs[0] ? `${pairs[0].source_name} → ${pairs[0].target_name}` : ""}</span>`}
      <select aria-label=${t("interfaceLanguage")} value=${useLanguage()} onChange=${(event) => keep({ language: event.target.value })}>
        ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code}>${name}</option>`)}</select>
      <button class="icon" onClick=${nextTheme} aria-label=${`${t("theme")}: ${t(`theme${theme || "auto"}`)}`} title=${t(`theme${theme || "auto"}`)}><${Icon} name="theme" /></button>
    </div>
  </header>`;
}

function KeyForm() {
  const [key, setKey] = useState("");
  const save = (event) => {
    event.preventDefault();
    keep({ key: key.trim() });
    location.reload();
  };
  return html`<form class="key" aria-label=${t("keyNeeded")} onSubmit=${save}><label>${t("keyNeeded")} <input type="password" value=${key} autocomplete="current-password"
    onInput=${(event) => setKey(event.target.value)} /></label> <button>${t("use")}</button></form>`;
}

function App() {
  const language = useLanguage();
  const { name, rest } = useRoute();
  const state = useWatched(connection);
  const said = useWatched(notice);
  useEffect(() => { document.documentElement.lang = language; }, [language]);
  const View = VIEWS[name];
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>${t("skip")}</a>
    <${Head} view=${name} />
    <p class="connection" role="status">${state === "away" ? t("away") : state === "busy" ? t("busy") : ""}</p>
    ${state === "key" && html`<${KeyForm} />`}
    <main id="main" tabindex="-1"><h1 class="unseen">${t(name)}</h1><${View} rest=${rest} /></main>
    <p class="notice" role="status">${said}</p>`;
}

render(html`<${App} />`, document.getElementById("app"));
listen(document.getElementById("app"));
loadLanguages().catch(() => {});
languages.watch(() => languages.get().pairs.length && terms.load().catch(() => {}));
