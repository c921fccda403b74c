// The few pictures of the page, as strokes.
import { html } from "./base.js";

const PATHS = {
  copy: "M9 9h10v10H9zM5 15V5h10",
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
  clear: "M6 6l12 12M18 6 6 18",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  term: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11M12 7v4M10 9h4",
  edit: "m4 20 1-5L16 4l4 4L9 19zM14 6l4 4",
  remove: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  download: "M12 4v11M7 10l5 5 5-5M5 20h14",
  upload: "M12 16V5M7 10l5-5 5 5M5 20h14",
  back: "M15 5l-7 7 7 7",
  done: "M5 13l5 5L19 7",
};

export const Icon = ({ name }) => html`<svg class="glyph" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
