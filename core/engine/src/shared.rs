//! What is the same on every wiki: tags, parser functions, names in the rows, sets of characters and limits. They are
//! the files of `pipelines/wikimedia/data` that `core_rules.shared_rules` lists, each of which is a field of `Shared`.
//!
//! The binding sets them once, when the module is imported. An example: the line `"phonos": "gap"` of `tags.json` makes
//! `<phonos>` an extension tag that leaves a gap in its sentence, in both engines.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer};

/// No name of a tag is longer.
pub const LONGEST_TAG: usize = 32;

#[derive(Debug, Deserialize)]
pub struct Shared {
    pub tags: Tags,
    pub functions: Functions,
    pub names: Names,
    pub characters: Characters,
    pub limits: Limits,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Set the rules from their JSON; a second call changes nothing.
///
/// # Errors
///
/// The JSON has a field, a kind or a name that this engine does not know, or lacks one.
pub fn set_shared(rules: &str) -> Result<(), serde_json::Error> {
    let shared = serde_json::from_str(rules)?;
    let _ = SHARED.set(shared);
    Ok(())
}

/// The rules that were set. The tests of this crate read the files of the repository.
#[inline]
pub fn shared() -> &'static Shared {
    SHARED.get_or_init(in_tests)
}

#[cfg(not(test))]
fn in_tests() -> Shared {
    panic!("set_shared was not called")
}

#[cfg(test)]
fn in_tests() -> Shared {
    macro_rules! file {
        ($name:literal) => {
            serde_json::from_str(include_str!(concat!("../../../pipelines/wikimedia/data/", $name))).expect($name)
        };
    }
    Shared {
        tags: file!("tags.json"),
        functions: file!("functions.json"),
        names: file!("names.json"),
        characters: file!("characters.json"),
        limits: file!("limits.json"),
    }
}

/// What becomes of an extension tag with what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extension {
    /// Words are missing: `<math>x</math>`.
    Gap,
    /// It stands beside the text, which goes on in a new line: `<timeline>`.
    Break,
    /// As `Break`, and its lines have captions: `<gallery>`.
    Gallery,
    /// It shows nothing: `<templatestyles/>`.
    Nothing,
    /// It shows nothing, and is not there for what stands beside it: `<includeonly>`.
    Hidden,
    /// A footnote, which shows nothing: `<ref>`.
    Reference,
    /// The list of footnotes: as `Break`, but its links are those of footnotes.
    References,
    /// Its contents are text, not wikitext: `<nowiki>`.
    Nowiki,
    /// As `Nowiki`, in lines of its own: `<pre>`.
    Pre,
}

/// What replaces a tag of which the contents are kept: `<poem>` begins and ends a line, `<tvar>` shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    Break,
    Nothing,
}

/// What an HTML tag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Html {
    /// It shows nothing: `<b>`.
    Inline,
    /// As `Inline`; a number in it is raised too, `10<sup>6</sup>` would read 106, or leaves a gap.
    Raised,
    /// It ends the line: `<div>`.
    Block,
    /// As `Block`, and its closing tag alone ends the line too: `</br>`.
    Break,
    /// It begins a line of a list: `<li>`.
    Item,
    /// It begins a heading of the level that its name ends with: `<h2>`.
    Heading,
    // Parts of a table; outside of a table they show nothing.
    Table,
    Row,
    /// A group of rows: `<tbody>`.
    Rows,
    Cell,
    Caption,
}

impl Html {
    /// Whether the tag ends the line.
    pub fn is_block(self) -> bool {
        matches!(self, Html::Block | Html::Break | Html::Item | Html::Heading)
    }
}

/// What the line feed does that replaces an HTML tag; those of other tags end the paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineFeed {
    /// The paragraph goes on: `<br>`.
    Soft,
    /// A quotation begins or ends: `<blockquote>`.
    Quotation,
}

/// What `{{#tag:name|text}}` shows.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownByTag {
    Gap,
    Text,
    Nowiki,
}

/// `tags.json`; all names are in lower case.
#[derive(Debug, Deserialize)]
pub struct Tags {
    #[serde(deserialize_with = "short_names")]
    pub extensions: FxHashMap<String, Extension>,
    #[serde(deserialize_with = "pairs")]
    pub kept: Vec<(String, Kept)>,
    #[serde(deserialize_with = "short_names")]
    pub html: FxHashMap<String, Html>,
    pub line_feeds: FxHashMap<String, LineFeed>,
    /// Digits and signs, and by tag, those in their place that are raised or lowered.
    pub raised_signs: String,
    pub raised: FxHashMap<String, String>,
    /// Tags in a table that are no HTML tags in text.
    pub columns: Vec<String>,
    /// Beginnings of tags; a page without one has no HTML table.
    pub table_beginnings: Vec<String>,
    /// HTML tags without contents.
    pub void: Vec<String>,
    /// Tags that make what a template shows a block of its own.
    pub makes_block: Vec<String>,
    /// Tags that may stand around text in what a template shows, and marks of elements beside the text.
    pub frames: Vec<String>,
    pub beside_text: Vec<String>,
    /// Tags that hide their contents with the style `display: none`.
    pub hides: Vec<String>,
    /// Tags around the raised remark of an editor.
    pub around_remark: Vec<String>,
    /// By name, what `{{#tag:}}` shows; others show nothing.
    pub function: FxHashMap<String, ShownByTag>,
}

impl Tags {
    /// The HTML tags of some kinds.
    pub fn html_of(&self, is_wanted: impl Fn(Html) -> bool) -> impl Iterator<Item = (&str, Html)> {
        self.html.iter().filter(move |(_, kind)| is_wanted(**kind)).map(|(name, kind)| (name.as_str(), *kind))
    }
}

/// Few names, which are all compared.
fn pairs<'de, D: Deserializer<'de>, T: Deserialize<'de>>(json: D) -> Result<Vec<(String, T)>, D::Error> {
    Ok(BTreeMap::deserialize(json)?.into_iter().collect())
}

fn short_names<'de, D: Deserializer<'de>, T: Deserialize<'de>>(json: D) -> Result<FxHashMap<String, T>, D::Error> {
    let names = FxHashMap::<String, T>::deserialize(json)?;
    match names.keys().find(|name| name.len() > LONGEST_TAG) {
        Some(name) => Err(D::Error::custom(format!("a tag is longer than {LONGEST_TAG} bytes: {name}"))),
        None => Ok(names),
    }
}

/// What a parser function shows; `parser_functions` has the rule of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    If,
    IfEqual,
    Switch,
    Expression,
    IfExpression,
    IfError,
    IfExists,
    Tag,
    Lower,
    Upper,
    LowerFirst,
    UpperFirst,
    PadLeft,
    PadRight,
    Plural,
    Length,
    Position,
    Slice,
    Replace,
    Explode,
    TitleParts,
    Encode,
    Address,
    Nothing,
    Number,
    /// Stands before the name of a template: `{{subst:name}}`.
    Prefix,
    /// Those that need facts of the wiki or its dump, which Python knows.
    Namespace,
    NamespaceEncoded,
    Language,
    Message,
    Time,
    /// Runs a Lua module.
    Invoke,
    /// On a page: one of the last ones.
    Server,
}

/// `functions.json`.
#[derive(Debug, Deserialize)]
pub struct Functions {
    /// By canonical name, in lower case: in templates, and the first names on pages.
    pub functions: FxHashMap<String, Function>,
    pub functions_of_pages: FxHashMap<String, Function>,
    /// Magic words for the time, with their forms for `{{#time:}}`; after a space, for that of the page's revision.
    pub variables: FxHashMap<String, String>,
    /// What magic words show; None for the title of the page.
    pub words: FxHashMap<String, Option<String>>,
    pub words_of_pages: FxHashMap<String, Option<String>>,
    /// The name of the default of `{{#switch:}}`.
    pub default: String,
    /// Arguments of `{{formatnum:}}` that leave a number as it is.
    pub unformatted: Vec<String>,
    /// Stands for the address of a page, of which only the label is seen.
    pub address: String,
}

macro_rules! names {
    ($($name:ident,)*) => {
        /// A name in the rows: a bucket of the ledger, a region or a flag. `Name::SourceComment` is "source:comment".
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Name { $($name,)* #[serde(rename = "self")] Own }

        const NAMES: usize = [$(Name::$name,)* Name::Own].len();
    };
}

names! {
    // Of the ledger: links of the source, and characters that calls show or hide.
    SourceLinks, SourceComment, SourceNowiki, SourceInCalls, SourceFromCalls, SourceNotices, SourceJoined,
    TextAlone, TextBlock, TextInLine, TextNotices, TextSeveralLines,
    // Of the ledger: links that a reader sees, by what becomes of them.
    Seen, Markup, Link, Namespace, Category, File, Media, Language, Interwiki, NotALink, EmptyLabel,
    Table, Caption, Reference, ExtensionTag, Heading, BackMatter, Preformatted, Gap, DisambiguationPage,
    FragmentShort, FragmentLong, FragmentMarkup, FragmentUnbalanced, FragmentNoLetters, FragmentScript,
    FragmentNoTerminator, FragmentContinued, FragmentCitation, Template,
    PagesArticles, PagesDisambiguation, PagesOtherNamespace, PagesRedirects, LinksKept, SentencesKept,
    // Regions and flags that are no bucket.
    Lead, Body, List, Disambiguation,
    // Blocks of documents that are no region.
    Paragraph, ListItem, Quotation, TableCell,
}

impl Name {
    pub const COUNT: usize = NAMES;

    /// The name in the rows.
    #[inline]
    pub fn text(self) -> &'static str {
        &shared().names.texts[self as usize]
    }

    /// The bucket of the sentences that are dropped for this reason.
    pub fn of_sentences(self) -> &'static str {
        &shared().names.of_sentences[self as usize]
    }
}

impl From<Name> for Cow<'static, str> {
    fn from(name: Name) -> Self {
        Cow::Borrowed(name.text())
    }
}

/// What stands before a name in the ledger, such as "links:".
#[derive(Debug, Deserialize)]
pub struct Prefixes {
    pub links: String,
    pub sentences: String,
    pub fragments: String,
    pub templates: String,
}

/// `names.json`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "NamesFile")]
pub struct Names {
    /// By `Name`.
    texts: Vec<String>,
    of_sentences: Vec<String>,
    pub prefixes: Prefixes,
    /// Counts the templates of a page beyond those that are counted by name.
    pub others: String,
}

#[derive(Deserialize)]
struct NamesFile {
    ledger: Vec<String>,
    regions: Vec<String>,
    blocks: Vec<String>,
    prefixes: Prefixes,
    others: String,
}

impl TryFrom<NamesFile> for Names {
    type Error = ValueError;

    fn try_from(file: NamesFile) -> Result<Names, ValueError> {
        let mut texts = vec![String::new(); Name::COUNT];
        for text in file.ledger.into_iter().chain(file.regions).chain(file.blocks) {
            let variable = text.replace(':', "_");
            let name: StrDeserializer<ValueError> = variable.as_str().into_deserializer();
            texts[Name::deserialize(name)? as usize] = text;
        }
        if let Some(missing) = texts.iter().position(String::is_empty) {
            return Err(ValueError::custom(format!("the name number {missing} of the core is missing")));
        }
        let of_sentences = texts.iter().map(|text| format!("{}{text}", file.prefixes.sentences)).collect();
        Ok(Names { texts, of_sentences, prefixes: file.prefixes, others: file.others })
    }
}

/// A set of characters, written as a text.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub struct CharSet {
    ascii: u128,
    others: Vec<char>,
}

impl From<String> for CharSet {
    fn from(text: String) -> CharSet {
        let (ascii, others): (Vec<char>, Vec<char>) = text.chars().partition(char::is_ascii);
        CharSet { ascii: ascii.into_iter().fold(0, |set, char| set | 1 << char as u32), others }
    }
}

impl CharSet {
    #[inline]
    pub fn contains(&self, char: char) -> bool {
        if char.is_ascii() {
            self.ascii >> (char as u32) & 1 == 1
        } else {
            self.others.contains(&char)
        }
    }
}

/// `characters.json`: sets of characters, and words that passes look for.
#[derive(Debug, Deserialize)]
pub struct Characters {
    pub before_note_number: CharSet,
    pub after_note_number: CharSet,
    /// A line that begins with one continues the line before.
    pub closing: CharSet,
    /// Last characters, besides letters and digits, of a line that may continue with a lower-case letter.
    pub open_ends: CharSet,
    pub bullets: CharSet,
    /// Separate the parts of what is in brackets.
    pub separators: CharSet,
    /// Japanese particles, the longest first.
    pub particles: Vec<String>,
    pub schemes: Vec<String>,
    pub slashed_schemes: Vec<String>,
    /// Switches that MediaWiki knows in small letters too.
    pub caseless_switches: Vec<String>,
    pub disambiguation_switch: String,
}

/// `limits.json`.
#[derive(Debug, Deserialize)]
pub struct Limits {
    /// Deeper braces in a definition are text.
    pub braces_depth: usize,
    /// Levels of calls in calls, nodes, and characters of texts, arguments and results that one call may put together.
    pub calls_depth: usize,
    pub calls_nodes: usize,
    pub calls_size: usize,
    /// Characters that a template may show.
    pub calls_result: usize,
    /// Characters of an argument that may be prose.
    pub prose: usize,
    /// Deeper calls on a page are removed, so that hostile nesting takes linear time.
    pub templates_depth: usize,
    pub templates_arguments: usize,
    /// Templates of a page whose gaps are counted by name.
    pub templates_names: usize,
    /// MediaWiki's limit for titles, in bytes.
    pub name_bytes: usize,
    /// Characters of a link target.
    pub title_raw: usize,
    pub padding: usize,
    pub list_mark: usize,
    pub short_word: usize,
    /// "12 de mayo de 2010" is a date.
    pub date_words: usize,
    /// Characters of the attributes of a cell.
    pub attributes: usize,
    /// Characters between the beginning of a link and an external link in its label.
    pub external_label: usize,
    /// Digits of a number that are separated at most.
    pub number_digits: usize,
    /// Rules of language variants within others that are read.
    pub variants_depth: usize,
}
