// The page "Try it": sends the wikitext to the worker, and shows what comes back.
// Text of the reader becomes text nodes and attributes only, never HTML.

const EXAMPLES = {
  en: {
    title: "Io (moon)",
    wikitext: `{{Infobox moon | name = Io | discovered_by = [[Galileo Galilei]]}}
'''Io''' is the innermost of the four large moons of [[Jupiter]].<ref>A. Writer: ''An invented handbook'', 2020.</ref> It was first seen by [[Galileo Galilei]] in [[Padua]]. That was {{years ago|1610}} years ago.

== Surface ==
The heat drives hundreds of [[volcano]]es. Its yellow colour comes from [[sulfur]], which [[Pele (volcano)|Pele]] throws 300 kilometres high.
* [[Loki Patera]]
* [[Prometheus (volcano)|Prometheus]] has been seen at work by every probe that came by.

{| class="wikitable"
! Moon !! Diameter
|-
| [[Io (moon)|Io]] || 3,643 km
|}

== See also ==
* [[Europa (moon)|Europa]], its neighbour.
`,
  },
  de: {
    title: "Leiter (Gerät)",
    wikitext: `{{Dieser Artikel|handelt vom Gerät.}}
Eine '''Leiter''' ist ein Gerät zum Steigen mit [[Sprosse]]n zwischen zwei [[Holm (Leiter)|Holmen]]. Sie war z. B. schon Dr. Müller bekannt. Die längste misst {{Messwert|31|m}} und steht in [[Wien]].

== Arten ==
* [[Stehleiter]]
* Die [[Strickleiter]] wird an Bord von Schiffen benutzt.

== Einzelnachweise ==
<references />
`,
  },
  ja: {
    title: "橋",
    wikitext: `'''橋'''(はし)は、[[川]]や[[谷]]を越えるための[[建築物|構造物]]である。最も古い橋は{{何年前|1300}}年前に造られた。「長い橋だ。」と彼は言った。

== 種類 ==
* [[吊り橋]]
* [[アーチ橋]]は石で造られることが多い。
`,
  },
};

const form = document.querySelector("#wikitext-form");
const output = document.querySelector("#try-it-output");
const status = form.querySelector("[role=status]");
const { language, title, wikitext } = form.elements;
const names = new Intl.DisplayNames(["en"], { type: "language" });
let worker;
let running = false;
let changed = false;

/** Return an element; children are elements or text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function nameOf(code) {
  try {
    return names.of(code);
  } catch {
    return code; // Wikipedia has codes that are no language tags.
  }
}

/** Offer all languages that the engine knows. */
function offer(languages) {
  const options = languages.map((code) => [code, nameOf(code)]).sort((a, b) => a[1].localeCompare(b[1], "en"));
  const chosen = language.value;
  language.replaceChildren(
    ...options.map(([code, name]) => make("option", { value: code }, name === code ? code : `${name} (${code})`)),
  );
  language.value = chosen;
}

function articleAddress(code, link) {
  const path = encodeURIComponent(link.target.replaceAll(" ", "_"));
  const section = link.fragment ? `#${encodeURIComponent(link.fragment.replaceAll(" ", "_"))}` : "";
  return `https://${code}.wikipedia.org/wiki/${path}${section}`;
}

function targetOf(link) {
  return link.fragment ? `${link.target}#${link.fragment}` : link.target;
}

/**
 * Return a stretch of text with its links and gaps as elements.
 *
 * @param {string[]} characters code points of the text
 * @param marks links and gaps with `start` and `end`, in order, which do not overlap
 */
function marked(characters, start, end, marks) {
  const nodes = [];
  let at = start;
  for (const mark of marks) {
    if (mark.start < at || mark.end > end) continue;
    nodes.push(characters.slice(at, mark.start).join(""), mark.element(characters.slice(mark.start, mark.end).join("")));
    at = mark.end;
  }
  nodes.push(characters.slice(at, end).join(""));
  return nodes;
}

function linkMark(code, link) {
  const attributes = { href: articleAddress(code, link), title: targetOf(link), rel: "noreferrer" };
  return { start: link.start, end: link.end, element: (text) => make("a", attributes, text) };
}

function gapMark(start, template) {
  const meaning = template ? `Words of the template “${template}” are missing here` : "Words are missing here";
  return {
    start,
    end: start + 1,
    element: () => make("span", { class: "gap", title: meaning }, template ? `{{${template}}}` : "missing"),
  };
}

/** Return marks in order; a link that holds a gap goes first and hides it. */
function inOrder(marks) {
  return marks.sort((a, b) => a.start - b.start || b.end - a.end);
}

function showText(page, code) {
  const characters = Array.from(page.text);
  const marks = inOrder([
    ...page.links.map((link) => linkMark(code, link)),
    ...page.gaps.map((gap) => gapMark(gap.offset, gap.template)),
  ]);
  const blocks = page.blocks.map((block) => {
    const own = marks.filter((mark) => mark.start >= block.start && mark.end <= block.end);
    return make("p", { class: block.kind }, ...marked(characters, block.start, block.end, own));
  });
  return make("div", { class: "text", dir: "auto" }, ...blocks);
}

function showLinks(page, code) {
  const characters = Array.from(page.text);
  const rows = page.links.map((link) =>
    make(
      "tr",
      {},
      make("td", { dir: "auto" }, characters.slice(link.start, link.end).join("")),
      make("td", { dir: "auto" }, make("a", { href: articleAddress(code, link), rel: "noreferrer" }, targetOf(link))),
      make("td", {}, `${link.start}–${link.end}`),
    ),
  );
  const head = make("tr", {}, ...["Text", "Article", "Offsets"].map((name) => make("th", {}, name)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function showSentence(sentence, code) {
  const characters = Array.from(sentence.text);
  const gaps = characters.flatMap((character, offset) => (character === "\ufffc" ? [gapMark(offset, "")] : []));
  const marks = inOrder([...sentence.links.map((link) => linkMark(code, link)), ...gaps]);
  const kept = sentence.dropped === null;
  const item = make("li", { class: kept ? "kept" : "dropped" });
  item.append(make("p", { dir: "auto" }, ...marked(characters, 0, characters.length, marks)));
  const meaning = sentence.meaning ? `: ${sentence.meaning}` : "";
  if (!kept) item.append(make("p", { class: "reason" }, make("code", {}, sentence.dropped), meaning));
  return item;
}

function counted(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

function show({ page, sentences }, code) {
  const kept = sentences.filter((sentence) => sentence.dropped === null).length;
  output.replaceChildren(
    make("h2", {}, "Text"),
    page.blocks.length ? showText(page, code) : make("p", {}, "There is no text."),
    make("h2", {}, counted(page.links.length, "link", "links")),
    ...(page.links.length ? [showLinks(page, code)] : []),
    make("h2", {}, `${counted(sentences.length, "sentence", "sentences")}, ${kept} kept`),
    make("ol", { class: "sentences" }, ...sentences.map((sentence) => showSentence(sentence, code))),
  );
}

function answer({ data }) {
  running = false;
  if (data.failed === "load") {
    status.textContent = "The engine was not loaded. A site without it was built without `make docs`.";
  } else if (data.failed === "read") {
    status.textContent = "The engine failed on this wikitext. Please report a bug, with the wikitext.";
  } else {
    if (language.options.length < data.languages.length) offer(data.languages);
    show(data.result, data.language);
    status.textContent = `Read in ${Math.max(1, Math.round(data.milliseconds))} ms. The output follows what you type.`;
  }
  if (changed) run();
}

function run() {
  changed = running;
  if (running) return;
  running = true;
  if (!worker) {
    status.textContent = "Loading Python: about 13 MB, once.";
    worker = new Worker(new URL("try-it-worker.mjs", import.meta.url), { type: "module" });
    worker.onmessage = answer;
    worker.onerror = () => answer({ data: { failed: "load" } });
  }
  worker.postMessage({ wikitext: wikitext.value, language: language.value, title: title.value });
}

function useExample(code) {
  language.value = code;
  title.value = EXAMPLES[code].title;
  wikitext.value = EXAMPLES[code].wikitext;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
// Nothing is loaded before the reader asks for it.
form.addEventListener("input", () => worker && run());
for (const button of form.querySelectorAll("[data-example]")) {
  button.addEventListener("click", () => {
    useExample(button.dataset.example);
    run();
  });
}
if (!wikitext.value) useExample("en");
for (const part of form.querySelectorAll("[disabled]")) part.disabled = false;
