//! Render template calls by the wiki's own definitions or by rules, and remove the others: "In {{lang|uk|Київ}} and
//! {{x}}." is "In Київ and \x01." with a gap where words may be missing.
//!
//! Calls are read innermost first, in one pass over the braces. A call alone on its line is a notice or a box and shows
//! nothing, one over several lines without a rule too. The text that was read stands in one string.

use super::blanks::removed;
use super::definitions::{self, Definitions, Evaluate, FindTemplate};
use super::inline::{after_link, frames_text, inline, join_lines, makes_block, prose_of, shows_prose};
use super::link_counts::links_in;
use super::numbers::NumberWriter;
use super::parser_functions::UNKNOWN;
use super::placeholders::{protect, restore, GAP, HEADING, LIST, NAMED, PIPE, SEAM};
use super::search::find_double;
use super::template_rules::{fill, position_name, Given, Rule};
use crate::counts::Counts;
use crate::rules::Site;
use crate::shared::{shared, Function, Name};
use crate::unicode::{is_lower, length, lower, strip, upper};
use memchr::{memchr, memchr2, memrchr};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes. Longer names are not cached: hostile ones would fill the memory.
const CACHED_LENGTH: usize = 200;
const CACHED_NAMES: usize = 1 << 14;

/// Names of the templates of a page that left gaps, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    pub names: Vec<String>,
}

impl Missing {
    /// The number of a template, from 1, by its normalised name.
    fn number(&mut self, name: &str) -> usize {
        let position = |names: &[String], name: &str| names.iter().position(|known| known == name);
        let name = match position(&self.names, name) {
            Some(index) => return index + 1,
            None if self.names.len() >= shared().limits.templates_names - 1 => shared().names.others.as_str(),
            None => name,
        };
        let index = position(&self.names, name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        index + 1
    }
}

/// What a call shows by its name.
enum Call {
    Rule(Option<Rule>),
    /// A template without a rule, by its normalised name.
    Unknown(String),
    Text(String),
    Number(String),
    Title,
    /// No page has the name: the braces are text.
    Braces,
}

/// Where a call stands: the only one of its line, before what begins a sentence, with other text in its line, in
/// another call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Alone,
    Box,
    InLine,
    Inside,
}

/// A run of opening braces that is not closed yet.
struct Open {
    /// Where the text behind it begins.
    start: usize,
    width: usize,
    begins_line: bool,
}

/// What the page that is read needs.
struct Page<'a> {
    title: &'a str,
    dropped: &'a mut Counts,
    missing: &'a mut Missing,
    /// Whether the last call that was rendered shows what its rule says.
    by_rule: bool,
    /// Why the last call that was rendered is removed with its arguments.
    reason: Option<Name>,
    /// Number of characters in the arguments of calls inside of the one that is open, which show nothing.
    hidden: usize,
    /// Whether the line has shown nothing yet, outside of the call that is open.
    line_is_empty: bool,
}

impl Page<'_> {
    /// Note what the line shows.
    fn shows(&mut self, text: &str) {
        let feed = memrchr(b'\n', text.as_bytes());
        let line = feed.map_or(text, |feed| &text[feed + 1..]);
        self.line_is_empty = (feed.is_some() || self.line_is_empty) && is_invisible(line);
    }
}

/// Whether a text shows nothing.
fn is_invisible(text: &str) -> bool {
    text.chars().all(|char| matches!(char, ' ' | GAP | NAMED | SEAM | HEADING | LIST))
}

/// Renders the templates of one wiki.
pub struct Templates {
    rules: Rules,
    pub definitions: Definitions,
    blank: bool,
    has_definitions: bool,
}

impl Templates {
    /// `blank` removes all templates without leaving gaps. The definitions of the wiki come before the rules, if they
    /// are at hand. `evaluate` is that of `Definitions`.
    pub fn new(site: &Arc<Site>, blank: bool, find: Option<FindTemplate>, evaluate: Evaluate) -> Templates {
        let rules = Rules {
            site: Arc::clone(site),
            numbers: NumberWriter::new(&site.numbers),
            blank,
            names: FxHashMap::default(),
        };
        let has_definitions = find.is_some() && !blank;
        let numbers = rules.numbers.clone();
        let definitions = Definitions::new(
            Arc::clone(site),
            find.unwrap_or_else(|| Box::new(|_| None)),
            Box::new(move |text| numbers.write(text)),
            evaluate,
        );
        Templates { rules, definitions, blank, has_definitions }
    }

    /// Replace all template calls of a text without comments and extension tags, innermost first.
    ///
    /// `dropped` counts the links that calls are given and show (`link_counts`), and the characters of the arguments of
    /// calls that show nothing; `missing` gets the names of the templates that leave gaps.
    pub fn expand(&mut self, text: String, title: &str, dropped: &mut Counts, missing: &mut Missing) -> String {
        if find_double(text.as_bytes(), b'{').is_none() {
            return text;
        }
        let mut page = Page { title, dropped, missing, by_rule: false, reason: None, hidden: 0, line_is_empty: true };
        self.definitions.begin(&text);
        let bytes = text.as_bytes();
        // Text that was read, without the runs in `opened`.
        let mut read = String::with_capacity(text.len());
        let mut opened: Vec<Open> = Vec::new();
        let mut shown = String::new();
        // Whether the last piece is empty: what a removed call shows.
        let mut is_empty = false;
        // The text up to here is read.
        let mut start = 0;
        while let Some((index, width)) = next_run(bytes, start) {
            if index > start {
                read.push_str(&text[start..index]);
                is_empty = false;
                if opened.is_empty() {
                    page.shows(&text[start..index]);
                }
            }
            start = index + width;
            if bytes[index] == b'{' {
                let begins_line = !is_empty && (read.is_empty() || read.ends_with('\n'));
                opened.push(Open { start: read.len(), width, begins_line });
                is_empty = false;
                continue;
            }
            let after = bytes.get(start).copied();
            is_empty = self.close(width, &mut opened, &mut read, &mut shown, &mut page, &text[start..]);
            if is_empty && opened.is_empty() {
                let end = next_run(bytes, start).map_or(text.len(), |(index, _)| index);
                let mark = removed(read.chars().next_back().or(Some('\n')), &text[start..end]);
                let in_quotes = page.by_rule && after == Some(b'\'') && read.ends_with('\'');
                read.push_str(mark);
                is_empty = mark.is_empty();
                if is_empty && (after == Some(b' ') || in_quotes) {
                    // The blank after a removed call does not make the line preformatted; and rules show nothing for
                    // signs such as flags, so the marks of bold around one are two.
                    read.push(SEAM);
                    is_empty = false;
                }
            }
        }
        read.push_str(&text[start..]);
        let mut text = if opened.is_empty() { read } else { with_braces(&read, &opened) };
        if self.has_definitions {
            text = join_lines(text, page.dropped);
        }
        if memchr(PIPE as u8, text.as_bytes()).is_some() {
            text.replace(PIPE, "|")
        } else {
            text
        }
    }

    /// Replace the calls that a run of `width` closing braces ends by their visible text. Return whether the last piece
    /// is empty.
    fn close(
        &mut self,
        mut width: usize,
        opened: &mut Vec<Open>,
        read: &mut String,
        shown: &mut String,
        page: &mut Page,
        after: &str,
    ) -> bool {
        let mut rounds = 0;
        let mut is_empty = false;
        while width >= 2 {
            let depth = opened.len();
            let Some(open) = opened.last_mut() else {
                break;
            };
            rounds += 1;
            let taken = open.width.min(width).min(3);
            let call = &read[open.start..];
            let given = links_in(call);
            let is_inside = depth > 1 || width > 2 || open.width > 2;
            shown.clear();
            page.reason = None;
            if depth > shared().limits.templates_depth || rounds > shared().limits.templates_depth {
                // Removed.
            } else if taken == 3 {
                write_parameter(call, shown);
            } else {
                let place = if is_inside {
                    Place::Inside
                } else if after.starts_with('\n') && open.begins_line {
                    Place::Alone
                } else if page.line_is_empty && !after.trim_start_matches([' ', '\'']).starts_with(is_lower) {
                    Place::Box
                } else {
                    Place::InLine
                };
                self.render(call, page, place, shown);
                if place == Place::Alone && is_invisible(shown) {
                    page.reason = page.reason.or(Some(Name::TextAlone));
                } else if shown.is_empty() {
                    page.reason = page.reason.or(Some(Name::TextInLine));
                }
            }
            if is_inside {
                page.hidden += if is_invisible(shown) { arguments_length(call) } else { 0 };
            } else {
                if let Some(reason) = page.reason {
                    let characters = arguments_length(call) + page.hidden;
                    if characters > 0 {
                        page.dropped.add(reason, characters as i64);
                    }
                }
                page.hidden = 0;
                page.shows(shown);
            }
            if given > 0 {
                page.dropped.add(Name::SourceInCalls, given);
            }
            let from_call = links_in(shown);
            if from_call > 0 {
                page.dropped.add(Name::SourceFromCalls, from_call);
            }
            width -= taken;
            open.width -= taken;
            read.truncate(open.start);
            if open.width < 2 {
                if open.width == 1 {
                    read.push('{');
                }
                opened.pop();
            }
            read.push_str(shown);
            is_empty = shown.is_empty();
        }
        if width > 0 {
            read.extend(std::iter::repeat_n('}', width));
            is_empty = false;
            page.line_is_empty &= !opened.is_empty();
        }
        is_empty
    }

    /// Write the visible text of a call, given without its braces.
    fn render(&mut self, call: &str, page: &mut Page, place: Place, shown: &mut String) {
        let (name, rest) = call.split_once('|').map_or((call, None), |(name, rest)| (name, Some(rest)));
        let known = self.rules.call(name);
        page.by_rule = false;
        match &*known {
            Call::Unknown(text) if text == "#invoke" && !self.definitions.runs_modules() => return,
            Call::Unknown(text) if text.starts_with('#') && !self.blank => {
                let rules = &mut self.rules;
                let mut fallback = |name: &str, given: &definitions::Arguments| rules.by_rule(name, given);
                let evaluated = self.definitions.evaluate(call, page.title, &mut fallback);
                if evaluated.contains(UNKNOWN) {
                    shown.push_str(&evaluated.replace(UNKNOWN, &self.gap(text, page.missing)));
                } else {
                    shown.push_str(&evaluated);
                }
                return;
            }
            Call::Rule(_) | Call::Unknown(_) if self.has_definitions => {
                let has_rule = matches!(*known, Call::Rule(_));
                if let Some(defined) = self.defined(name, rest, page, place, has_rule) {
                    shown.push_str(&defined);
                    return;
                }
            }
            _ => {}
        }
        page.by_rule = matches!(*known, Call::Rule(_));
        match &*known {
            Call::Rule(None) => {}
            Call::Rule(Some(rule)) => {
                let rest = rest.map(with_pipes);
                let given = rest.as_deref().map_or_else(Given::default, arguments);
                let filled = self.rules.fill(rule, &given);
                if filled.starts_with(GAP) && filled.len() == 1 {
                    shown.push_str(&self.gap(&normalised(name), page.missing));
                } else {
                    shown.push_str(&filled);
                }
            }
            Call::Unknown(text) => {
                if matches!(place, Place::Alone | Place::Box) && memchr(b'\n', call.as_bytes()).is_some() {
                    // An infobox or a similar call over several lines is not part of a sentence.
                    page.reason = Some(Name::TextSeveralLines);
                } else {
                    shown.push_str(&self.gap(text, page.missing));
                }
            }
            Call::Text(text) => shown.push_str(text),
            Call::Number(text) => {
                if shared().functions.unformatted.contains(&upper(strip(rest.unwrap_or("")))) {
                    shown.push_str(text);
                } else {
                    shown.push_str(&self.rules.numbers.write(text));
                }
            }
            Call::Title => shown.push_str(page.title),
            Call::Braces => shown.extend(["{{", call, "}}"]),
        }
    }

    /// What a call shows by the wiki's own definition; None if that is not known, or the rule is taken.
    fn defined(
        &mut self,
        name: &str,
        rest: Option<&str>,
        page: &mut Page,
        place: Place,
        has_rule: bool,
    ) -> Option<String> {
        let is_alone = place == Place::Alone;
        // Not in running text: a notice, a box, navigation. Rules know others that hold text, such as quotations.
        let left_out = (!has_rule).then(String::new);
        let body = self.definitions.text(name)?;
        let frames_text = is_alone && frames_text(body);
        let arguments = rest.map(with_pipes);
        let given = match arguments.as_deref() {
            Some(rest) if frames_text || !is_alone => exact_arguments(rest),
            _ => definitions::Arguments::new(),
        };
        let prose: Vec<String> =
            if frames_text { given.iter().filter_map(|(_, value)| prose_of(value)).collect() } else { Vec::new() };
        if is_alone && prose.is_empty() {
            return left_out;
        }
        let rules = &mut self.rules;
        let mut fallback = |name: &str, given: &definitions::Arguments| rules.by_rule(name, given);
        let mut shown = self.definitions.expand(name, given, page.title, &mut fallback)?;
        if is_alone && !shows_prose(&shown, &prose) {
            return left_out;
        }
        let is_block = !is_alone && makes_block(&shown);
        if is_block && has_rule {
            return None;
        }
        let is_unknown = shown.contains(UNKNOWN);
        let gap = if is_block || is_unknown { self.gap(&normalised(name), page.missing) } else { String::new() };
        if is_unknown {
            shown = shown.replace(UNKNOWN, &gap);
        }
        Some(match place {
            Place::Alone => shown,
            Place::Inside => shown.replace('|', &PIPE.to_string()).replace('=', &protect("=")),
            _ => {
                page.reason = is_block.then_some(Name::TextBlock);
                inline(&shown, &gap)
            }
        })
    }

    /// The placeholder for the gap that a template leaves, by its normalised name.
    fn gap(&self, name: &str, missing: &mut Missing) -> String {
        if self.blank {
            return String::new();
        }
        let mut gap = GAP.to_string();
        gap.extend(std::iter::repeat_n(NAMED, missing.number(name)));
        gap
    }
}

/// The rules of a wiki, and the names of calls that were read.
struct Rules {
    site: Arc<Site>,
    numbers: NumberWriter,
    blank: bool,
    names: FxHashMap<String, Arc<Call>>,
}

impl Rules {
    /// What a call shows by its name.
    fn call(&mut self, name: &str) -> Arc<Call> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let call = Arc::new(self.read_name(name));
        if name.len() < CACHED_LENGTH {
            if self.names.len() >= CACHED_NAMES {
                self.names.clear();
            }
            self.names.insert(name.to_owned(), Arc::clone(&call));
        }
        call
    }

    fn fill(&self, rule: &Rule, given: &Given) -> String {
        fill(rule, given, &self.numbers, &self.site.measures)
    }

    /// What a template shows by its rule; None if it has none, or the rule does not fit.
    fn by_rule(&mut self, name: &str, given: &definitions::Arguments) -> Option<String> {
        match &*self.call(name) {
            Call::Rule(None) => Some(String::new()),
            Call::Rule(Some(rule)) => {
                let given = given.iter().map(|(name, value)| (lower_name(name), strip(value))).collect();
                Some(self.fill(rule, &given)).filter(|shown| !(shown.starts_with(GAP) && shown.len() == 1))
            }
            _ => None,
        }
    }

    fn read_name(&self, name: &str) -> Call {
        let name = strip(name);
        let words = &self.site.words;
        let name = match name.split_once(':') {
            Some((head, value)) => match words.get(&lower(strip(head))) {
                Some(word) => Cow::Owned(format!("{word}:{value}")),
                None => Cow::Borrowed(name),
            },
            None => Cow::Borrowed(words.get(name).map_or(name, String::as_str)),
        };
        let name = name.replace('_', " ");
        let functions = &shared().functions;
        match functions.words_of_pages.get(&name) {
            Some(Some(shown)) => return Call::Text(shown.replace('|', &PIPE.to_string())),
            Some(None) => return Call::Title,
            None => {}
        }
        if functions.variables.contains_key(&name) {
            return Call::Unknown("#time".to_owned());
        }
        let mut key = lower(&name);
        if let Some((head, value)) = name.split_once(':') {
            let value = strip(value);
            match functions.functions_of_pages.get(&lower(strip(head))) {
                Some(Function::Number) => return Call::Number(value.to_owned()),
                Some(Function::Lower) => return Call::Text(lower(value)),
                Some(Function::Upper) => return Call::Text(upper(value)),
                Some(Function::LowerFirst) => return Call::Text(with_first(value, lower)),
                Some(Function::UpperFirst) => return Call::Text(with_first(value, upper)),
                Some(Function::Prefix) => key = lower(value),
                // As the functions with a "#" are: by `Definitions`.
                Some(Function::Server) => {
                    return Call::Unknown(format!("#{}", lower(strip(head)).trim_start_matches('#')))
                }
                Some(_) => return Call::Text(String::new()),
                None => {}
            }
        }
        match self.rule(&key) {
            Some("") => Call::Rule(None),
            Some(rule) => Call::Rule(Some(Rule::parse(rule))),
            None if is_name(&name) => Call::Unknown(normalised(&name)),
            None => Call::Braces,
        }
    }

    /// The rule of a template by its lower-case name.
    fn rule(&self, key: &str) -> Option<&str> {
        if self.blank {
            return None;
        }
        let rules = &self.site.template_rules;
        let all_of = |mark: char| {
            let (head, _) = key.split_once(mark)?;
            rules.get(&format!("{head}{mark}*"))
        };
        rules.get(key).or_else(|| all_of('-')).or_else(|| all_of(' ')).map(String::as_str)
    }
}

/// A text with its first character changed.
fn with_first(text: &str, change: fn(&str) -> String) -> String {
    let end = text.chars().next().map_or(0, char::len_utf8);
    change(&text[..end]) + &text[end..]
}

/// The lower-case name of a template as in the rules; of a parser function the part before the colon.
fn normalised(name: &str) -> String {
    let is_placeholder = |char: &char| matches!(*char, GAP | NAMED | SEAM | PIPE);
    let name: String = name.chars().take(shared().limits.name_bytes).filter(|char| !is_placeholder(char)).collect();
    let name = match name.split_once(':') {
        Some((head, _)) if name.contains('#') => head,
        _ => &name,
    };
    lower(strip(&restore(name.to_owned()).replace('_', " ")))
}

/// Whether a template may have a name; MediaWiki shows the braces around another text.
fn is_name(name: &str) -> bool {
    name.len() <= shared().limits.name_bytes
        && !name.contains(['{', '}', '[', ']', '<', '>', '\n'])
        && name.chars().any(|char| char != ':')
        && !name.contains("~~~")
        && !name.split('/').any(|part| matches!(part, "." | ".."))
        && !name
            .as_bytes()
            .windows(3)
            .any(|code| code[0] == b'%' && code[1].is_ascii_hexdigit() && code[2].is_ascii_hexdigit())
}

/// Write what a parameter, {{{name|default}}}, shows outside of a template.
fn write_parameter(call: &str, shown: &mut String) {
    match call.split_once('|') {
        Some((_, default)) => shown.push_str(default),
        None => shown.extend(["{{{", call, "}}}"]),
    }
}

/// The text with the braces of the runs that are not closed: MediaWiki shows an unclosed call as text.
fn with_braces(read: &str, opened: &[Open]) -> String {
    let mut text = String::with_capacity(read.len() + opened.iter().map(|open| open.width).sum::<usize>());
    let mut start = 0;
    for open in opened {
        text.push_str(&read[start..open.start]);
        text.extend(std::iter::repeat_n('{', open.width));
        start = open.start;
    }
    text + &read[start..]
}

/// Where the next run of two or more equal braces begins, and its length.
fn next_run(bytes: &[u8], mut start: usize) -> Option<(usize, usize)> {
    loop {
        let index = start + memchr2(b'{', b'}', &bytes[start..])?;
        let width = bytes[index..].iter().take_while(|&&byte| byte == bytes[index]).count();
        if width > 1 {
            return Some((index, width));
        }
        start = index + 1;
    }
}

/// Count the characters of the arguments of a call that is removed with them.
fn arguments_length(call: &str) -> usize {
    call.split_once('|').map_or(0, |(_, rest)| length(rest))
}

/// The arguments of a call with a PIPE for each "|" inside of a link.
fn with_pipes(rest: &str) -> Cow<'_, str> {
    let mut text = String::new();
    let (mut start, mut next) = (0, 0);
    while let Some(index) = find_double(&rest.as_bytes()[next..], b'[').map(|length| next + length) {
        next = index + 1;
        if let Some(behind) = after_link(&rest[index..]) {
            next = rest.len() - behind.len();
            let link = &rest[index..next];
            if link.contains('|') {
                text.push_str(&rest[start..index]);
                text.extend(link.chars().map(|char| if char == '|' { PIPE } else { char }));
                start = next;
            }
        }
    }
    if start == 0 {
        return Cow::Borrowed(rest);
    }
    Cow::Owned(text + &rest[start..])
}

/// Split an argument into name and value, if it has a name.
fn named(argument: &str) -> Option<(&str, &str)> {
    argument.split_once('=').filter(|(name, _)| !name.contains("[[") && !name.contains('<'))
}

/// The arguments of a call as MediaWiki reads them, from what `with_pipes` returns: only named ones lose the white
/// space around them.
fn exact_arguments(rest: &str) -> definitions::Arguments<'_> {
    let mut given = definitions::Arguments::new();
    let mut number = 0;
    for argument in rest.splitn(shared().limits.templates_arguments + 1, '|') {
        if let Some((name, value)) = named(argument) {
            given.set(with_bars(strip(name)), with_bars(strip(value)));
        } else {
            number += 1;
            given.set(position_name(number), with_bars(argument));
        }
    }
    given
}

/// Undo `with_pipes`.
fn with_bars(text: &str) -> Cow<'_, str> {
    if text.contains(PIPE) {
        Cow::Owned(text.replace(PIPE, "|"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The arguments of a call by name, from what `with_pipes` returns; unnamed ones by their number, from "1".
fn arguments(rest: &str) -> Given<'_> {
    let mut given = Given::default();
    let mut number = 0;
    for argument in rest.splitn(shared().limits.templates_arguments + 1, '|') {
        match named(argument) {
            Some((name, value)) => {
                given.insert(lower_name(strip(name)), strip(value));
            }
            None => {
                number += 1;
                given.entry(position_name(number)).or_insert(strip(argument));
            }
        }
    }
    given
}

/// `str.lower` of a name, which mostly is in lower case.
fn lower_name(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(lower(name))
    }
}
