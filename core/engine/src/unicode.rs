//! Character classes and case of the running Python, so that both engines agree whatever version of Unicode it knows.
//!
//! The binding sets the tables once, when the module is imported. Tests of this crate alone use those of Rust.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::sync::OnceLock;

/// Bits of a character in the table, with the method of Python's `str` that they answer.
pub const ALNUM: u16 = 1;
pub const ALPHA: u16 = 2;
pub const DECIMAL: u16 = 4;
pub const DIGIT: u16 = 8;
pub const SPACE: u16 = 16;
pub const LOWER: u16 = 32;
pub const UPPER: u16 = 64;
pub const MARK: u16 = 128;
pub const PRINTABLE: u16 = 256;
/// Text without such a character is in the normal form C.
pub const NEEDS_NFC: u16 = 512;

pub type Case = FxHashMap<char, String>;

pub struct Tables {
    /// Bits by code point; a code point beyond the end has none.
    pub bits: Vec<u16>,
    /// `str.lower`, `upper` and `title` of single characters that they change.
    pub lower: Case,
    pub upper: Case,
    pub title: Case,
    /// `str.lower` of a text with a capital sigma.
    pub lower_text: fn(&str) -> String,
    /// `expressions.evaluate` of Python, for what the engine leaves to it; None for an error.
    pub evaluate: fn(&str) -> Option<String>,
    /// The zeros of all scripts, ascending; nine digits follow each.
    pub zeros: Vec<char>,
    pub forms: Forms,
}

/// What the normal form C is made from (<https://www.unicode.org/reports/tr15/>); Hangul is computed.
#[derive(Default)]
pub struct Forms {
    /// Canonical decomposition, complete and in order.
    pub decompositions: FxHashMap<char, String>,
    pub compositions: FxHashMap<(char, char), char>,
    /// Canonical combining class where it is not 0.
    pub classes: FxHashMap<char, u8>,
}

static TABLES: OnceLock<Tables> = OnceLock::new();

/// Set the tables; a second call changes nothing.
pub fn set_tables(tables: Tables) {
    let _ = TABLES.set(tables);
}

fn tables() -> &'static Tables {
    TABLES.get_or_init(Tables::of_rust)
}

/// The tables as `tests/engine_rules.py` writes them.
#[derive(Deserialize)]
struct Written {
    bits: Vec<(u32, u16)>,
    lower: Case,
    upper: Case,
    title: Case,
    zeros: Vec<char>,
    combining: FxHashMap<char, u8>,
    decomposed: FxHashMap<char, String>,
    composed: Vec<((char, char), char)>,
}

impl Tables {
    /// The tables from their JSON, for tests without a running Python.
    ///
    /// # Errors
    ///
    /// The JSON is not that of `tests/engine_rules.py`.
    pub fn from_json(
        tables: serde_json::Value,
        lower_text: fn(&str) -> String,
        evaluate: fn(&str) -> Option<String>,
    ) -> Result<Tables, serde_json::Error> {
        let written = Written::deserialize(tables)?;
        let mut bits = vec![0; 0xE0200];
        for (code, set) in written.bits {
            bits[code as usize] = set;
        }
        let forms = Forms {
            decompositions: written.decomposed,
            compositions: written.composed.into_iter().collect(),
            classes: written.combining,
        };
        let (lower, upper, title, zeros) = (written.lower, written.upper, written.title, written.zeros);
        Ok(Tables { bits, lower, upper, title, lower_text, evaluate, zeros, forms })
    }

    /// The classes of Rust's own version of Unicode, nearly those of Python.
    fn of_rust() -> Tables {
        let (mut bits, mut lower, mut upper) = (vec![0; 0x33480], Case::default(), Case::default());
        for char in (0..0x33480).filter_map(char::from_u32) {
            let classes = [
                (ALNUM, char.is_alphanumeric()),
                (ALPHA, char.is_alphabetic()),
                (DECIMAL, char.is_ascii_digit()),
                (DIGIT, char.is_ascii_digit()),
                (SPACE, char.is_whitespace() || ('\x1c'..='\x1f').contains(&char)),
                (LOWER, char.is_lowercase()),
                (UPPER, char.is_uppercase()),
                (PRINTABLE, !char.is_control()),
            ];
            bits[char as usize] = classes.iter().map(|&(bit, holds)| if holds { bit } else { 0 }).sum();
            for (case, changed) in [
                (&mut lower, char.to_lowercase().collect::<String>()),
                (&mut upper, char.to_uppercase().collect::<String>()),
            ] {
                if !changed.chars().eq([char]) {
                    case.insert(char, changed);
                }
            }
        }
        let (title, lower_text) = (upper.clone(), str::to_lowercase);
        Tables { bits, lower, upper, title, lower_text, evaluate: |_| None, zeros: vec!['0'], forms: Forms::default() }
    }
}

#[inline]
pub fn has(char: char, bits: u16) -> bool {
    tables().bits.get(char as usize).is_some_and(|found| found & bits != 0)
}

/// `str.isalnum` of a character.
#[inline]
pub fn is_alnum(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_alphanumeric()
    } else {
        has(char, ALNUM)
    }
}

/// `\w` of Python's `re`.
#[inline]
pub fn is_word(char: char) -> bool {
    char == '_' || is_alnum(char)
}

#[inline]
pub fn is_alpha(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_alphabetic()
    } else {
        has(char, ALPHA)
    }
}

/// `str.isdecimal`, and `\d` of Python's `re`.
#[inline]
pub fn is_decimal(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_digit()
    } else {
        has(char, DECIMAL)
    }
}

/// `str.isdigit`: decimals, superscripts and the like.
#[inline]
pub fn is_digit(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_digit()
    } else {
        has(char, DIGIT)
    }
}

/// `str.isspace`, and `\s` of Python's `re`. The separators \x1c to \x1f are white space to Python.
#[inline]
pub fn is_space(char: char) -> bool {
    if char.is_ascii() {
        matches!(char, '\t'..='\r' | '\x1c'..='\x1f' | ' ')
    } else {
        has(char, SPACE)
    }
}

#[inline]
pub fn is_lower(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_lowercase()
    } else {
        has(char, LOWER)
    }
}

#[inline]
pub fn is_upper(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_uppercase()
    } else {
        has(char, UPPER)
    }
}

/// Whether a character is upper-case or title-case: whether its lower case is another.
pub fn has_lower(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_uppercase()
    } else {
        is_upper(char) || tables().lower.contains_key(&char)
    }
}

/// Whether the category begins with M: a combining mark.
#[inline]
pub fn is_mark(char: char) -> bool {
    has(char, MARK)
}

#[inline]
pub fn is_printable(char: char) -> bool {
    if char.is_ascii() {
        (' '..='~').contains(&char)
    } else {
        has(char, PRINTABLE)
    }
}

fn mapped(text: &str, case: &Case) -> String {
    let mut result = String::with_capacity(text.len());
    for char in text.chars() {
        match case.get(&char) {
            Some(changed) => result += changed,
            None => result.push(char),
        }
    }
    result
}

/// `str.lower`.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    if text.contains('Σ') {
        // A sigma at the end of a word has a form of its own.
        return (tables().lower_text)(text);
    }
    mapped(text, &tables().lower)
}

/// The value of an expression that is left to Python; None for an error.
pub fn evaluate(expression: &str) -> Option<String> {
    (tables().evaluate)(expression)
}

/// `str.upper`.
pub fn upper(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    mapped(text, &tables().upper)
}

/// `str.title` of one character: its title case.
pub fn title(char: char) -> String {
    if char.is_ascii() {
        return char.to_ascii_uppercase().to_string();
    }
    tables().title.get(&char).cloned().unwrap_or_else(|| char.to_string())
}

/// `unicodedata.decimal` of a character.
pub fn decimal(char: char) -> Option<u32> {
    if !is_decimal(char) {
        return None;
    }
    let zeros = &tables().zeros;
    let zero = zeros[..zeros.partition_point(|&zero| zero <= char)].last()?;
    Some(char as u32 - *zero as u32)
}

/// Whether a text has no character that another form may have to replace: certain where it is true.
#[inline]
pub fn is_plainly_normalized(text: &str) -> bool {
    // The first combining mark is U+0300; smaller characters begin with smaller bytes.
    text.bytes().all(|byte| byte < 0xcc) || !text.chars().any(|char| has(char, NEEDS_NFC))
}

/// `unicodedata.is_normalized("NFC", text)`.
pub fn is_normalized(text: &str) -> bool {
    is_plainly_normalized(text) || tables().forms.keeps_marks(text) || tables().forms.composed(text) == text
}

/// `unicodedata.normalize("NFC", text)`.
pub fn normalize(text: &str) -> String {
    if is_plainly_normalized(text) {
        text.to_owned()
    } else {
        tables().forms.composed(text)
    }
}

// Hangul: the first syllable, and the first letter of each kind; the first that trails stands for none.
const SYLLABLE: u32 = 0xac00;
const LEADING: u32 = 0x1100;
const VOWEL: u32 = 0x1161;
const TRAILING: u32 = 0x11a7;
const VOWELS: u32 = 21;
const TRAILINGS: u32 = 28;
const SYLLABLES: u32 = 19 * VOWELS * TRAILINGS;

impl Forms {
    /// Whether each mark stands alone behind a letter and does not combine with it, as most of Indic scripts: certain
    /// where it is true, and found without a copy.
    fn keeps_marks(&self, text: &str) -> bool {
        let mut before = None;
        text.chars().all(|char| {
            let letter = before.replace(char);
            if !has(char, NEEDS_NFC) {
                return true;
            }
            let whole =
                |char| !self.decompositions.contains_key(&char) && (char as u32).wrapping_sub(SYLLABLE) >= SYLLABLES;
            whole(char)
                && letter
                    .is_none_or(|letter| !has(letter, NEEDS_NFC) && whole(letter) && self.pair(letter, char).is_none())
        })
    }

    fn composed(&self, text: &str) -> String {
        let mut chars: Vec<(u8, char)> = Vec::with_capacity(text.len());
        for char in text.chars() {
            self.decompose(char, &mut chars);
        }
        for marks in chars.chunk_by_mut(|left, right| left.0 != 0 && right.0 != 0) {
            marks.sort_by_key(|mark| mark.0);
        }
        let mut result: Vec<char> = Vec::with_capacity(chars.len());
        // The last character that a mark may combine with, and the class of the mark between.
        let (mut starter, mut between) = (None, 0);
        for (class, char) in chars {
            if let Some(index) = starter {
                if between == 0 || between < class {
                    if let Some(composed) = self.pair(result[index], char) {
                        result[index] = composed;
                        continue;
                    }
                }
            }
            if class == 0 {
                starter = Some(result.len());
            }
            between = class;
            result.push(char);
        }
        result.into_iter().collect()
    }

    fn decompose(&self, char: char, chars: &mut Vec<(u8, char)>) {
        let number = (char as u32).wrapping_sub(SYLLABLE);
        if number < SYLLABLES {
            let vowel = number / TRAILINGS;
            let letters = [LEADING + vowel / VOWELS, VOWEL + vowel % VOWELS, TRAILING + number % TRAILINGS];
            let letters = letters.into_iter().filter(|&letter| letter != TRAILING).filter_map(char::from_u32);
            return chars.extend(letters.map(|letter| (0, letter)));
        }
        let class = |char| self.classes.get(&char).copied().unwrap_or(0);
        match self.decompositions.get(&char) {
            Some(letters) => chars.extend(letters.chars().map(|letter| (class(letter), letter))),
            None => chars.push((class(char), char)),
        }
    }

    fn pair(&self, left: char, right: char) -> Option<char> {
        let (first, second) = (left as u32, right as u32);
        let (leading, vowel) = (first.wrapping_sub(LEADING), second.wrapping_sub(VOWEL));
        if leading < 19 && vowel < VOWELS {
            return char::from_u32(SYLLABLE + (leading * VOWELS + vowel) * TRAILINGS);
        }
        let (syllable, trailing) = (first.wrapping_sub(SYLLABLE), second.wrapping_sub(TRAILING));
        if syllable < SYLLABLES && syllable % TRAILINGS == 0 && 0 < trailing && trailing < TRAILINGS {
            return char::from_u32(first + trailing);
        }
        self.compositions.get(&(left, right)).copied()
    }
}

/// `text.strip()`.
#[inline]
pub fn strip(text: &str) -> &str {
    rstrip(lstrip(text))
}

/// `text.lstrip()`.
#[inline]
pub fn lstrip(text: &str) -> &str {
    // A quick test first, because most texts have nothing to remove.
    match text.as_bytes().first() {
        Some(b'!'..=b'~') => text,
        _ => text.trim_start_matches(is_space),
    }
}

/// `text.rstrip()`.
#[inline]
pub fn rstrip(text: &str) -> &str {
    match text.as_bytes().last() {
        Some(b'!'..=b'~') => text,
        _ => text.trim_end_matches(is_space),
    }
}

/// `len(text)`.
pub fn length(text: &str) -> usize {
    text.chars().count()
}
