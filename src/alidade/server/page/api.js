// The server's interface. A server that is away is waited for; one that is busy is asked again.
import { watched, kept } from "./base.js";

/** "ok", "away", "busy" or "key". */
export const connection = watched("ok");

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });

export const wasStopped = (error) => error?.name === "AbortError";

function headers(json) {
  const { key } = kept.get();
  return { ...(json ? { "Content-Type": "application/json" } : {}), ...(key ? { Authorization: `Bearer ${key}` } : {}) };
}

/** An answer; with `patient` a server that is away or busy is asked until it answers. */
export async function send(path, { method = "GET", json, form, signal, patient = true } = {}) {
  const options = { method, headers: headers(json !== undefined), signal };
  if (json !== undefined) options.body = JSON.stringify(json);
  if (form) options.body = form;
  for (let tries = 0; ; tries++) {
    let response;
    try {
      response = await fetch(path, options);
    } catch (error) {
      if (wasStopped(error) || !patient) throw error;
      connection.set("away");
      await pause(Math.min(500 * 2 ** tries, 4000), signal);
      continue;
    }
    if (patient && (response.status === 429 || response.status === 503)) {
      connection.set("busy");
      await pause(1000 * (Number(response.headers.get("Retry-After")) || 2), signal);
      continue;
    }
    if (response.status === 401 || (response.status === 403 && kept.get().key)) connection.set("key");
    else if (connection.get() !== "ok") connection.set("ok");
    if (!response.ok) throw new ApiError(response.status, (await response.json().catch(() => ({}))).message || response.statusText);
    return response;
  }
}

export async function ask(path, json, options = {}) {
  const response = await send(path, { method: json === undefined ? "GET" : "POST", json, ...options });
  return response.status === 204 ? null : response.json();
}

/** Pairs of languages, and which of them is chosen. */
export const languages = watched({ pairs: [], chosen: 0 });
export const pair = () => {
  const { pairs, chosen } = languages.get();
  const one = pairs[chosen] || { source: "en", target: "ro" };
  return { source_language: one.source, target_language: one.target };
};
export async function loadLanguages() {
  const pairs = await ask("/api/languages");
  const { source, target } = kept.get();
  const chosen = Math.max(0, pairs.findIndex((one) => one.source === source && one.target === target));
  languages.set({ pairs, chosen });
}
