//! What each fuzz target reads, and what has to hold whatever it reads: no panic, offsets inside the text, a ledger that
//! balances, the same again, and at most twenty times the page in memory. libFuzzer limits the time.
//!
//! The rules of the wikis come from Python, as those of the pipelines do: `python -m tests.fuzz_seeds` writes them to
//! the directory that WIKIANCHOR_FUZZ names, beside the seeds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::Value;
use wikianchor_engine::counts::Counts;
use wikianchor_engine::page::{parse_page, Page};
use wikianchor_engine::page_kinds::PageKinds;
use wikianchor_engine::reader::Reader;
use wikianchor_engine::rules::Site;
use wikianchor_engine::text::TextRules;
use wikianchor_engine::shared::set_shared;
use wikianchor_engine::unicode::{self, Tables};
use wikianchor_engine::wikitext::extractor::{Extract, Extractor};
use wikianchor_engine::wikitext::links::Links;

/// Memory while a page is read, in bytes of the page, and what is there for a page of any size.
const TIMES_THE_PAGE: usize = 20;
const FOR_ANY_PAGE: usize = 64 << 10;
const TITLE: &str = "The page";
/// Before the name of a template and before its body, in the input of `templates`.
const NAME: char = '\x1e';
const BODY: char = '\x1f';

/// Counts the bytes that are allocated.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn allocated(size: usize) {
    let now = ALLOCATED.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        System.dealloc(pointer, layout);
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while it is copied.
        allocated(size);
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        System.realloc(pointer, layout, size)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Run something, and return with its result how many more bytes were allocated at once than before.
pub fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = run();
    (result, PEAK.load(Ordering::Relaxed) - before)
}

/// What `tests/fuzz_seeds.py` writes.
#[derive(Deserialize)]
struct Rules {
    shared: String,
    characters: Value,
    sites: BTreeMap<String, Arc<Site>>,
    texts: HashMap<String, TextRules>,
    disambiguation: HashMap<String, Vec<String>>,
}

/// The rules of a wiki.
struct Wiki {
    site: Arc<Site>,
    text: TextRules,
    disambiguation: Vec<String>,
}

fn rules() -> Rules {
    let directory = std::env::var("WIKIANCHOR_FUZZ").expect("WIKIANCHOR_FUZZ names no directory: make fuzz");
    let path = Path::new(&directory).join("rules.json");
    let text = fs::read_to_string(path).expect("python -m tests.fuzz_seeds writes it");
    serde_json::from_str(&text).expect("of this checkout")
}

fn wikis() -> &'static [Wiki] {
    static WIKIS: OnceLock<Vec<Wiki>> = OnceLock::new();
    WIKIS.get_or_init(|| {
        let Rules { shared, characters, sites, texts, disambiguation } = rules();
        set_shared(&shared).expect("of this checkout");
        // Expressions that are left to Python are fuzzed there.
        let evaluate = |expression: &str| expression.trim().parse::<f64>().ok().map(|number| number.to_string());
        unicode::set_tables(Tables::from_json(characters, str::to_lowercase, evaluate).expect("of this checkout"));
        let wiki = |(name, site): (String, Arc<Site>)| Wiki {
            text: texts[&site.language].clone(),
            disambiguation: disambiguation[&name].clone(),
            site,
        };
        sites.into_iter().map(wiki).collect()
    })
}

/// The wiki that the first byte of an input names, and the rest as text.
fn of_input(data: &[u8]) -> Option<(usize, String)> {
    let (&first, rest) = data.split_first()?;
    Some((usize::from(first) % wikis().len(), String::from_utf8_lossy(rest).into_owned()))
}

/// Without the characters that XML cannot carry: `parse_page` leaves them out.
fn carried(text: &str) -> String {
    text.chars().filter(|&char| char >= ' ' || char == '\t' || char == '\n').collect()
}

thread_local! {
    static READERS: RefCell<HashMap<usize, Reader>> = RefCell::new(HashMap::new());
    static EXTRACTORS: RefCell<HashMap<usize, Extractor>> = RefCell::new(HashMap::new());
}

/// Read an article with the reader of a wiki, twice; return its ledger.
fn read(number: usize, mut page: Page) -> Counts {
    READERS.with_borrow_mut(|readers| {
        let reader = readers.entry(number).or_insert_with(|| {
            let wiki = &wikis()[number];
            let kinds = PageKinds::new(&wiki.disambiguation, None);
            Reader::new(Extractor::new(wiki.site.clone(), None, true), wiki.text.clone(), kinds, true)
        });
        let text = page.text.clone();
        // What is kept for all pages, such as titles, is there from the first time.
        let counts = reader.read_article(&mut page, false);
        reader.clear();
        page.text = text.clone();
        let (again, bytes) = peak(|| reader.read_article(&mut page, false));
        reader.clear();
        assert_eq!(counts, again, "another ledger the second time");
        assert!(
            bytes <= TIMES_THE_PAGE * text.len() + FOR_ANY_PAGE,
            "{bytes} bytes of memory for a page of {} bytes",
            text.len()
        );
        counts
    })
}

/// Wikitext, by the built-in rules.
pub fn page(data: &[u8]) {
    let Some((number, text)) = of_input(data) else { return };
    let text = carried(&text);
    EXTRACTORS.with_borrow_mut(|extractors| {
        let extractor =
            extractors.entry(number).or_insert_with(|| Extractor::new(wikis()[number].site.clone(), None, true));
        check(&extractor.extract(text.clone(), TITLE));
    });
    check_ledger(&read(number, article(text)));
}

/// Wikitext, and the templates that it is read with.
pub fn templates(data: &[u8]) {
    let Some((number, text)) = of_input(data) else { return };
    let mut parts = text.split(NAME);
    let text = carried(parts.next().unwrap_or_default());
    let table: HashMap<String, Arc<str>> = parts
        .filter_map(|part| part.split_once(BODY))
        .map(|(name, body)| (name.to_owned(), Arc::from(carried(body))))
        .collect();
    let find = move |title: &str| table.get(title).cloned();
    let mut extractor = Extractor::new(wikis()[number].site.clone(), Some(Box::new(find)), true);
    extractor.links.linked_titles(&text, TITLE);
    let (first, second) = (extractor.extract(text.clone(), TITLE), extractor.extract(text, TITLE));
    check(&first);
    assert_eq!((first.text, first.counts), (second.text, second.counts), "another page the second time");
}

/// The bytes of a <page> element.
pub fn element(data: &[u8]) {
    let Some((&first, raw)) = data.split_first() else { return };
    let number = usize::from(first) % wikis().len();
    if let Some(page) = parse_page(raw) {
        assert!(!page.title.contains(|char: char| char < ' ' && char != '\t' && char != '\n'));
        check_ledger(&read(number, page));
    }
}

fn article(text: String) -> Page {
    Page {
        title: TITLE.to_owned(),
        namespace: Some(0),
        page_id: 1,
        rev_id: 1,
        timestamp: String::new(),
        redirect: None,
        model: "wikitext".to_owned(),
        text,
    }
}

fn check(extract: &Extract) {
    check_links(&extract.links, &extract.text);
    check_links(&extract.other_links, &extract.text);
    for aside in &extract.asides {
        check_links(&aside.links, &aside.text);
    }
}

/// As `problem_of_links` in `tests/fuzzing.py`.
fn check_links(links: &Links, text: &str) {
    let mut end = 0;
    assert_eq!((links.starts.len(), links.starts.len()), (links.ends.len(), links.targets.iter().len()));
    for ((&start, &stop), target) in links.starts.iter().zip(&links.ends).zip(links.targets.iter()) {
        assert!(end <= start && start < stop, "offsets are not in order");
        let shown = text.get(start..stop).expect("offsets are inside the text, and not inside a character");
        assert!(!shown.contains('\n'), "a link shows more than itself");
        assert_eq!(unicode::strip(shown), shown, "a link begins or ends with white space");
        assert!(!target.is_empty(), "a link leads nowhere");
        end = stop;
    }
}

/// As `link_counts.unbalanced` in Python.
fn check_ledger(counts: &Counts) {
    assert!(counts.0.values().all(|&number| number >= 0), "a negative number: {counts:?}");
    let get = |name: &str| counts.0.get(name).copied().unwrap_or(0);
    let seen = get("links:seen");
    let of_links = counts.0.iter().filter(|(name, _)| name.starts_with("links:"));
    assert_eq!(of_links.map(|(_, number)| number).sum::<i64>() - seen, seen, "the buckets do not add up: {counts:?}");
    let source = |name: &str| get(&format!("source:{name}"));
    let taken = source("comment") + source("nowiki") + source("in_calls") + source("notices");
    let shown = source("links") - taken + source("from_calls") + source("joined");
    assert_eq!(shown, seen, "the source does not add up: {counts:?}");
}
