// Runs the engine beside the page "Try it", which stays responsive while Python loads and works.

import { loadEngine } from "./engine.mjs";

// Written by tools/site_engine.py.
const ENGINE = new URL("../engine/", import.meta.url);

let engine;

async function load() {
  const [{ loadPyodide }, wheel] = await Promise.all([
    import(new URL("pyodide.mjs", ENGINE)),
    fetch(new URL("wikianchor.whl", ENGINE)),
  ]);
  if (!wheel.ok) throw new Error(`${wheel.url}: status ${wheel.status}`);
  return loadEngine(loadPyodide, await wheel.arrayBuffer());
}

self.onmessage = async ({ data: { wikitext, language, title } }) => {
  try {
    engine ??= load();
    await engine;
  } catch (error) {
    engine = undefined;
    console.error(error);
    self.postMessage({ failed: "load" });
    return;
  }
  try {
    const { languages, read } = await engine;
    const began = performance.now();
    const result = read(wikitext, language, title);
    self.postMessage({ result, language, languages, milliseconds: performance.now() - began });
  } catch (error) {
    console.error(error);
    self.postMessage({ failed: "read" });
  }
};
