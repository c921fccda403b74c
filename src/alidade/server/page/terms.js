import { watched } from "./base.js";
export const terms = { changed: watched(0), stamp: () => "", question: () => ({}) };
