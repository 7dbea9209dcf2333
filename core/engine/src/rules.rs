//! What the binding gets from Python as JSON: the wiki, facts of its language, and rules.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

/// `site.Site`, and what `languages.language_facts` says of its language.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Site {
    pub wiki: String,
    pub language: String,
    /// Namespace number by folded name.
    pub namespaces: FxHashMap<String, i32>,
    pub namespace_names: FxHashMap<i32, String>,
    pub case_sensitive: FxHashSet<i32>,
    /// The pattern of the link trail, as Python has it.
    pub link_trail: String,
    /// The characters that the trail may begin with, and those of the prefix.
    pub trail_letters: String,
    pub prefix_letters: String,
    pub dotted_i: bool,
    pub interwiki: FxHashSet<String>,
    pub interlanguage: FxHashSet<String>,
    pub local_interwiki: FxHashSet<String>,
    /// `LanguageFacts.words`, `variants` and `switches` (sorted).
    pub words: FxHashMap<String, String>,
    pub variants: Vec<String>,
    pub switches: Vec<String>,
    /// Names of the File namespace, sorted.
    pub file_names: Vec<String>,
    /// Words of the options that place an image beside the text, sorted, with "$1" for a value.
    pub beside: Vec<String>,
    pub numbers: Numbers,
    /// The rule of each template, by lower-case name.
    pub template_rules: FxHashMap<String, String>,
    pub measures: Measures,
    /// `html.entities.html5`, and the names of `titles._ENTITIES` besides.
    pub entities: FxHashMap<String, String>,
}

/// How numbers are written: 12,345.6 or 12 345,6.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Numbers {
    pub thousands: String,
    pub decimal: String,
    /// Ten digits.
    pub digits: String,
    /// Shortest number of digits that is separated.
    pub together: usize,
    /// Whether pairs of digits are separated above the thousands.
    pub pairs: bool,
}

/// What `{{convert}}` shows: `{{convert|5|to|10|km}}` is "5 to 10 km".
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Measures {
    /// The sign of a unit by the codes for it.
    pub units: FxHashMap<String, String>,
    /// What words between the numbers of a range become.
    pub ranges: FxHashMap<String, String>,
}
