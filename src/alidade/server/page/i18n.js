// The page's own words, in three languages.
import { kept, useWatched } from "./base.js";

const EN = {
  text: "Text",
  files: "Files",
  check: "Check",
  source: "Source",
  translation: "Translation",
  typeHere: "Type or paste a text",
  appears: "The translation appears here",
  copy: "Copy",
  copied: "Copied",
  notCopied: "The browser does not allow copying",
  undo: "Undo",
  redo: "Redo",
  clear: "Clear",
  views: "Views",
  languages: "Languages",
  interfaceLanguage: "Language of the page",
  theme: "Colours",
  themelight: "light",
  themedark: "dark",
  themeauto: "as the system",
  keyNeeded: "This server asks for a key:",
  use: "Use",
  skip: "Skip to the text",
  away: "The server does not answer. What you write is kept; trying again …",
  busy: "The server is busy; trying again …",
  targetHint: "← → from word to word · Enter: alternatives · Tab: accept · Esc: leave",
  alternativesFor: "Alternatives for {word}",
  fromNothing: "No source word belongs to this one",
  ownWord: "Your own word",
  put: "Put",
  keepToHere: "Keep up to here",
  whyWord: "Why this word?",
};
const DE = {
  text: "Text",
  files: "Dateien",
  check: "Prüfen",
  source: "Ausgangstext",
  translation: "Übersetzung",
  typeHere: "Text schreiben oder einfügen",
  appears: "Hier erscheint die Übersetzung",
  copy: "Kopieren",
  copied: "Kopiert",
  notCopied: "Der Browser erlaubt das Kopieren nicht",
  undo: "Rückgängig",
  redo: "Wiederholen",
  clear: "Leeren",
  views: "Ansichten",
  languages: "Sprachen",
  interfaceLanguage: "Sprache der Seite",
  theme: "Farben",
  themelight: "hell",
  themedark: "dunkel",
  themeauto: "wie das System",
  keyNeeded: "Dieser Server verlangt einen Schlüssel:",
  use: "Verwenden",
  skip: "Zum Text springen",
  away: "Der Server antwortet nicht. Was Sie schreiben, bleibt erhalten; neuer Versuch …",
  busy: "Der Server ist beschäftigt; neuer Versuch …",
  targetHint: "← → von Wort zu Wort · Enter: Alternativen · Tab: annehmen · Esc: verlassen",
  alternativesFor: "Alternativen für {word}",
  fromNothing: "Zu diesem Wort gehört kein Ausgangswort",
  ownWord: "Eigenes Wort",
  put: "Setzen",
  keepToHere: "Bis hier behalten",
  whyWord: "Warum dieses Wort?",
};
const RO = {
  text: "Text",
  files: "Fișiere",
  check: "Verificare",
  source: "Text sursă",
  translation: "Traducere",
  typeHere: "Scrieți sau lipiți un text",
  appears: "Traducerea apare aici",
  copy: "Copiază",
  copied: "Copiat",
  notCopied: "Navigatorul nu permite copierea",
  undo: "Anulează",
  redo: "Refă",
  clear: "Golește",
  views: "Vederi",
  languages: "Limbi",
  interfaceLanguage: "Limba paginii",
  theme: "Culori",
  themelight: "deschise",
  themedark: "închise",
  themeauto: "ca sistemul",
  keyNeeded: "Acest server cere o cheie:",
  use: "Folosește",
  skip: "Salt la text",
  away: "Serverul nu răspunde. Ce scrieți se păstrează; se încearcă din nou …",
  busy: "Serverul este ocupat; se încearcă din nou …",
  targetHint: "← → din cuvânt în cuvânt · Enter: alternative · Tab: acceptă · Esc: ieșire",
  alternativesFor: "Alternative pentru {word}",
  fromNothing: "Niciun cuvânt sursă nu îi corespunde",
  ownWord: "Cuvântul dumneavoastră",
  put: "Pune",
  keepToHere: "Păstrează până aici",
  whyWord: "De ce acest cuvânt?",
};
const ALL = { en: EN, de: DE, ro: RO };
export const LANGUAGES = { en: "English", de: "Deutsch", ro: "Română" };

export function language() {
  const wanted = kept.get().language || navigator.language.slice(0, 2);
  return wanted in ALL ? wanted : "en";
}
/** A text of the page; `{name}` stands for a value. */
export function t(name, values = {}) {
  const text = ALL[language()][name] ?? EN[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
}
export const percent = (share) => new Intl.NumberFormat(language(), { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);
export const number = (value) => new Intl.NumberFormat(language()).format(value);
export function useLanguage() { useWatched(kept); return language(); }
