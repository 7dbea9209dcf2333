//! Cut text into sentences, and recognise those that are no complete sentences of prose: "A list of stops" has no
//! terminator, "1234 5678 901." too few letters, "The city (founded in 1900 is large." a bracket that stays open.

use super::splitter::skip_at_most;
use super::{FragmentRules, TextRules};
use crate::shared::Name;
use crate::unicode::{is_alpha, is_mark, is_space, is_word, lstrip, rstrip};
use memchr::memchr_iter;

/// Cuts a text into sentences: iterates over the offset of each and the sentence, without white space around it.
pub struct WholeSentences<'a> {
    text: &'a str,
    ends: std::vec::IntoIter<usize>,
    link_starts: &'a [usize],
    link_ends: &'a [usize],
    start: usize,
    link: usize,
}

/// Cut a text at the ends of its sentences; an end inside a link is ignored, so that no link is cut.
pub fn whole_sentences<'a>(
    text: &'a str,
    ends: Vec<usize>,
    link_starts: &'a [usize],
    link_ends: &'a [usize],
) -> WholeSentences<'a> {
    WholeSentences { text, ends: ends.into_iter(), link_starts, link_ends, start: 0, link: 0 }
}

impl<'a> Iterator for WholeSentences<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        for end in self.ends.by_ref() {
            while self.link_ends.get(self.link).is_some_and(|&close| close <= end) {
                self.link += 1;
            }
            if self.link_starts.get(self.link).is_some_and(|&start| start < end) {
                continue;
            }
            let untrimmed = self.text.get(self.start..end).unwrap_or_default();
            let start = self.start;
            self.start = end;
            let sentence = lstrip(untrimmed);
            let start = start + untrimmed.len() - sentence.len();
            let sentence = rstrip(sentence);
            if !sentence.is_empty() {
                return Some((start, sentence));
            }
        }
        None
    }
}

// Sets of characters, as bits of a table.
const NON_LETTER: u8 = 1;
/// Signs of markup.
const SIGN: u8 = 1 << 1;
/// Brackets of which as many open as close, in ASCII and others.
const BRACKET: u8 = 1 << 2;
const WIDE_BRACKET: u8 = 1 << 3;
const TERMINATOR: u8 = 1 << 4;
const CLOSER: u8 = 1 << 5;

/// Letters are this part of a sentence of ideographs, and foreign letters not all of the rest.
const IDEOGRAPHIC_PART: usize = 4;
/// But letters of its own are in this part of all characters: "Paris: Larousse, 2006."
const FEWEST_PART: usize = 10;

/// A sentence in another script has letters of its own in this part of its letters: names may be longer than the rest.
const SCRIPT_PART: usize = 3;

/// Tells why a text is no complete sentence of a language: see `make_fragment_test`.
pub struct FragmentTest {
    rules: FragmentRules,
    /// Sets by code point, up to the last of the Basic Multilingual Plane.
    sets: Box<[u8; 0x10000]>,
}

/// What one pass over a sentence tells: its numbers of characters and of non-letters, and the sets that occur.
#[derive(Default)]
struct Profile {
    length: usize,
    non_letters: usize,
    sets: u8,
    /// How many more brackets open than close: ( and （, [, 「, 『.
    open: [i32; 4],
}

impl FragmentTest {
    pub fn new(rules: &TextRules) -> FragmentTest {
        let mut test = FragmentTest { rules: rules.fragments.clone(), sets: Box::new([0; 0x10000]) };
        for char in (0..0x10000).filter_map(char::from_u32) {
            test.sets[char as usize] = test.sets_of(char);
        }
        test
    }

    fn sets_of(&self, char: char) -> u8 {
        let rules = &self.rules;
        let in_ranges = rules.ranges.iter().any(|&(first, last)| (first..=last).contains(&(char as u32)));
        let holds = |set, holds| if holds { set } else { 0 };
        holds(NON_LETTER, in_ranges != rules.scripts)
            | holds(SIGN, char.is_ascii() && rules.markup_signs.contains(char))
            | holds(BRACKET, matches!(char, '(' | ')' | '[' | ']'))
            | holds(WIDE_BRACKET, wide_bracket(char).is_some())
            | holds(TERMINATOR, rules.terminators.contains(char))
            | holds(CLOSER, rules.closers.contains(char))
    }

    #[inline]
    fn sets(&self, char: char) -> u8 {
        match self.sets.get(char as usize) {
            Some(&sets) => sets,
            None => self.sets_of(char),
        }
    }

    fn profile(&self, sentence: &str) -> Profile {
        let mut profile = Profile::default();
        if sentence.is_ascii() {
            profile.length = sentence.len();
            for &byte in sentence.as_bytes() {
                let sets = self.sets[usize::from(byte)];
                profile.non_letters += usize::from(sets & NON_LETTER);
                profile.sets |= sets;
            }
        } else {
            for char in sentence.chars() {
                let sets = self.sets(char);
                profile.length += 1;
                profile.non_letters += usize::from(sets & NON_LETTER);
                profile.sets |= sets;
            }
        }
        if profile.sets & BRACKET != 0 {
            let number = |bracket| memchr_iter(bracket, sentence.as_bytes()).count() as i32;
            profile.open = [number(b'(') - number(b')'), number(b'[') - number(b']'), 0, 0];
        }
        if profile.sets & WIDE_BRACKET != 0 {
            for (kind, number) in sentence.chars().filter_map(wide_bracket) {
                profile.open[kind] += number;
            }
        }
        profile
    }

    /// The first of FRAGMENT_REASONS that applies to a sentence. Without `seeks_markup` it is not searched for markup.
    pub fn reason(&self, sentence: &str, seeks_markup: bool) -> Option<Name> {
        let Profile { length, non_letters, sets, open } = self.profile(sentence);
        if length < self.rules.shortest {
            return Some(Name::FragmentShort);
        }
        if length > self.rules.longest {
            return Some(Name::FragmentLong);
        }
        if seeks_markup && sets & SIGN != 0 && has_markup(sentence) {
            return Some(Name::FragmentMarkup);
        }
        // "a) red, b) blue" is not unbalanced. Without its markup, a sentence is tested only if it has round brackets.
        if (open[1..] != [0; 3] || (open[0] != 0 && open[0] + enumerators(sentence) != 0))
            && (seeks_markup || sentence.contains(['(', ')']))
        {
            return Some(Name::FragmentUnbalanced);
        }
        // A quick test first: at most half of the characters of a sentence are blanks.
        if 4 * non_letters > length {
            if let Some(reason) = self.script_reason(sentence, length, non_letters) {
                return Some(reason);
            }
        }
        (self.rules.punctuated && !self.is_terminated(sentence)).then_some(Name::FragmentNoTerminator)
    }

    fn script_reason(&self, sentence: &str, length: usize, non_letters: usize) -> Option<Name> {
        let visible = length - memchr_iter(b' ', sentence.as_bytes()).count();
        if 2 * non_letters <= visible {
            return None;
        }
        let letters = sentence.chars().filter(|&char| is_letter(char)).count();
        let ideographic = self.rules.ideographic;
        if (if ideographic { IDEOGRAPHIC_PART } else { 2 }) * letters < visible {
            return Some(Name::FragmentNoLetters);
        }
        let is_foreign = |char: &char| self.sets(*char) & NON_LETTER != 0 && is_letter(*char);
        let foreign = sentence.chars().filter(is_foreign).count();
        // A word has few ideographs and many letters: a name and its dates may be longer than the rest of a sentence.
        let is_script = if ideographic {
            (IDEOGRAPHIC_PART * visible.saturating_sub(foreign)).min(FEWEST_PART * (letters - foreign)) < visible
        } else {
            SCRIPT_PART * (letters - foreign) < letters
        };
        is_script.then_some(Name::FragmentScript)
    }

    fn is_terminated(&self, sentence: &str) -> bool {
        let mut chars = sentence.char_indices().rev().take(self.rules.longest_close);
        while let Some((at, char)) = chars.next() {
            let sets = self.sets(char);
            if sets & TERMINATOR != 0 {
                return true;
            }
            let mark = if char == ']' { footnote_length(&sentence[..at]) } else { 0 };
            if mark > 0 {
                chars.nth(mark - 1);
            } else if sets & CLOSER == 0 && !is_space(char) {
                return false;
            }
        }
        false
    }
}

/// Whether a sentence has markup that no pass has read: "a || b", "{{", "[[", "==", "<ref>", "&amp;", "__TOC__".
fn has_markup(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    let run = |from: usize, class: fn(&u8) -> bool| bytes[from..].iter().take_while(|&byte| class(byte)).count();
    for (at, &byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let is_markup = match byte {
            b'|' => sentence[at + 1..].starts_with(|char| char == '|' || is_word(char) || is_space(char)),
            b'{' => matches!(next, b'{' | b'|'),
            b'}' => next == b'}',
            b'[' => {
                let inside = &sentence[at + 1..];
                inside.starts_with('[') || inside.starts_with("http:") || inside.starts_with("https:")
            }
            b']' => next == b']',
            b'=' => next == b'=',
            b'<' => {
                let name = at + 1 + usize::from(next == b'/');
                let length = run(name, u8::is_ascii_lowercase);
                let follows = |char| is_space(char) || matches!(char, '/' | '>');
                (1..=12).contains(&length) && sentence[name + length..].starts_with(follows)
            }
            b'&' => {
                let name = at + 1 + usize::from(next == b'#');
                let end = skip_at_most(sentence, name, 8, is_word);
                sentence[name..end].chars().nth(1).is_some() && sentence[end..].starts_with(';')
            }
            b'_' if next == b'_' => {
                let length = run(at + 2, u8::is_ascii_uppercase);
                (3..=20).contains(&length) && sentence[at + 2 + length..].starts_with("__")
            }
            _ => false,
        };
        if is_markup {
            return true;
        }
    }
    false
}

/// The kind of a bracket in `Profile::open`, and 1 if it opens, -1 if it closes.
fn wide_bracket(char: char) -> Option<(usize, i32)> {
    Some(match char {
        // In Japanese and Chinese a full-width bracket may be closed by an ASCII one.
        '（' => (0, 1),
        '）' => (0, -1),
        '「' => (2, 1),
        '」' => (2, -1),
        '『' => (3, 1),
        '』' => (3, -1),
        _ => return None,
    })
}

/// The number of enumerators, "a)": one to three word characters after white space, and a bracket.
fn enumerators(sentence: &str) -> i32 {
    // Word characters since white space, or None after another character.
    let (mut letters, mut number) = (Some(0), 0);
    for char in sentence.chars() {
        letters = match letters {
            _ if is_space(char) => Some(0),
            Some(length) if is_word(char) => Some(length + 1),
            Some(1..=3) if matches!(char, ')' | '）') => {
                number += 1;
                None
            }
            _ => None,
        };
    }
    number
}

/// The length of the mark of a footnote that ends a text without its "]": "[12". 0 if there is none.
fn footnote_length(text: &str) -> usize {
    let digits = text.bytes().rev().take(4).take_while(u8::is_ascii_digit).count();
    let opens = (1..=3).contains(&digits) && text[..text.len() - digits].ends_with('[');
    if opens {
        digits + 1
    } else {
        0
    }
}

fn is_letter(char: char) -> bool {
    is_alpha(char) || is_mark(char)
}
