//! Text to sentences: one module for each of `pipelines/text`.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

pub mod documents;
pub mod fragments;
pub mod prose;
mod reference_entries;
pub mod splitter;

/// The rules of one language, which Python gives as JSON. A `String` of several characters is a set.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct TextRules {
    pub splitter: SplitterRules,
    pub fragments: FragmentRules,
    pub prose: ProseRules,
}

/// What the splitter needs.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SplitterRules {
    pub weak: String,
    pub strong: String,
    /// Terminators of this language, besides `weak`.
    pub language_terminators: String,
    /// Words before which a space ends a sentence (Thai, Lao).
    pub openers_after_space: Vec<String>,
    /// Pairs of brackets and quotes, in the order in which they are tried.
    pub brackets: Vec<(char, char)>,
    pub round: String,
    pub closers_after_weak: String,
    pub closers_after_strong: String,
    pub footnote_ends: String,
    pub before_first_letter: String,
    pub goes_on: String,
    pub dashes: String,
    /// Characters that continue the sentence around a quotation.
    pub particles: String,
    /// Words after ！ or ？ that begin a sentence.
    pub openers: Vec<String>,
    /// Top-level domains in the scripts of languages that put a full stop at the end of sentences.
    pub top_domains: FxHashSet<String>,
    pub time_zones: FxHashSet<String>,
    pub viramas: String,
    pub vowel_signs: String,
    pub japanese: bool,
    pub ideographic: bool,
    pub own_full_stop: bool,
    pub dot_is_a_comma: bool,
    /// Kind of each abbreviation: a number, in the order of `splitter::Kind`.
    pub kinds: FxHashMap<String, u8>,
    pub starters: FxHashSet<String>,
    /// Ending of a long word before a number: "Hauptstr. 5".
    pub street: String,
    pub ordinals: u64,
    pub roman: bool,
    /// Small letters that are words, and no initials.
    pub words: String,
}

/// What tells a fragment from a sentence.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct FragmentRules {
    pub shortest: usize,
    /// Digits and brackets count as text.
    pub ideographic: bool,
    pub longest: usize,
    /// Ranges of code points that are no `non_letters`, first and last; if `scripts` is false, those that are.
    pub ranges: Vec<(u32, u32)>,
    pub scripts: bool,
    pub punctuated: bool,
    pub terminators: String,
    pub closers: String,
    pub longest_close: usize,
    pub markup_signs: String,
}

/// What tells the prose of a page from the rest.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ProseRules {
    /// Lower-case headings that begin back matter.
    pub back_matter: FxHashSet<String>,
    pub capitals: bool,
    /// A list item with fewer spaces is no sentence.
    pub list_item_spaces: usize,
    pub openers: String,
    /// Signs of a missing word: a first character, and characters of which one follows.
    pub holes: Vec<(String, String)>,
    /// Characters other than letters that follow a gap which is no word, and those that precede one.
    pub after_edge_gap: String,
    pub before_edge_gap: String,
    /// Ranges of the small letters that go on after a gap at the beginning: "{{x}} is a town".
    pub small_letters: Vec<(char, char)>,
    /// Words of references to books.
    pub citations: Vec<String>,
    /// Stands for the words that a template shows, where only the rest of the sentence is looked at.
    pub any_word: String,
}
