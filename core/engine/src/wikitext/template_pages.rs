//! What of a template's wikitext its definition says: `{{Box|{{{1}}}}}[[Category:A]]` begins with a call of Box, which
//! is all that it shows, and calls Box. Whether a name is a template, and of which title, Python says.

use super::braces::{parse_braces, Argument, Node};
use super::inline::{frames_text, makes_block};
use crate::shared::shared;
use crate::unicode::{is_space, strip};
use rustc_hash::FxHashSet;

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
