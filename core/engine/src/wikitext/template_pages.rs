//! What of a template's wikitext its definition says: `{{Box|{{{1}}}}}[[Category:A]]` begins with a call of Box, which
//! is all that it shows, and calls Box.

use super::braces::{parse_braces, Argument, Node};
use super::inline::{frames_text, makes_block};
use super::tags::strip_extension_tags;
use crate::counts::Counts;
use crate::shared::shared;
use crate::unicode::{is_space, strip};
use memchr::{memchr, memmem};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inclusion {
    No,
    Include,
    Only,
}

const INCLUSIONS: [(&str, Inclusion); 3] =
    [("noinclude", Inclusion::No), ("includeonly", Inclusion::Include), ("onlyinclude", Inclusion::Only)];

/// A tag of `INCLUSIONS`.
struct InclusionTag {
    start: usize,
    end: usize,
    /// None for one with a letter that is none of ASCII, which says nothing.
    kind: Option<Inclusion>,
    closes: bool,
    is_empty: bool,
}

/// What a page shows where it is transcluded, by its tags `noinclude`, `includeonly` and `onlyinclude`: wikitext
/// without comments and extension tags.
pub fn transcluded(text: &str, entities: &FxHashMap<String, String>) -> String {
    let text = without_comments(text);
    let has_only = (text.as_bytes().windows(13)).any(|tag| tag.eq_ignore_ascii_case(b"<onlyinclude>"));
    let (mut shown, mut position, mut hidden, mut inside) = (String::with_capacity(text.len()), 0, false, !has_only);
    while let Some(tag) = next_inclusion(&text, position) {
        if !hidden && inside {
            shown += &text[position..tag.start];
        }
        position = tag.end;
        match tag.kind.filter(|_| !tag.is_empty) {
            Some(Inclusion::No) => hidden = !tag.closes,
            Some(Inclusion::Only) if !hidden => inside = !tag.closes,
            _ => {}
        }
    }
    if !hidden && inside {
        shown += &text[position..];
    }
    strip_extension_tags(shown, entities, &mut Counts::default(), None)
}

fn without_comments(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = memmem::find(rest.as_bytes(), b"<!--") {
        shown += &rest[..start];
        let comment = &rest[start + 4..];
        rest = memmem::find(comment.as_bytes(), b"-->").map_or("", |end| &comment[end + 3..]);
    }
    shown + rest
}

fn next_inclusion(text: &str, from: usize) -> Option<InclusionTag> {
    let mut search = from;
    loop {
        let start = search + memchr(b'<', &text.as_bytes()[search..])?;
        search = start + 1;
        let closes = text[search..].starts_with('/');
        let name = &text[search + usize::from(closes)..];
        let found = INCLUSIONS.iter().find_map(|&(word, kind)| Some((after_word(name, word)?, word, kind)));
        let Some((rest, word, kind)) = found else { continue };
        let is_ascii = name.len() - rest.len() == word.len();
        let rest = rest.trim_start_matches(is_space);
        let is_empty = rest.starts_with('/');
        let Some(after) = rest[usize::from(is_empty)..].strip_prefix('>') else { continue };
        let end = text.len() - after.len();
        return Some(InclusionTag { start, end, kind: is_ascii.then_some(kind), closes, is_empty });
    }
}

/// What follows a word, without regard to case; as in Python, a dotless small and a dotted capital I are cases of i.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut chars = text.chars();
    for letter in word.chars() {
        let char = chars.next()?;
        if !(char.eq_ignore_ascii_case(&letter) || letter == 'i' && matches!(char, 'ı' | 'İ')) {
            return None;
        }
    }
    Some(chars.as_str())
}

/// What is read of a template.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TemplateFacts {
    /// Whether what stands outside of all braces, which every call shows, makes a block that frames no text.
    pub block: bool,
    /// Whether the switch of disambiguation pages is set outside of conditions, other than those on the namespace.
    pub disambiguation: bool,
    /// The name of the call that it begins with, "" if it begins with something else or the name is computed.
    pub first: String,
    /// Whether that call is all that it shows.
    pub is_call: bool,
    /// The names of all calls, in the order of the text or another.
    pub names: Vec<String>,
}

/// Read what a template shows where it is transcluded.
pub fn template_facts(body: &str) -> TemplateFacts {
    let nodes = parse_braces(body);
    let shown: String = nodes.iter().map(|node| if let Node::Text(text) = node { text } else { "x" }).collect();
    let switch = shared().characters.disambiguation_switch.as_str();
    let mut words = nodes.iter().filter(|node| !matches!(node, Node::Text(text) if is_blank(text)));
    let first = words.next().filter(|node| matches!(node, Node::Call { .. }));
    let is_call = first.is_some() && words.next().is_none();
    TemplateFacts {
        block: makes_block(&shown) && !frames_text(&shown),
        disambiguation: body.contains(switch) && is_set(&nodes, switch),
        first: first.map(|node| name_of(node).to_owned()).unwrap_or_default(),
        is_call,
        names: called(&nodes),
    }
}

/// Whether a text is blank but for links to categories, or to other pages with a namespace.
fn is_blank(mut text: &str) -> bool {
    loop {
        text = text.trim_start_matches(is_space);
        let Some(link) = text.strip_prefix("[[") else { return text.is_empty() };
        let Some(colon) = link.find(['[', ']', '|', ':']).filter(|&sign| link.as_bytes()[sign] == b':') else {
            return false;
        };
        let target = &link[colon + 1..];
        let Some(end) = target.find(['[', ']']).filter(|&sign| target[sign..].starts_with("]]")) else { return false };
        text = &target[end + 2..];
    }
}

/// The name of a call, "" if it is computed.
fn name_of(node: &Node) -> &str {
    match node {
        Node::Call { name, .. } => match &name[..] {
            [Node::Text(text)] => strip(text),
            _ => "",
        },
        _ => "",
    }
}

fn is_set(nodes: &[Node], switch: &str) -> bool {
    let mut waiting: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = waiting.pop() {
        match node {
            Node::Text(text) if text.contains(switch) => return true,
            Node::Call { name, arguments } => {
                let name: String =
                    name.iter().map(|node| if let Node::Text(text) = node { text } else { name_of(node) }).collect();
                if name.contains("NAMESPACE") {
                    waiting.extend(arguments.iter().flat_map(|argument| &argument.value));
                }
            }
            _ => {}
        }
    }
    false
}

fn called(nodes: &[Node]) -> Vec<String> {
    let mut names = FxHashSet::default();
    let mut waiting: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = waiting.pop() {
        match node {
            Node::Text(_) => {}
            Node::Parameter { name, default } => waiting.extend(name.iter().chain(default.iter().flatten())),
            Node::Call { name, arguments } => {
                names.insert(name_of(node));
                waiting.extend(name);
                for Argument { name, value } in arguments {
                    waiting.extend(name.iter().flatten().chain(value));
                }
            }
        }
    }
    names.remove("");
    names.into_iter().map(str::to_owned).collect()
}
