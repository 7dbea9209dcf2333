//! Templates by the wiki's own definitions: by "[[{{{1}}}]]{{#if:{{{2|}}}|, in {{lc:{{{2}}}}}}}",
//! `{{country|Chad|AFRICA}}` shows "[[Chad]], in africa".
//!
//! What only the wiki's server knows (Lua modules, dates, the database) is `UNKNOWN` in the result. Python gives the
//! bodies without what a page of the namespace Template does not show where it is transcluded.

use super::braces::{parse_braces, Argument, Node, Nodes};
use super::expressions::{self, Unevaluated};
use super::parser_functions::{self, magic_word, UNKNOWN};
use crate::rules::Site;
use crate::shared::{shared, Function, Limits};
use crate::titles::normalise_title;
use crate::unicode;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

const TEMPLATE: i32 = 10;
const UNKNOWN_TEXT: &str = "\u{ffff}";
/// Names and bodies that are kept, and the bytes of these bodies.
const CACHED: usize = 1 << 14;
const CACHED_BYTES: usize = 1 << 23;
/// Longer names are not kept.
const LONGEST_CACHED_NAME: usize = 255;
/// With more arguments there is an index of their names.
const FEW_ARGUMENTS: usize = 16;

/// Returns the body of a template (`transcluded`) by its normalised title without the namespace; None if the wiki has
/// no such template, or its body is not kept.
pub type FindTemplate = Box<dyn FnMut(&str) -> Option<Arc<str>> + Send + Sync>;
/// Formats a number in the language of the wiki.
pub type Number = Box<dyn Fn(&str) -> String + Send + Sync>;
/// `expressions.evaluate` of Python, for what is left to it; None for an `ExpressionError`.
pub type Evaluate = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;
/// What a template shows by a rule, from its name and its arguments, if its own definition does not tell.
pub type Fallback<'a> = dyn FnMut(&str, &Arguments<'_>) -> Option<String> + 'a;

/// What a module is called with.
pub struct Invocation<'a> {
    pub module: &'a str,
    pub function: &'a str,
    pub arguments: &'a Arguments<'a>,
    /// The template that the call stands in, "" for a page, and its arguments.
    pub title: &'a str,
    pub given: &'a Arguments<'a>,
    pub page: &'a str,
    pub depth: usize,
    /// The characters of the page, if this is its first call.
    pub begins: Option<usize>,
}

/// What a function of the wiki's facts shows, from its name and its arguments.
pub type Serve = Box<dyn Fn(&str, &[String]) -> String + Send + Sync>;
/// What `{{#ifexist:}}` shows, from the title, that of the page, and the two branches.
pub type Choose = Box<dyn Fn([&str; 4]) -> String + Send + Sync>;
/// What a call of a module shows.
pub type Invoke = Box<dyn Fn(&Invocation) -> String + Send + Sync>;

/// What only Python shows: functions that need facts of the wiki, and Lua modules.
pub struct Server {
    pub serve: Serve,
    pub choose: Choose,
    pub invoke: Invoke,
    /// Whether modules are run.
    pub runs_modules: bool,
}

/// The arguments of a call by name, unnamed ones by their number, from "1": as a `dict`, in the order of the names.
///
/// What a template hands on is not copied, so that a long argument that is handed on often takes no memory.
#[derive(Clone, Debug, Default)]
pub struct Arguments<'a> {
    entries: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The place of each name, if there are many.
    places: FxHashMap<String, usize>,
}

impl<'a> Arguments<'a> {
    pub fn new() -> Arguments<'a> {
        Arguments::default()
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.entries.len() <= FEW_ARGUMENTS {
            return self.entries.iter().position(|entry| entry.0 == name);
        }
        self.places.get(name).copied()
    }

    /// Set an argument; a name that is there already keeps its place.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) {
        let (name, value) = (name.into(), value.into());
        if let Some(place) = self.place(&name) {
            self.entries[place].1 = value;
            return;
        }
        self.entries.push((name, value));
        if self.entries.len() > FEW_ARGUMENTS {
            // The index begins with the names before it.
            for place in self.places.len()..self.entries.len() {
                self.places.insert(self.entries[place].0.to_string(), place);
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.place(name).map(|place| &*self.entries[place].1)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Names and values, in the order in which the names came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// The normalised title, without its namespace, of the template that a call names; "" if it names none.
pub fn template_title(name: &str, site: &Site) -> String {
    // The name of a call over several lines ends in a line feed.
    let mut name = name.trim_matches(['\n', ' ']);
    loop {
        if unicode::lstrip(name).starts_with([':', '/', '#']) {
            return String::new();
        }
        let Some((head, rest)) = name.split_once(':') else { break };
        match site.namespaces.get(&fold_name(head)) {
            // {{Template:A}} is {{A}}; {{User:A}} is no template.
            Some(&TEMPLATE) => name = rest,
            Some(_) => return String::new(),
            None => break,
        }
    }
    let prefix = site.namespace_names.get(&TEMPLATE).map_or("", String::as_str);
    let title = normalise_title(&format!("{prefix}:{name}"), site).unwrap_or_default();
    match title.strip_prefix(prefix).and_then(|title| title.strip_prefix(':')) {
        Some(rest) => rest.to_owned(),
        None => title,
    }
}

const MESSAGES: &str = "MediaWiki:";

/// The title of the page of the message that a call shows, as in "int:and"; None for other calls.
pub fn title_of_message(name: &str) -> Option<String> {
    let (head, key) = name.trim_matches(['\n', ' ']).split_once(':')?;
    if fold_name(head) != "int" {
        return None;
    }
    let key =
        key.replace('_', " ").split(unicode::is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let first = key.chars().next().map_or(0, char::len_utf8);
    Some(format!("{MESSAGES}{}{}", unicode::upper(&key[..first]), &key[first..]))
}

/// `site.fold_name`.
fn fold_name(name: &str) -> String {
    unicode::lower(name.replace('_', " ").trim_matches(' '))
}

/// The body of a template, parsed when it is first shown.
struct Body {
    text: Arc<str>,
    nodes: Option<Arc<Nodes>>,
}

/// Expands the templates of one wiki.
pub struct Definitions {
    site: Arc<Site>,
    find: FindTemplate,
    number: Number,
    evaluate: Evaluate,
    pub server: Option<Server>,
    /// The characters of the page, until its first call of a module.
    begins: Option<usize>,
    titles: FxHashMap<String, Arc<str>>,
    bodies: FxHashMap<Arc<str>, Option<Body>>,
    /// Bytes of the bodies.
    size: usize,
}

impl Definitions {
    pub fn new(site: Arc<Site>, find: FindTemplate, number: Number, evaluate: Evaluate) -> Definitions {
        let (titles, bodies) = (FxHashMap::default(), FxHashMap::default());
        Definitions { site, find, number, evaluate, server: None, begins: None, titles, bodies, size: 0 }
    }

    /// Begin a page, whose modules share a budget.
    pub fn begin(&mut self, text: &str) {
        if self.runs_modules() {
            self.begins = Some(unicode::length(text));
        }
    }

    pub fn runs_modules(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.runs_modules)
    }

    /// The wikitext that a call shows.
    ///
    /// `name` is as the call has it. The result is None if the wiki's definition is not known; `UNKNOWN` stands where
    /// words are.
    pub fn expand(&mut self, name: &str, arguments: Arguments, page: &str, fallback: &mut Fallback) -> Option<String> {
        let site = Arc::clone(&self.site);
        let mut shown = String::new();
        let mut call =
            Expansion { definitions: self, site: &site, page, fallback, nodes: 0, size: 0, limits: &shared().limits };
        call.template(name, &arguments, 0, &mut shown).then_some(shown)
    }

    /// What a parser function shows that stands on a page, given without its braces.
    pub fn evaluate(&mut self, call: &str, page: &str, fallback: &mut Fallback) -> String {
        let site = Arc::clone(&self.site);
        let nodes = parse_braces(&format!("{{{{{call}}}}}"));
        let mut shown = String::new();
        let arguments = Arguments::new();
        let mut call =
            Expansion { definitions: self, site: &site, page, fallback, nodes: 0, size: 0, limits: &shared().limits };
        call.show(&nodes, Frame { arguments: &arguments, depth: 0, title: "" }, &mut shown);
        shown
    }

    /// The definition of a template, if it is known.
    pub fn text(&mut self, name: &str) -> Option<&str> {
        Some(&self.body(name)?.text)
    }

    /// The parsed body of a template.
    fn nodes(&mut self, name: &str) -> Option<Arc<Nodes>> {
        let body = self.body(name)?;
        let text = &body.text;
        Some(Arc::clone(body.nodes.get_or_insert_with(|| Arc::new(parse_braces(text)))))
    }

    fn body(&mut self, name: &str) -> Option<&mut Body> {
        let title = self.title_of(name);
        if title.is_empty() {
            return None;
        }
        if !self.bodies.contains_key(&title) {
            let text = (self.find)(&title);
            let size = text.as_ref().map_or(0, |text| text.len());
            if self.bodies.len() >= CACHED || self.size + size > CACHED_BYTES {
                self.bodies.clear();
                self.size = 0;
            }
            self.size += size;
            self.bodies.insert(Arc::clone(&title), text.map(|text| Body { text, nodes: None }));
        }
        self.bodies.get_mut(&title)?.as_mut()
    }

    /// `template_title` of a name.
    fn title_of(&mut self, name: &str) -> Arc<str> {
        if let Some(title) = self.titles.get(name) {
            return Arc::clone(title);
        }
        let title: Arc<str> = template_title(name, &self.site).into();
        if name.len() <= LONGEST_CACHED_NAME {
            if self.titles.len() >= CACHED {
                self.titles.clear();
            }
            self.titles.insert(name.to_owned(), Arc::clone(&title));
        }
        title
    }
}

/// A call that is being expanded: its arguments, its level, and the title of the template, "" of a page.
#[derive(Clone, Copy)]
struct Frame<'f> {
    arguments: &'f Arguments<'f>,
    depth: usize,
    title: &'f str,
}

impl Frame<'_> {
    fn inner(self) -> Self {
        Frame { depth: self.depth + 1, ..self }
    }
}

/// One call on a page that is being expanded, with all calls inside, and the numbers of nodes and of characters so far.
struct Expansion<'r> {
    definitions: &'r mut Definitions,
    site: &'r Site,
    page: &'r str,
    fallback: &'r mut Fallback<'r>,
    nodes: usize,
    size: usize,
    limits: &'static Limits,
}

impl Expansion<'_> {
    /// Append what a template shows; false if its definition is not known.
    fn template(&mut self, name: &str, arguments: &Arguments, depth: usize, out: &mut String) -> bool {
        let Some(body) = self.definitions.nodes(name) else { return false };
        let start = out.len();
        let title = self.definitions.title_of(name);
        self.show(&body, Frame { arguments, depth: depth + 1, title: &title }, out);
        let shown = &out[start..];
        if shown.contains(UNKNOWN) {
            if let Some(known) = (self.fallback)(unicode::strip(name), arguments) {
                out.truncate(start);
                *out += self.counted(&known);
                return true;
            }
        }
        if shown.len() > self.limits.calls_result && unicode::length(shown) > self.limits.calls_result {
            out.truncate(start);
            out.push(UNKNOWN);
        }
        true
    }

    /// Append the wikitext that parsed wikitext becomes.
    fn show(&mut self, nodes: &[Node], frame: Frame, out: &mut String) {
        for node in nodes {
            self.nodes += 1;
            if let Node::Text(text) = node {
                *out += self.counted(text);
            } else if self.nodes > self.limits.calls_nodes || frame.depth > self.limits.calls_depth {
                out.push(UNKNOWN);
            } else if let Node::Parameter { name, default } = node {
                *out += &self.parameter(name, default.as_deref(), frame);
            } else if let Node::Call { name, arguments } = node {
                self.call(name, arguments, frame, out);
            }
        }
    }

    /// The wikitext that parsed wikitext becomes, without a copy where it can be.
    fn shown<'n>(&mut self, nodes: &'n [Node], frame: Frame<'n>) -> Cow<'n, str> {
        match nodes {
            [] => Cow::Borrowed(""),
            [Node::Text(text)] => {
                self.nodes += 1;
                Cow::Borrowed(self.counted(text))
            }
            [Node::Parameter { name, default }]
                if self.nodes < self.limits.calls_nodes && frame.depth <= self.limits.calls_depth =>
            {
                self.nodes += 1;
                self.parameter(name, default.as_deref(), frame)
            }
            _ => {
                let mut shown = String::new();
                self.show(nodes, frame, &mut shown);
                Cow::Owned(shown)
            }
        }
    }

    /// A text if there is room for it in what the call puts together, otherwise UNKNOWN.
    fn counted<'n>(&mut self, text: &'n str) -> &'n str {
        self.size += unicode::length(text);
        if self.size <= self.limits.calls_size {
            text
        } else {
            UNKNOWN_TEXT
        }
    }

    fn parameter<'n>(&mut self, name: &'n [Node], default: Option<&'n [Node]>, frame: Frame<'n>) -> Cow<'n, str> {
        let name = stripped(self.shown(name, frame.inner()));
        match (frame.arguments.get(&name), default) {
            (Some(value), _) => Cow::Borrowed(self.counted(value)),
            (None, Some(default)) => self.shown(default, frame.inner()),
            (None, None) => Cow::Owned(format!("{{{{{{{name}}}}}}}")),
        }
    }

    fn call(&mut self, name: &[Node], arguments: &[Argument], frame: Frame, out: &mut String) {
        let inner = frame.inner();
        let name = stripped(self.shown(name, inner));
        let mut name: &str = &name;
        if name.contains(UNKNOWN) {
            return out.push(UNKNOWN);
        }
        if arguments.is_empty() {
            let word = self.site.words.get(name).map_or(name, String::as_str);
            if let Some(form) = shared().functions.variables.get(word) {
                let shown = self.serve("#time", std::slice::from_ref(form));
                *out += self.counted(&shown);
                return;
            }
            if let Some(shown) = magic_word(word, self.page) {
                *out += self.counted(shown);
                return;
            }
        }
        while let Some((key, first)) = self.split(name) {
            let Some(&function) = shared().functions.functions.get(&key) else { break };
            if matches!(
                function,
                Function::Namespace
                    | Function::NamespaceEncoded
                    | Function::Language
                    | Function::Message
                    | Function::Time
            ) {
                let mut given = Given { expansion: self, first, rest: arguments, frame: inner };
                let texts: Vec<String> = (0..given.len()).map(|position| given.text(position).into_owned()).collect();
                let shown = self.serve(&key, &texts);
                *out += self.counted(&shown);
                return;
            }
            if function == Function::Invoke {
                let shown = self.invoke(first, arguments, inner);
                *out += self.counted(&shown);
                return;
            }
            if function == Function::Prefix {
                name = unicode::strip(first);
                continue;
            }
            let mut given = Given { expansion: self, first, rest: arguments, frame: inner };
            if let Some(shown) = parser_functions::shown(function, &mut given) {
                *out += given.expansion.counted(&shown);
                return;
            }
            let flag = unicode::upper(&given.text(1));
            let number = unicode::strip(first);
            let is_unformatted = shared().functions.unformatted.contains(&flag);
            let shown = if is_unformatted { number.into() } else { Cow::Owned((self.definitions.number)(number)) };
            *out += self.counted(&shown);
            return;
        }
        if name.starts_with('#') {
            return out.push(UNKNOWN);
        }
        let arguments = self.arguments(arguments, inner);
        if !self.template(name, &arguments, inner.depth, out) {
            match (self.fallback)(name, &arguments) {
                Some(shown) => *out += self.counted(&shown),
                None => out.push(UNKNOWN),
            }
        }
    }

    /// What a function shows that only Python knows.
    fn serve(&self, name: &str, arguments: &[String]) -> String {
        self.definitions
            .server
            .as_ref()
            .map_or_else(|| UNKNOWN_TEXT.to_owned(), |server| (server.serve)(name, arguments))
    }

    /// What a function of a module shows.
    fn invoke(&mut self, module: &str, nodes: &[Argument], inner: Frame) -> String {
        let function = Given { expansion: self, first: module, rest: nodes, frame: inner }.text(1).into_owned();
        let arguments = self.arguments(nodes.get(1..).unwrap_or_default(), inner);
        let begins = if self.definitions.runs_modules() { self.definitions.begins.take() } else { None };
        let Some(server) = &self.definitions.server else { return UNKNOWN_TEXT.to_owned() };
        let invocation = Invocation {
            module: unicode::strip(module),
            function: &function,
            arguments: &arguments,
            title: inner.title,
            given: inner.arguments,
            page: self.page,
            depth: inner.depth,
            begins,
        };
        (server.invoke)(&invocation)
    }

    fn arguments<'n>(&mut self, nodes: &'n [Argument], frame: Frame<'n>) -> Arguments<'n> {
        let mut arguments = Arguments::new();
        let mut number = 0;
        for Argument { name, value } in nodes {
            // The value comes before the name, as in an assignment of Python.
            let value = self.shown(value, frame);
            match name {
                None => {
                    number += 1;
                    arguments.set(number.to_string(), value);
                }
                Some(name) => {
                    arguments.set(stripped(self.shown(name, frame)), stripped(value));
                }
            }
        }
        arguments
    }

    /// The canonical name of the function that a name begins with, and the first argument; None without a colon.
    fn split<'n>(&self, name: &'n str) -> Option<(String, &'n str)> {
        let (head, first) = name.split_once(':')?;
        let key = unicode::lower(unicode::strip(head));
        Some((self.site.words.get(&key).cloned().unwrap_or(key), first))
    }
}

/// `text.strip()`.
fn stripped(text: Cow<str>) -> Cow<str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(unicode::strip(text)),
        Cow::Owned(text) => {
            let inside = unicode::strip(&text);
            Cow::Owned(if inside.len() == text.len() { text } else { inside.to_owned() })
        }
    }
}

/// The arguments of a function, evaluated when they are asked for. The first is what stands behind the colon.
pub struct Given<'g, 'r> {
    expansion: &'g mut Expansion<'r>,
    first: &'g str,
    rest: &'g [Argument],
    frame: Frame<'g>,
}

impl<'g> Given<'g, '_> {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.rest.len() + 1
    }

    /// An argument as it stands, without white space around it; "" if it is not given.
    pub fn text(&mut self, position: usize) -> Cow<'g, str> {
        if position == 0 {
            return Cow::Borrowed(unicode::strip(self.first));
        }
        match self.rest.get(position - 1) {
            None => Cow::Borrowed(""),
            Some(Argument { name: None, value }) => self.shown(value),
            Some(Argument { name: Some(name), value }) => format!("{}={}", self.shown(name), self.shown(value)).into(),
        }
    }

    /// The name of an argument with a "=", None for others.
    pub fn name(&mut self, position: usize) -> Option<Cow<'g, str>> {
        let name = self.rest.get(position.checked_sub(1)?)?.name.as_ref()?;
        Some(self.shown(name))
    }

    /// The value of an argument with a name.
    pub fn value(&mut self, position: usize) -> Cow<'g, str> {
        match position.checked_sub(1).and_then(|index| self.rest.get(index)) {
            Some(argument) => self.shown(&argument.value),
            None => Cow::Borrowed(""),
        }
    }

    /// One of two texts, by whether a page exists.
    pub fn choose(&self, shown: &str, other: &str) -> String {
        let (title, page) = (unicode::strip(self.first), self.expansion.page);
        let choose = |server: &Server| (server.choose)([title, page, shown, other]);
        self.expansion.definitions.server.as_ref().map_or_else(|| UNKNOWN_TEXT.to_owned(), choose)
    }

    /// The value of an expression.
    pub fn evaluate(&self, text: &str) -> Option<String> {
        match expressions::evaluate(text) {
            Ok(value) => Some(value),
            Err(Unevaluated::Fault) => None,
            Err(Unevaluated::ForPython) => (self.expansion.definitions.evaluate)(text),
        }
    }

    fn shown(&mut self, nodes: &'g [Node]) -> Cow<'g, str> {
        stripped(self.expansion.shown(nodes, self.frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(call: &str) -> String {
        let find: FindTemplate = Box::new(|title| match title {
            "Country" => Some("[[{{{1|}}}]]{{#if:{{{2|}}}|, in {{lc:{{{2}}}}}}}".into()),
            "Loop" => Some("{{Loop}}".into()),
            "Tower" => Some(("{".repeat(20_000) + "1" + &"}".repeat(20_000)).into()),
            _ => None,
        });
        let (number, evaluate): (Number, Evaluate) = (Box::new(str::to_owned), Box::new(|_| None));
        let mut definitions = Definitions::new(Arc::new(Site::default()), find, number, evaluate);
        definitions.evaluate(call, "A", &mut |_, _| None)
    }

    #[test]
    fn a_call_shows_what_its_definition_says() {
        assert_eq!(shown("country|Chad|AFRICA"), "[[Chad]], in africa");
        assert_eq!(shown("#switch:3|1=a|2|3.0=b|#default=c"), "b");
        assert_eq!(shown("nowhere"), UNKNOWN.to_string());
    }

    #[test]
    fn hostile_definitions_end() {
        assert_eq!(shown("Loop"), UNKNOWN.to_string());
        assert_eq!(shown("Tower"), UNKNOWN.to_string());
    }
}
