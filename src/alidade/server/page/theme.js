// Before anything is painted, so that a page in the other colours does not flash.
try {
  const { theme, language } = JSON.parse(localStorage.getItem("alidade") || "{}");
  if (theme) document.documentElement.dataset.theme = theme;
  if (language) document.documentElement.lang = language;
} catch { /* a browser that keeps nothing */ }
