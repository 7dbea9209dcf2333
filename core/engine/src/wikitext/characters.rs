//! Decode character references, and remove footnote numbers and behaviour switches: "a&nbsp;b" is "a b", "So it was.
//! [84]" is "So it was. ", and `__NOTOC__` shows nothing.

use super::blanks::removed;
use super::placeholders::protect;
use crate::shared::shared;
use crate::unicode;
use memchr::{memchr, memchr2};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Decode character references; no-break spaces become spaces.
///
/// Decoded markup characters become placeholders (`protect`), so that later passes do not take them for markup.
pub fn decode_entities(text: String, entities: &FxHashMap<String, String>) -> String {
    let bytes = text.as_bytes();
    let mut output = String::new();
    let (mut copied, mut start) = (0, 0);
    // 0xc2 is the first byte of a no-break space.
    while let Some(offset) = memchr2(b'&', 0xc2, &bytes[start..]) {
        let at = start + offset;
        start = at + 1;
        if bytes[at] == b'&' {
            let Some(length) = reference_length(&bytes[at..]) else { continue };
            let Some(decoded) = entity(&text[at..at + length], entities) else { continue };
            output.reserve(text.len() - copied);
            output.push_str(&text[copied..at]);
            output.extend(decoded.chars().map(|char| if char == '\u{a0}' { ' ' } else { char }));
            start = at + length;
        } else if bytes.get(at + 1) == Some(&0xa0) {
            output.reserve(text.len() - copied);
            output.push_str(&text[copied..at]);
            output.push(' ');
            start = at + 2;
        } else {
            continue;
        }
        copied = start;
    }
    finished(text, output, copied)
}

/// The text from `copied` on appended to the output; the text itself if nothing was copied.
pub(super) fn finished(text: String, mut output: String, copied: usize) -> String {
    if copied == 0 {
        return text;
    }
    output.push_str(&text[copied..]);
    output
}

/// Bytes of the character reference that some bytes begin with.
fn reference_length(bytes: &[u8]) -> Option<usize> {
    let end = match (bytes.get(1)?, bytes.get(2)?) {
        (b'#', b'x' | b'X') => 3 + digits(&bytes[3..], 6, u8::is_ascii_hexdigit)?,
        (b'#', _) => 2 + digits(&bytes[2..], 7, u8::is_ascii_digit)?,
        (first, _) if first.is_ascii_alphabetic() => 2 + run(&bytes[2..], 1..32, u8::is_ascii_alphanumeric)?,
        _ => return None,
    };
    (bytes.get(end) == Some(&b';')).then_some(end + 1)
}

/// Number of digits at the beginning, if there are any and at most `most` after zeros.
fn digits(bytes: &[u8], most: usize, class: fn(&u8) -> bool) -> Option<usize> {
    let zeros = bytes.iter().take_while(|&&byte| byte == b'0').count();
    let length = zeros + run(&bytes[zeros..], 0..most + 1, class)?;
    (length > 0).then_some(length)
}

/// Number of bytes of a class at the beginning, if it is within a range.
fn run(bytes: &[u8], lengths: Range<usize>, class: fn(&u8) -> bool) -> Option<usize> {
    let length = bytes.iter().take(lengths.end).take_while(|byte| class(byte)).count();
    lengths.contains(&length).then_some(length)
}

fn entity(reference: &str, entities: &FxHashMap<String, String>) -> Option<String> {
    let name = &reference[1..];
    let Some(number) = name.strip_prefix('#') else { return entities.get(name).map(|value| protect(value)) };
    let digits = number.trim_end_matches(';');
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    // MediaWiki shows other references as text (Sanitizer::validateCodepoint).
    Some(match code.unwrap_or(0) {
        9 | 10 => " ".to_owned(),
        code @ (0x20..=0x7e | 0xa0..=0xfffd | 0x10000..) => {
            char::from_u32(code).map_or_else(|| protect(reference), |char| protect(char.encode_utf8(&mut [0; 4])))
        }
        _ => protect(reference),
    })
}

/// Remove footnote numbers that an editor copied as text from another page.
pub fn drop_note_numbers(text: String) -> String {
    let bytes = text.as_bytes();
    let mut output = String::new();
    let (mut copied, mut start) = (0, 0);
    while let Some(offset) = memchr(b'[', &bytes[start..]) {
        let at = start + offset;
        // Links are skipped quickly: behind a bracket there is no footnote number.
        start = at + bytes[at..].iter().take_while(|&&byte| byte == b'[').count();
        if start > at + 1 {
            continue;
        }
        let Some(length) = note_number_length(&text[at..]) else { continue };
        start = at + length;
        // A footnote number follows a punctuation mark, or a word and a blank; "a[5]" and "[[5]]" are something else.
        let mut before = text[..at].chars().rev();
        let is_note = match before.next() {
            Some(' ') => before
                .next()
                .is_some_and(|char| unicode::is_alnum(char) || shared().characters.before_note_number.contains(char)),
            Some(char) => shared().characters.before_note_number.contains(char),
            None => false,
        };
        if is_note {
            output.push_str(&text[copied..at]);
            output.push_str(removed(text[..at].chars().next_back(), &text[start..]));
            copied = start;
        }
    }
    finished(text, output, copied)
}

/// Bytes of the number in brackets that a text begins with, if a footnote number may end there.
fn note_number_length(text: &str) -> Option<usize> {
    let mut rest = text[1..].chars();
    let mut digits = 0;
    loop {
        match rest.next()? {
            ']' if digits > 0 => break,
            char if digits < 3 && unicode::is_decimal(char) => digits += 1,
            _ => return None,
        }
    }
    let length = text.len() - rest.as_str().len();
    rest.next()
        .is_none_or(|char| unicode::is_space(char) || shared().characters.after_note_number.contains(char))
        .then_some(length)
}

/// The behaviour switches of a language, such as __NOTOC__.
pub struct Switches {
    /// Sorted.
    names: Vec<String>,
    /// The first bytes of the names.
    firsts: Vec<u8>,
}

impl Switches {
    pub fn new(switches: &[String]) -> Switches {
        let mut names = switches.to_vec();
        names.sort();
        let mut firsts: Vec<u8> = names.iter().filter_map(|name| name.as_bytes().first().copied()).collect();
        firsts.push(b'_');
        firsts.sort_unstable();
        firsts.dedup();
        Switches { names, firsts }
    }

    /// Remove behaviour switches (https://www.mediawiki.org/wiki/Help:Magic_words).
    pub fn strip(&self, text: String) -> String {
        let bytes = text.as_bytes();
        let mut output = String::new();
        if memchr(b'_', bytes).is_none() {
            return text;
        }
        let (mut copied, mut start) = (0, 0);
        while let Some(offset) = self.next(&bytes[start..]) {
            let at = start + offset;
            // A name begins with a whole character, so the first byte is none within one.
            match caseless_length(&text[at..]).or_else(|| self.length(&bytes[at..])) {
                Some(length) => {
                    output.push_str(&text[copied..at]);
                    start = at + length;
                    copied = start;
                }
                None => start = at + 1,
            }
        }
        finished(text, output, copied)
    }

    /// Where a name may begin.
    fn next(&self, bytes: &[u8]) -> Option<usize> {
        match self.firsts[..] {
            [first] => memchr(first, bytes),
            [first, second] => memchr2(first, second, bytes),
            _ => bytes.iter().position(|byte| self.firsts.contains(byte)),
        }
    }

    /// Bytes of the shortest name at the beginning, which is the first in Python's order.
    fn length(&self, bytes: &[u8]) -> Option<usize> {
        let mut names = &self.names[..];
        for length in 0.. {
            let shortest = names.first()?;
            if shortest.len() == length {
                return (length > 0).then_some(length);
            }
            // All have the first `length` bytes, and are sorted by the next one.
            let next = bytes.get(length)?;
            let begin = names.partition_point(|name| name.as_bytes()[length] < *next);
            let end = names.partition_point(|name| name.as_bytes()[length] <= *next);
            names = &names[begin..end];
        }
        None
    }
}

/// Bytes of a switch at the beginning that may be in small letters.
fn caseless_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("__")?;
    shared().characters.caseless_switches.iter().find_map(|name| {
        let mut chars = rest.chars();
        for letter in name.chars() {
            if folded(chars.next()?) != letter.to_ascii_lowercase() {
                return None;
            }
        }
        chars.as_str().strip_prefix("__").map(|rest| text.len() - rest.len())
    })
}

/// The small letter that a character equals to Python's `(?i:..)`.
fn folded(char: char) -> char {
    match char {
        '\u{130}' | '\u{131}' => 'i',
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => char.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_and_protected() {
        let entities = FxHashMap::from_iter([("nbsp;".to_owned(), "\u{a0}".to_owned())]);
        let decoded = decode_entities("a&nbsp;b&#91;\u{a0}&#x41;&x; &#1;".to_owned(), &entities);
        assert_eq!(decoded, "a b\x07 A&x; \x19\x141\x16");
    }

    #[test]
    fn note_numbers_go_behind_signs_and_blanks() {
        assert_eq!(drop_note_numbers("So it was. [84] Then a[5] came.".to_owned()), "So it was.  Then a[5] came.");
    }

    #[test]
    fn some_switches_are_valid_in_small_letters() {
        let switches = Switches::new(&["__INDEX__".to_owned(), "__NOTOC__".to_owned()]);
        assert_eq!(switches.strip("__toc__ __index__ __INDEX__".to_owned()), " __index__ ");
    }
}
