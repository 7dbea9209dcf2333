//! Internal links: replace each [[target|label]] by its visible text, and record its offsets and target.
//!
//! "[[bus]]es" shows "buses" and leads to "Bus": the letters after a link, its trail, belong to it. Links to
//! categories, files and other languages show nothing.

use super::breaks::{feeds_in, without_removed, Breaks};
use super::characters::decode_entities;
use super::placeholders::{protect, restore, GAP, HEADING, LIST, NAMED, PREFORMATTED, SEAM};
use super::search::find_double;
use super::stretches::pieces_between;
use crate::counts::Counts;
use crate::rules::Site;
use crate::shared::Name;
use crate::titles::{parse_not_plain, plain_title};
use crate::unicode;
use memchr::{memchr, memchr2};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

const MEDIA: i32 = -2;
const MAIN: i32 = 0;
const FILE: i32 = 6;
const CATEGORY: i32 = 14;
/// In bytes. Longer targets are not cached: hostile ones would fill the memory.
const CACHED_LENGTH: usize = 300;
const CACHE_SIZE: usize = 1 << 13;

/// Bytes that no target of a link contains.
const ENDS_TARGET: [bool; 256] = {
    let mut ends = [false; 256];
    let mut bytes: &[u8] = b"[]{}|<>\n";
    while let [byte, rest @ ..] = bytes {
        ends[*byte as usize] = true;
        bytes = rest;
    }
    ends
};

/// Strings one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// The string at an index that exists.
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|index| self.get(index))
    }
}

/// The links in a text, as columns; offsets are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    pub starts: Vec<usize>,
    pub ends: Vec<usize>,
    /// Titles of the pages linked to, normalised; redirects are not followed.
    pub targets: Texts,
    /// Sections after "#", or "".
    pub fragments: Texts,
}

impl Links {
    fn with_capacity(links: usize) -> Links {
        let texts = |bytes| Texts { text: String::with_capacity(bytes), ends: Vec::with_capacity(links) };
        Links {
            starts: Vec::with_capacity(links),
            ends: Vec::with_capacity(links),
            targets: texts(16 * links),
            fragments: texts(0),
        }
    }

    fn add(&mut self, start: usize, end: usize, target: &str, fragment: &str) {
        self.starts.push(start);
        self.ends.push(end);
        self.targets.push(target);
        self.fragments.push(fragment);
    }
}

/// What `documents` has of a page besides its text and links.
#[derive(Default)]
pub struct Structure {
    /// The line feeds that replace tags.
    pub breaks: Breaks,
    /// Titles without the name of the namespace, in order.
    pub categories: Vec<String>,
    /// Links to articles of other Wikipedias in the text, and the database names of their wikis.
    pub wikipedia_links: Links,
    pub wikis: Vec<String>,
}

/// Returns the wiki, the title and the section of the article of a Wikipedia that a link leads to.
pub type ReadWikipedia = Box<dyn Fn(&str) -> Option<(String, String, String)> + Send + Sync>;

/// Whether a link of a kind shows nothing.
fn is_hidden(kind: Name) -> bool {
    matches!(kind, Name::NotALink | Name::Category | Name::File | Name::Language)
}

/// Whether MediaWiki removes the blanks before a link too.
fn is_without_place(kind: Name) -> bool {
    matches!(kind, Name::Category | Name::Language)
}

struct Target {
    kind: Name,
    title: Arc<str>,
    fragment: Arc<str>,
}

/// Parsed targets other than plain titles, which are parsed in less time than they are looked up.
struct TargetCache {
    site: Arc<Site>,
    /// Indices into `targets`.
    indices: FxHashMap<Box<str>, usize>,
    targets: Vec<Target>,
    /// The last one that is not cached.
    long: Target,
    empty: Arc<str>,
}

impl TargetCache {
    fn new(site: Arc<Site>) -> TargetCache {
        let empty: Arc<str> = Arc::from("");
        let long = Target { kind: Name::NotALink, title: empty.clone(), fragment: empty.clone() };
        TargetCache { site, indices: FxHashMap::default(), targets: Vec::new(), long, empty }
    }

    fn get(&mut self, raw: &str) -> &Target {
        if raw.len() >= CACHED_LENGTH {
            self.long = self.read(raw);
            return &self.long;
        }
        let index = match self.indices.get(raw) {
            Some(&index) => index,
            None => {
                if self.targets.len() >= CACHE_SIZE {
                    self.indices.clear();
                    self.targets.clear();
                }
                let target = self.read(raw);
                self.indices.insert(raw.into(), self.targets.len());
                self.targets.push(target);
                self.targets.len() - 1
            }
        };
        &self.targets[index]
    }

    fn read(&self, raw: &str) -> Target {
        let empty = || self.empty.clone();
        let parse = || parse_not_plain(&unprotected(raw), &self.site);
        let target = if memchr(b'\n', raw.as_bytes()).is_none() { parse() } else { None };
        let Some(target) = target else { return Target { kind: Name::NotALink, title: empty(), fragment: empty() } };
        let kind = if !target.interwiki.is_empty() {
            let is_language = self.site.interlanguage.contains(&target.interwiki) && !target.colon;
            if is_language {
                Name::Language
            } else {
                Name::Interwiki
            }
        } else {
            match target.namespace {
                MAIN if target.title.is_empty() => Name::Own,
                MAIN => Name::Link,
                CATEGORY if !target.colon => Name::Category,
                FILE if !target.colon => Name::File,
                MEDIA => Name::Media,
                _ => Name::Namespace,
            }
        };
        Target { kind, title: Arc::from(target.title), fragment: Arc::from(target.fragment) }
    }
}

/// A set of characters.
#[derive(Default)]
struct Letters(Vec<u64>);

impl Letters {
    fn add(&mut self, first: char, last: char) {
        let end = last as usize / 64 + 1;
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        for code in first as usize..=last as usize {
            self.0[code / 64] |= 1 << (code % 64);
        }
    }

    fn of(chars: &str) -> Letters {
        let mut letters = Letters::default();
        for char in chars.chars() {
            letters.add(char, char);
        }
        letters
    }

    #[inline]
    fn contains(&self, char: char) -> bool {
        self.0.get(char as usize / 64).is_some_and(|bits| bits >> (char as usize % 64) & 1 == 1)
    }
}

/// Returns the number of bytes at the beginning of a text that belong to the link before it.
pub type TrailLength = Box<dyn Fn(&str) -> usize + Send + Sync>;

/// One of the alternatives that a link trail repeats.
enum Unit {
    Letter(Letters),
    Text(String),
    /// An apostrophe that no other one follows.
    Apostrophe,
}

impl Unit {
    /// Return a text without this unit at its beginning.
    fn strip<'a>(&self, text: &'a str) -> Option<&'a str> {
        match self {
            Unit::Letter(letters) => text.strip_prefix(|char| letters.contains(char)),
            Unit::Text(prefix) => text.strip_prefix(&**prefix),
            Unit::Apostrophe => text.strip_prefix('\'').filter(|rest| !rest.starts_with('\'')),
        }
    }
}

enum Trail {
    Units(Vec<Unit>),
    Called(TrailLength),
}

impl Trail {
    fn length(&self, text: &str) -> usize {
        match self {
            Trail::Units(units) => {
                let mut rest = text;
                while let Some(shorter) = units.iter().find_map(|unit| unit.strip(rest)) {
                    rest = shorter;
                }
                text.len() - rest.len()
            }
            Trail::Called(length) => length(text),
        }
    }
}

/// Return the units of a link trail; `None` if its pattern has another form than those of MediaWiki's languages: a
/// class that is repeated, or alternatives of classes and characters.
///
/// A colon before the class (Northern Sámi) never counts, because a trail begins with a letter that matches alone.
fn parse_trail(pattern: &str) -> Option<Vec<Unit>> {
    if pattern == "(?!)" {
        return Some(Vec::new());
    }
    let repeated = pattern.strip_suffix('+')?;
    if let Some(class) = repeated.strip_prefix(":?").unwrap_or(repeated).strip_prefix('[') {
        let (letters, rest) = parse_class(class)?;
        return rest.is_empty().then(|| vec![Unit::Letter(letters)]);
    }
    let mut rest = repeated.strip_prefix("(?:")?.strip_suffix(')')?;
    let mut units: Vec<Unit> = Vec::new();
    loop {
        let unit;
        if let Some(class) = rest.strip_prefix('[') {
            let (letters, after) = parse_class(class)?;
            (unit, rest) = (Unit::Letter(letters), after);
        } else if let Some(after) = rest.strip_prefix("'(?!')") {
            (unit, rest) = (Unit::Apostrophe, after);
        } else {
            let mut text = String::new();
            while !rest.is_empty() && !rest.starts_with('|') {
                let (char, is_escaped, after) = parse_char(rest)?;
                if !is_escaped && ".^$*+?{}[]()".contains(char) {
                    return None;
                }
                text.push(char);
                rest = after;
            }
            let mut chars = text.chars();
            unit = match (chars.next()?, chars.next()) {
                (char, None) => Unit::Letter(Letters::of(char.encode_utf8(&mut [0; 4]))),
                _ => Unit::Text(text),
            };
        }
        units.push(unit);
        if rest.is_empty() {
            return Some(units);
        }
        rest = rest.strip_prefix('|')?;
    }
}

/// Parse a class of characters behind its opening bracket; return what follows it too.
fn parse_class(pattern: &str) -> Option<(Letters, &str)> {
    let mut letters = Letters::default();
    let mut rest = pattern;
    if rest.starts_with(['^', ']']) {
        return None;
    }
    while !rest.starts_with(']') {
        let (first, _, after) = parse_char(rest)?;
        match after.strip_prefix('-').filter(|end| !end.starts_with(']')) {
            Some(end) => {
                let (last, _, after) = parse_char(end)?;
                letters.add(first, last);
                rest = after;
            }
            None => {
                letters.add(first, first);
                rest = after;
            }
        }
    }
    Some((letters, &rest[1..]))
}

/// Parse a character of a pattern; return whether it is escaped, and what follows.
fn parse_char(pattern: &str) -> Option<(char, bool, &str)> {
    let mut chars = pattern.chars();
    let char = chars.next()?;
    if char != '\\' {
        return Some((char, false, chars.as_str()));
    }
    let digits = match chars.next()? {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        char if char.is_ascii_punctuation() => return Some((char, true, chars.as_str())),
        _ => return None,
    };
    let code = u32::from_str_radix(chars.as_str().get(..digits)?, 16).ok()?;
    Some((char::from_u32(code)?, true, &chars.as_str()[digits..]))
}

/// Letters beside a link that belong to it.
struct Affixes {
    /// Most links have no trail, which a look at the next character shows faster than the pattern.
    trail_letters: Letters,
    trail: Trail,
    prefix_letters: Letters,
}

impl Affixes {
    /// Move the letters of the link prefix and the link trail from the text around a link to its label.
    fn extend<'a>(&self, before: &mut &'a str, label: &mut Cow<'a, str>, rest: &mut &'a str) {
        if rest.starts_with(|char| self.trail_letters.contains(char)) {
            let (trail, after) = rest.split_at(self.trail.length(rest));
            label.to_mut().push_str(trail);
            *rest = after;
        }
        let remaining = before.trim_end_matches(|char| self.prefix_letters.contains(char));
        if remaining.len() < before.len() {
            label.to_mut().insert_str(0, &before[remaining.len()..]);
            *before = remaining;
        }
    }
}

/// Reads the links of one wiki.
pub struct LinkReader {
    site: Arc<Site>,
    targets: TargetCache,
    affixes: Affixes,
    read_wikipedia: Option<ReadWikipedia>,
}

impl LinkReader {
    pub fn new(site: Arc<Site>) -> LinkReader {
        let affixes = Affixes {
            trail_letters: Letters::of(&site.trail_letters),
            trail: Trail::Units(parse_trail(&site.link_trail).unwrap_or_default()),
            prefix_letters: Letters::of(&site.prefix_letters),
        };
        LinkReader { targets: TargetCache::new(site.clone()), site, affixes, read_wikipedia: None }
    }

    /// Read links to other Wikipedias by this.
    pub fn set_wikipedia(&mut self, read: ReadWikipedia) {
        self.read_wikipedia = Some(read);
    }

    /// Whether the link trail of a wiki needs `set_trail`.
    pub fn needs_trail(site: &Site) -> bool {
        parse_trail(&site.link_trail).is_none()
    }

    /// Match the link trail by other means than its pattern.
    pub fn set_trail(&mut self, length: TrailLength) {
        self.affixes.trail = Trail::Called(length);
    }

    /// Return the titles of all articles that the wikitext links to, sorted, without the page itself.
    ///
    /// Links in tables, captions, references and template arguments count too.
    pub fn linked_titles<'a>(&mut self, text: &'a str, own_title: &str) -> Vec<Cow<'a, str>> {
        let bytes = text.as_bytes();
        let mut titles: Vec<(u64, Cow<str>)> = Vec::new();
        let mut start = 0;
        while let Some(offset) = find_double(&bytes[start..], b'[') {
            let begin = start + offset + bytes[start + offset..].iter().take_while(|&&byte| byte == b'[').count();
            let length = bytes[begin..].iter().position(|&byte| ENDS_TARGET[usize::from(byte)]);
            let end = length.map_or(text.len(), |length| begin + length);
            start = end;
            if begin == end {
                continue;
            }
            let raw = &text[begin..end];
            let title = plain_title(raw, &self.site).or_else(|| {
                let target = self.targets.get(raw);
                (target.kind == Name::Link).then(|| Cow::Owned(target.title.to_string()))
            });
            titles.extend(title.filter(|title| title != own_title).map(|title| (first_bytes(&title), title)));
        }
        titles.sort_unstable();
        titles.dedup();
        titles.into_iter().map(|(_, title)| title).collect()
    }

    /// Replace each link by its visible text.
    ///
    /// Return that text, the links to articles in it, and the links to other namespaces. `counts` counts each "[[" by
    /// its kind; the page's own title is bold text to a reader. `structure` gets the categories and the links to
    /// Wikipedias, and loses the breaks in labels.
    pub fn split_links(
        &mut self,
        text: &str,
        own_title: &str,
        counts: &mut Counts,
        mut structure: Option<&mut Structure>,
    ) -> (String, Links, Links) {
        let (mut links, mut other_links) = (Links::with_capacity(text.len() / 128), Links::default());
        let mut numbers: BTreeMap<Name, i64> = BTreeMap::new();
        let mut output = String::with_capacity(text.len());
        // Offsets of links over several lines, and the line feeds that they lose.
        let mut joined: Vec<(usize, usize)> = Vec::new();
        let has_seams = memchr(SEAM as u8, text.as_bytes()).is_some();
        let push_shown = |shown: &str, output: &mut String| {
            if has_seams {
                push_without_seams(shown, output);
            } else {
                output.push_str(shown);
            }
        };
        let mut parts = pieces_between(text, b'[');
        // The text before the next link is written late, because a link prefix may be taken from its end.
        let mut before = parts.next().unwrap_or("");
        for part in parts {
            let closing = find_double(part.as_bytes(), b']');
            let (inner, mut rest) = closing.map_or((part, ""), |end| (&part[..end], &part[end + 2..]));
            let bar = memchr(b'|', inner.as_bytes());
            let raw = &inner[..bar.unwrap_or(inner.len())];
            let mut label = bar.map(|bar| &inner[bar + 1..]);
            let plain = plain_title(raw, &self.site);
            let (kind, title, fragment) = match &plain {
                Some(title) => (Name::Link, &**title, ""),
                None => {
                    let target = self.targets.get(raw);
                    (target.kind, &*target.title, &*target.fragment)
                }
            };
            let kind = if closing.is_none() || label == Some("") { Name::NotALink } else { kind };
            if is_hidden(kind) {
                *numbers.entry(kind).or_default() += 1;
                if is_without_place(kind) {
                    before = before.trim_end_matches(' ');
                }
                push_shown(before, &mut output);
                before = rest;
                if kind == Name::NotALink {
                    output.push_str("[[");
                    before = part;
                } else if let Some(structure) = structure.as_deref_mut() {
                    push_feeds(inner, output.len(), &mut joined);
                    if kind == Name::Category {
                        structure.categories.push(title.split_once(':').map_or("", |(_, name)| name).to_owned());
                    }
                }
                continue;
            }
            if let Some(text) = label.filter(|label| rest.starts_with(']') && label.contains('[')) {
                // The bracket after the label is the first of the three that close it.
                label = Some(&part[inner.len() - text.len()..=inner.len()]);
                rest = &rest[1..];
            }
            let mut shown = match label {
                Some(label) => Cow::Borrowed(label),
                None => shown_target(raw, &self.site.entities),
            };
            self.affixes.extend(&mut before, &mut shown, &mut rest);
            if memchr2(b'\n', SEAM as u8, shown.as_bytes()).is_some() {
                shown = Cow::Owned(without_label_breaks(&shown));
            }
            let anchor = unicode::strip(&shown);
            let mut shown = &*shown;
            if anchor.len() != shown.len() {
                let at_beginning = before.is_empty() && output.is_empty();
                shown = single_blanks(before.chars().next_back().or(at_beginning.then_some('\n')), shown, rest);
            }
            push_shown(before, &mut output);
            before = rest;
            push_feeds(label.unwrap_or(""), output.len(), &mut joined);
            if anchor.is_empty() || (anchor.starts_with(GAP) && anchor.trim_matches([GAP, NAMED, ' ']).is_empty()) {
                // The label was a template without a rule: words are missing.
                *numbers.entry(Name::EmptyLabel).or_default() += 1;
                if anchor.is_empty() {
                    output.extend(shown.chars().next());
                } else {
                    output.push_str(anchor);
                }
                continue;
            }
            let start = output.len() + shown.len() - unicode::lstrip(shown).len();
            match kind {
                Name::Link if title != own_title => links.add(start, start + anchor.len(), title, fragment),
                Name::Link => *numbers.entry(Name::Own).or_default() += 1,
                Name::Namespace => other_links.add(start, start + anchor.len(), title, fragment),
                _ => {
                    *numbers.entry(kind).or_default() += 1;
                    let read = self.read_wikipedia.as_ref().filter(|_| kind == Name::Interwiki);
                    if let (Some(structure), Some(read)) = (structure.as_deref_mut(), read) {
                        if let Some((wiki, title, fragment)) = read(&unprotected(raw)) {
                            structure.wikipedia_links.add(start, start + anchor.len(), &title, &fragment);
                            structure.wikis.push(wiki);
                        }
                    }
                }
            }
            output.push_str(shown);
        }
        push_shown(before, &mut output);
        if let Some(structure) = structure {
            structure.breaks = without_removed(&structure.breaks, &joined, &output);
        }
        for (kind, number) in numbers {
            counts.add(kind, number);
        }
        counts.set(Name::Link, links.starts.len() as i64);
        counts.set(Name::Namespace, other_links.starts.len() as i64);
        (output, links, other_links)
    }
}

/// The first eight bytes of a text as a number, in the order of texts.
fn first_bytes(text: &str) -> u64 {
    let bytes = text.as_bytes();
    match bytes.first_chunk() {
        Some(&first) => u64::from_be_bytes(first),
        None => bytes.iter().rev().fold(0, |number, &byte| number >> 8 | u64::from(byte) << 56),
    }
}

/// Remember the line feeds of a link, which are removed.
fn push_feeds(label: &str, offset: usize, joined: &mut Vec<(usize, usize)>) {
    if memchr(b'\n', label.as_bytes()).is_some() {
        joined.push((offset, feeds_in(label)));
    }
}

fn push_without_seams(text: &str, output: &mut String) {
    let mut rest = text;
    while let Some(at) = memchr(SEAM as u8, rest.as_bytes()) {
        output.push_str(&rest[..at]);
        rest = &rest[at + 1..];
    }
    output.push_str(rest);
}

fn unprotected(raw: &str) -> String {
    // An "&" that was written as "&amp;" is a letter of the title too, and begins no character reference.
    restore(raw.replace(&protect("&"), "&amp;"))
}

fn without_label_breaks(label: &str) -> String {
    let chars = label.chars().filter(|&char| char != SEAM);
    chars.map(|char| if matches!(char, '\n' | HEADING | LIST | PREFORMATTED) { ' ' } else { char }).collect()
}

/// Return what a link without a label shows; it is not percent-encoded.
fn shown_target<'a>(raw: &'a str, entities: &FxHashMap<String, String>) -> Cow<'a, str> {
    let without_colon = |target: &str| -> usize {
        let shown = target.trim_start_matches(' ');
        target.len() - shown.strip_prefix(':').unwrap_or(shown).len()
    };
    if memchr(b'%', raw.as_bytes()).is_none() {
        return Cow::Borrowed(&raw[without_colon(raw)..]);
    }
    let decoded = match String::from_utf8(unquoted(raw)) {
        // A control character in a section would be taken for a placeholder.
        Ok(decoded) if !decoded.bytes().any(|byte| byte < b' ') => decoded,
        _ => return Cow::Borrowed(raw),
    };
    let mut decoded = decode_entities(decoded, entities);
    decoded.drain(..without_colon(&decoded));
    Cow::Owned(decoded)
}

/// `urllib.parse.unquote_to_bytes`.
fn unquoted(text: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut output = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                output.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                output.push(byte);
                at += 1;
            }
        }
    }
    output
}

/// Remove blanks at the edges of a link that would be doubled by the text around it.
fn single_blanks<'a>(before: Option<char>, shown: &'a str, rest: &str) -> &'a str {
    let mut shown = shown;
    if rest.starts_with(' ') {
        shown = shown.trim_end_matches(' ');
    }
    if matches!(before, Some(' ' | '\n')) {
        shown = shown.trim_start_matches(' ');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail_length(pattern: &str, text: &str) -> usize {
        Trail::Units(parse_trail(pattern).expect("a form that is known")).length(text)
    }

    #[test]
    fn trails_are_classes_or_alternatives() {
        assert_eq!(trail_length("(?!)", "a"), 0);
        assert_eq!(trail_length(r"[a-zé\u0430-\u044f]+", "éaб."), 5);
        assert_eq!(trail_length("[a-z-–]+", "a-–A"), 5);
        assert_eq!(trail_length("(?:[a-zç]|'(?!'))+", "l'a''"), 3);
        assert_eq!(trail_length("(?:c\\'h|[a-z])+", "ac'hx'h"), 5);
        assert!(parse_trail(r"\w+").is_none());
        assert!(parse_trail("[^a]+").is_none());
    }

    #[test]
    fn links_show_their_labels_and_trails() {
        let site = Site { link_trail: "[a-z]+".to_owned(), trail_letters: "es".to_owned(), ..Site::default() };
        let mut counts = Counts::default();
        let (text, links, _) =
            LinkReader::new(Arc::new(site)).split_links("A [[bus]]es [[B|c]]", "", &mut counts, None);
        assert_eq!((&*text, links.starts, links.ends), ("A buses c", vec![2, 8], vec![7, 9]));
        assert_eq!(counts.get(Name::Link), 2);
    }
}
