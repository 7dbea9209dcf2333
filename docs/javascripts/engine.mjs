// The engine of wikianchor in Pyodide. The page "Try it" uses this in a worker, tests/test_site.py under Node.js.

// The Python that is run.
const PYTHON = `
import dataclasses
import json

import wikianchor
from wikianchor.pipelines.text.fragments import FRAGMENT_REASONS
from wikianchor.pipelines.wikimedia.languages import language_table

MEANINGS = {
    "heading": "a heading",
    "preformatted": "preformatted text",
    "back_matter": "in a section of references, notes or links",
    "gap": "words are missing",
    "template": "words of a template are missing, whose definition is not known here",
    "disambiguation_page": "on a page that lists what a name can mean",
    "fragment:continued": "continues a sentence that something else interrupted",
    "fragment:citation": "the description of a book or journal",
    **{f"fragment:{name}": meaning for name, meaning in FRAGMENT_REASONS.items()},
}
MEANINGS["fragment:short"] += "; a list item of fewer than five words, in languages that put spaces between words"


def read(wikitext, language, title):
    page = wikianchor.extract(wikitext, language=language, title=title)
    sentences = wikianchor.sentences(wikitext, language=language, title=title, include_dropped=True)
    return json.dumps(
        {
            "page": dataclasses.asdict(page),
            "sentences": [
                {**dataclasses.asdict(sentence), "meaning": MEANINGS.get(sentence.dropped, "")}
                for sentence in sentences
            ],
        }
    )
`;

/**
 * Load Pyodide and the engine.
 *
 * @param loadPyodide the function of Pyodide's module
 * @param {ArrayBuffer|Uint8Array} wheel the bytes of wikianchor's wheel
 * @returns {Promise<{languages: string[], read: (wikitext: string, language: string, title: string) => object}>}
 *   `languages`: the codes of Wikipedias. `read` returns {page, sentences} with the fields of `wikianchor.PageText` and
 *   `wikianchor.TextSentence`; offsets count code points. It throws if there is no such language.
 */
export async function loadEngine(loadPyodide, wheel) {
  const pyodide = await loadPyodide();
  // No package is installed: the engine needs the standard library only.
  pyodide.unpackArchive(wheel, "wheel");
  pyodide.runPython(PYTHON);
  const read = pyodide.globals.get("read");
  // Half of a surrogate pair is no character, and could join another half to a character that the offsets do not count.
  const whole = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");
  return {
    languages: JSON.parse(pyodide.runPython("json.dumps(language_table()['interlanguage'])")),
    read: (wikitext, language, title) => JSON.parse(read(whole(wikitext), language, whole(title))),
  };
}
