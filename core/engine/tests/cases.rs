//! The cases of `tests/*/cases/*.jsonl`, which pytest reads too: a case is a line.
//!
//! The rules come from Python, as those of the pipelines do: `python3 -m tests.engine_rules` prints them. It needs the
//! standard library only; `PYTHON` names another interpreter.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use wikianchor_engine::counts::Counts;
use wikianchor_engine::rules::Site;
use wikianchor_engine::shared::{set_shared, Names, Tags};
use wikianchor_engine::text::fragments::FragmentTest;
use wikianchor_engine::text::prose::{page_sentences, PageText, Prose};
use wikianchor_engine::text::splitter::Splitter;
use wikianchor_engine::text::TextRules;
use wikianchor_engine::titles::normalise_title;
use wikianchor_engine::unicode::{set_tables, Tables};
use wikianchor_engine::wikitext::brackets::mend_brackets;
use wikianchor_engine::wikitext::definitions::FindTemplate;
use wikianchor_engine::wikitext::extractor::{Extract, Extractor};

const TITLE: &str = "The page";
/// Marks of headings, list items and preformatted lines, and blanks.
const MARKS: [char; 4] = ['\x02', '\x03', '\x04', ' '];

#[derive(Deserialize)]
struct Rules {
    shared: String,
    characters: Value,
    sites: HashMap<String, Site>,
    texts: HashMap<String, TextRules>,
}

/// A line of a file, with the fields that its pass needs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    // Wikitext, and what it shows.
    wikitext: Option<String>,
    #[serde(default = "english")]
    wiki: String,
    templates: Option<HashMap<String, String>>,
    lines: Option<Vec<String>>,
    links: Option<Vec<(String, String)>>,
    gaps: Option<Vec<String>>,
    #[serde(default)]
    ledger: HashMap<String, i64>,
    kept: Option<Vec<String>>,
    dropped: Option<HashMap<String, i64>>,
    // The text before and after a pass.
    before: Option<String>,
    after: Option<String>,
    // The target of a link, and the title that it leads to on this wiki.
    target: Option<String>,
    title: Option<String>,
    // Text of a language.
    language: Option<String>,
    /// What a dump told of its language.
    writing: Option<Value>,
    marked: Option<String>,
    sentence: Option<String>,
    reason: Option<String>,
}

fn english() -> String {
    "enwiki".to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rules() -> Rules {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let written = Command::new(&python)
        .args(["-m", "tests.engine_rules"])
        .current_dir(root())
        .env("PYTHONPATH", root())
        .output()
        .unwrap_or_else(|error| panic!("{python}: {error}: set PYTHON to a Python from 3.10"));
    assert!(written.status.success(), "{python}: {}", String::from_utf8_lossy(&written.stderr));
    serde_json::from_slice(&written.stdout).expect("of this checkout")
}

/// The cases below a folder of `tests`, each with its file and line.
fn cases(folder: &str) -> Vec<(String, Case)> {
    let folder = root().join("tests").join(folder).join("cases");
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder of cases") {
        let path = entry.expect("a file of cases").path();
        if of_python(&path.to_string_lossy()) {
            continue;
        }
        for (number, line) in fs::read_to_string(&path).expect("a file of cases").lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            let case = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
            cases.push((place, case));
        }
    }
    assert!(cases.len() > 100, "{}: only {} cases", folder.display(), cases.len());
    cases
}

fn extract(case: &Case, wikitext: &str, sites: &HashMap<String, Site>) -> Extract {
    let templates = case.templates.clone();
    let find = templates.map(|table| -> FindTemplate {
        Box::new(move |title: &str| table.get(title).map(|body| Arc::from(body.as_str())))
    });
    Extractor::new(Arc::new(sites[&case.wiki].clone()), find, false).extract(wikitext.to_owned(), TITLE)
}

fn check_wikitext(place: &str, case: &Case, wikitext: &str, rules: &Rules) {
    let extract = extract(case, wikitext, &rules.sites);
    if let Some(lines) = &case.lines {
        let shown = extract.text.split('\n').map(|line| line.trim_matches(MARKS)).filter(|line| !line.is_empty());
        assert_eq!(&shown.collect::<Vec<_>>(), lines, "{place}");
    }
    if let Some(links) = &case.links {
        let spans = extract.links.starts.iter().zip(&extract.links.ends).zip(extract.links.targets.iter());
        let shown = spans.map(|((&start, &end), target)| (extract.text[start..end].to_owned(), target.to_owned()));
        assert_eq!(&shown.collect::<Vec<_>>(), links, "{place}");
    }
    if let Some(gaps) = &case.gaps {
        assert_eq!(&extract.gaps, gaps, "{place}");
    }
    for (name, &number) in &case.ledger {
        let name = name.strip_prefix("links:").unwrap_or(name);
        assert_eq!(extract.counts.0.get(name).copied().unwrap_or(0), number, "{place}: {name}");
    }
    if let Some(kept) = &case.kept {
        let text = &rules.texts[&rules.sites[&case.wiki].language];
        let page = PageText {
            text: &extract.text,
            link_starts: &extract.links.starts,
            link_ends: &extract.links.ends,
            gaps: &extract.gaps,
        };
        let mut dropped = Counts::default();
        let sentences = page_sentences(&page, &Splitter::new(text), &Prose::new(text), &mut dropped, None);
        assert_eq!(&sentences.iter().map(|sentence| &*sentence.text).collect::<Vec<_>>(), kept, "{place}");
        if let Some(expected) = &case.dropped {
            let of_sentences = dropped.0.into_iter().filter(|(name, _)| name.starts_with("sentences:"));
            let of_sentences: HashMap<String, i64> =
                of_sentences.map(|(name, number)| (name.into_owned(), number)).collect();
            assert_eq!(&of_sentences, expected, "{place}");
        }
    }
}

fn check_text(place: &str, case: &Case, rules: &Rules) {
    let Some(language) = &case.language else { return };
    let writing = case.writing.as_ref().map(Value::to_string).unwrap_or_default();
    let text = &rules.texts[&format!("{language}{writing}")];
    if let Some(marked) = &case.marked {
        let whole = marked.replace('|', "");
        let ends = Splitter::new(text).split(&whole);
        let sentences = [0].iter().chain(&ends).zip(&ends).map(|(&start, &end)| &whole[start..end]);
        assert_eq!(&sentences.collect::<Vec<_>>().join("|"), marked, "{place}");
    }
    if let Some(sentence) = &case.sentence {
        let reason = FragmentTest::new(text).reason(sentence, true).map(|reason| reason.text());
        let expected = case.reason.as_ref().map(|reason| format!("fragment:{reason}"));
        assert_eq!(reason, expected.as_deref(), "{place}");
    }
}

/// Whether a file of cases is for pytest alone.
fn of_python(place: &str) -> bool {
    place.contains("served.jsonl")
}

#[test]
fn the_core_reads_every_case_as_python_does() {
    let mut rules = rules();
    set_shared(&rules.shared).expect("the data files of this checkout");
    // What depends on the dump is evaluated by Python: its cases are for pytest alone.
    let tables = Tables::from_json(rules.characters.take(), str::to_lowercase, |_| None);
    set_tables(tables.expect("the characters of this checkout"));
    for (place, case) in cases("wikimedia/wikitext").into_iter().chain(cases("text")) {
        match (&case.wikitext, &case.before) {
            (Some(wikitext), _) => check_wikitext(&place, &case, wikitext, &rules),
            (None, Some(before)) => {
                assert_eq!(mend_brackets(before.clone()), *case.after.as_ref().expect("after"), "{place}");
            }
            _ if case.target.is_some() => {
                let target = case.target.as_deref().unwrap_or_default();
                assert_eq!(normalise_title(target, &rules.sites[&case.wiki]), case.title, "{place}");
            }
            _ => check_text(&place, &case, &rules),
        }
    }
}

#[test]
fn a_kind_or_a_name_that_the_core_does_not_know_is_refused() {
    let read = |name| fs::read_to_string(root().join("pipelines/wikimedia/data").join(name)).expect("a data file");
    let (tags, names) = (read("tags.json"), read("names.json"));
    assert!(serde_json::from_str::<Tags>(&tags).is_ok());
    assert!(serde_json::from_str::<Tags>(&tags.replace("\"gallery\"", "\"picture\"")).is_err());
    assert!(serde_json::from_str::<Tags>(&tags.replace("phonos", &"phonos".repeat(9))).is_err());
    assert!(serde_json::from_str::<Names>(&names).is_ok());
    assert!(serde_json::from_str::<Names>(&names.replace("source:joined", "source:glued")).is_err());
    assert!(serde_json::from_str::<Names>(&names.replace("\"source:joined\",", "")).is_err());
}
