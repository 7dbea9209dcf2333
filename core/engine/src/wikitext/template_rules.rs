//! Render template calls by the rules of `data/templates.json`: by `{1}[ ({2})]`, `{{x|Kyiv|city}}` shows "Kyiv
//! (city)".
//!
//! A rule is a text with slots: `{1}` and `{name}` for arguments, `{2|1}` for the first that is given, `{#1}` for a
//! number, `{*}` for all unnamed arguments, `{measure}` for a number with its unit, `{open}` and `{close}` for square
//! brackets, `{link}` and `{end}` for those around a link. `[...]` is shown only if its slots have values; `{?lc}` and
//! `{!3}` are conditions, and `{!words}` means that no unnamed argument holds words. If a rule does not fit a call, the
//! one after `||` is tried; if none fits, there is a gap. A rule is parsed once: an optional text shows all or nothing,
//! so it is a tree.

use super::numbers::NumberWriter;
use super::placeholders::{protect, GAP};
use crate::rules::Measures;
use crate::shared::shared;
use crate::unicode::{is_alpha, is_decimal, is_space};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The arguments of a call by name; unnamed ones by their number, from "1".
pub type Given<'a> = FxHashMap<Cow<'a, str>, &'a str>;

/// A rule, and those that are tried if it does not fit.
#[derive(Debug)]
pub struct Rule {
    alternatives: Vec<Alternative>,
}

#[derive(Debug)]
struct Alternative {
    /// Arguments, and whether they must be given, or must not.
    conditions: Vec<(String, bool)>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    Text(String),
    Unnamed,
    Measure,
    Argument { names: Vec<String>, is_number: bool },
    Optional(Vec<Node>),
}

impl Rule {
    pub fn parse(rule: &str) -> Rule {
        Rule { alternatives: rule.split("||").map(Alternative::parse).collect() }
    }
}

impl Alternative {
    fn parse(rule: &str) -> Alternative {
        let mut conditions = Vec::new();
        let mut nodes = Vec::new();
        // What stands before each optional text that is not closed yet.
        let mut outer: Vec<Vec<Node>> = Vec::new();
        let mut rest = rule;
        while let Some(start) = rest.find(['{', '[', ']']) {
            let (text, sign) = rest.split_at(start);
            if !text.is_empty() {
                nodes.push(Node::Text(text.to_owned()));
            }
            rest = &sign[1..];
            if sign.starts_with('[') {
                outer.push(std::mem::take(&mut nodes));
            } else if sign.starts_with('{') {
                match rest.split_once('}').filter(|(slot, _)| !slot.contains('{')) {
                    Some((slot, after)) => {
                        match slot.strip_prefix(['?', '!']) {
                            Some(name) => conditions.push((name.to_owned(), slot.starts_with('?'))),
                            None => nodes.push(Node::of_slot(slot)),
                        }
                        rest = after;
                    }
                    None => nodes.push(Node::Text("{".to_owned())),
                }
            } else if let Some(mut before) = outer.pop() {
                before.push(Node::Optional(nodes));
                nodes = before;
            } else {
                nodes.push(Node::Text("]".to_owned()));
            }
        }
        if !rest.is_empty() {
            nodes.push(Node::Text(rest.to_owned()));
        }
        Alternative { conditions, nodes }
    }

    /// Render a call; None if the rule does not fit it.
    fn filled(&self, given: &Given, numbers: &NumberWriter, measures: &Measures) -> Option<String> {
        for (name, wanted) in &self.conditions {
            let holds = if name == "words" {
                unnamed(given).any(holds_words)
            } else {
                given.get(name.as_str()).is_some_and(|value| !value.is_empty())
            };
            if holds != *wanted {
                return None;
            }
        }
        let mut shown = String::new();
        write(&self.nodes, given, numbers, measures, &mut shown).then_some(shown)
    }
}

impl Node {
    fn of_slot(slot: &str) -> Node {
        match slot {
            // Protected, so that two brackets do not become a link.
            "open" => Node::Text(protect("[")),
            "close" => Node::Text(protect("]")),
            "link" => Node::Text("[[".to_owned()),
            "end" => Node::Text("]]".to_owned()),
            "*" => Node::Unnamed,
            "measure" => Node::Measure,
            _ => Node::Argument {
                names: slot.trim_start_matches('#').split('|').map(str::to_owned).collect(),
                is_number: slot.starts_with('#'),
            },
        }
    }
}

/// Render a template call: the visible text, GAP if no alternative fits.
pub fn fill(rule: &Rule, given: &Given, numbers: &NumberWriter, measures: &Measures) -> String {
    let mut alternatives = rule.alternatives.iter();
    alternatives.find_map(|part| part.filled(given, numbers, measures)).unwrap_or_else(|| GAP.to_string())
}

/// Write what a part of a rule shows, and return whether all its slots have values; if not, what was written is of no
/// use.
fn write(nodes: &[Node], given: &Given, numbers: &NumberWriter, measures: &Measures, shown: &mut String) -> bool {
    nodes.iter().all(|node| {
        let start = shown.len();
        match node {
            Node::Text(text) => {
                shown.push_str(text);
                return true;
            }
            Node::Optional(nodes) => {
                if !write(nodes, given, numbers, measures, shown) {
                    shown.truncate(start);
                }
                return true;
            }
            Node::Unnamed => shown.extend(unnamed(given)),
            Node::Measure => {
                if !measure(given, numbers, measures, shown) {
                    shown.truncate(start);
                }
            }
            Node::Argument { names, is_number } => {
                let mut values = names.iter().filter_map(|name| given.get(name.as_str()));
                match values.find(|value| !value.is_empty()) {
                    Some(value) if *is_number => shown.push_str(&numbers.write(value)),
                    Some(value) => shown.push_str(value),
                    None => {}
                }
            }
        }
        shown.len() > start
    })
}

/// The name of the unnamed argument at a position, from 1.
pub fn position_name(position: usize) -> Cow<'static, str> {
    const NAMES: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    match NAMES.get(position.wrapping_sub(1)) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(position.to_string()),
    }
}

/// An unnamed argument by its position, "" if it is not given.
fn argument<'a>(given: &Given<'a>, position: usize) -> &'a str {
    given.get(&position_name(position)).copied().unwrap_or("")
}

/// The unnamed arguments in their order.
fn unnamed<'a>(given: &'a Given) -> impl Iterator<Item = &'a str> {
    (1..=given.len()).map(|position| argument(given, position))
}

/// Whether an argument may be text of the page; a date is none, nor the name of an option.
fn holds_words(argument: &str) -> bool {
    if !argument.chars().any(is_alpha) {
        return false;
    }
    let most = shared().limits.date_words;
    let words = argument.split(is_space).filter(|word| !word.is_empty());
    !(argument.chars().any(is_decimal) && words.take(most + 1).count() <= most)
}

/// Write "5 to 10 km" for |5|to|10|km|mi, "5 ft 11 in" for |5|ft|11|in|m; return whether it is a number with a unit.
fn measure(given: &Given, numbers: &NumberWriter, measures: &Measures, shown: &mut String) -> bool {
    let mut position = 1;
    loop {
        let (value, word) = (argument(given, position), argument(given, position + 1));
        if !is_value(value) || word.is_empty() {
            return false;
        }
        shown.push_str(&numbers.write(&value.replace(',', "").replace('+', " ")));
        if let Some(range) = measures.ranges.get(word) {
            shown.push_str(range);
        } else {
            let is_last = !is_value(argument(given, position + 2)) || argument(given, position + 3).is_empty();
            shown.push(' ');
            shown.push_str(measures.units.get(word).map_or(word, String::as_str));
            if is_last {
                return true;
            }
            shown.push(' ');
        }
        position += 2;
    }
}

/// Whether a text is a number of {{convert}}: `[-+−]?[\d.,/+]+(?:[eE][-+]?\d+)?`.
fn is_value(text: &str) -> bool {
    // A leading "+" is one of the characters of the number too.
    let number = text.strip_prefix(['-', '−']).unwrap_or(text);
    let rest = number.trim_start_matches(|char| is_decimal(char) || matches!(char, '.' | ',' | '/' | '+'));
    if rest.len() == number.len() {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !digits.is_empty() && digits.chars().all(is_decimal)
        }
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Numbers;

    fn filled(rule: &str, arguments: &[(&'static str, &'static str)]) -> String {
        let numbers = Numbers {
            thousands: ",".to_owned(),
            decimal: ".".to_owned(),
            digits: "0123456789".to_owned(),
            together: 4,
            pairs: false,
        };
        let given = arguments.iter().map(|&(name, value)| (Cow::Borrowed(name), value)).collect();
        fill(&Rule::parse(rule), &given, &NumberWriter::new(&numbers), &Measures::default())
    }

    #[test]
    fn shows_an_optional_text_if_its_slots_have_values() {
        let rule = "{1}[ ({2}[, {3}])]";
        assert_eq!(filled(rule, &[("1", "Kyiv")]), "Kyiv");
        assert_eq!(filled(rule, &[("1", "Kyiv"), ("2", "city")]), "Kyiv (city)");
        assert_eq!(filled(rule, &[("1", "Kyiv"), ("2", "city"), ("3", "old")]), "Kyiv (city, old)");
        assert_eq!(filled(rule, &[("2", "city")]), GAP.to_string());
    }

    #[test]
    fn tries_the_next_alternative() {
        assert_eq!(filled("{?lc}a||{!words}{1}||{#2|1}", &[("1", "two words"), ("2", "1000")]), "1,000");
        assert_eq!(filled("{?lc}a||b", &[("lc", "x")]), "a");
    }

    #[test]
    fn shows_a_measure() {
        let arguments = [("1", "5"), ("2", "to"), ("3", "10"), ("4", "km"), ("5", "mi")];
        assert_eq!(filled("{measure}", &arguments), "5 to 10 km");
        let arguments = [("1", "5"), ("2", "ft"), ("3", "11"), ("4", "in"), ("5", "m")];
        assert_eq!(filled("{measure}", &arguments), "5 ft 11 in");
    }
}
