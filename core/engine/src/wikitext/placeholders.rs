//! Control characters with a meaning inside the engine; XML does not allow them, so no page has one.
//!
//! Markup characters that are text, as in `<nowiki>[[a]]</nowiki>`, are replaced by one control character each until
//! all passes are done.

use super::characters::finished;

pub const NAMED: char = '\x00';
pub const GAP: char = '\x01';
pub const HEADING: char = '\x02';
pub const LIST: char = '\x03';
pub const PREFORMATTED: char = '\x04';
pub const SEAM: char = '\x05';
pub const PIPE: char = '\x06';
pub const REMOVED: char = '\x1f';
pub const BREAK: char = '\x1c';

const MARKUP: &[u8; 16] = b"[]{}|'=*#:;<>&_-";
const CODES: &[u8; 16] = b"\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b";

/// Replace markup characters by control characters, so that they are not read as markup.
pub fn protect(text: &str) -> String {
    text.chars().map(|char| translated(char, MARKUP, CODES)).collect()
}

/// Undo `protect`. The length in bytes stays the same.
pub fn restore(text: String) -> String {
    let mut output = String::new();
    let (mut copied, mut start) = (0, 0);
    for piece in text.as_bytes().chunks(64) {
        // All bytes of a piece at once, which compilers turn into instructions for many bytes.
        if piece.iter().fold(false, |found, &byte| found | is_code(byte)) {
            output.reserve(text.len() - copied);
            for (at, &byte) in (start..).zip(piece).filter(|(_, byte)| is_code(**byte)) {
                output.push_str(&text[copied..at]);
                output.push(translated(byte as char, CODES, MARKUP));
                copied = at + 1;
            }
        }
        start += piece.len();
    }
    finished(text, output, copied)
}

fn is_code(byte: u8) -> bool {
    matches!(byte, 0x07 | 0x08 | 0x0e..=0x1b)
}

fn translated(char: char, from: &[u8; 16], to: &[u8; 16]) -> char {
    match from.iter().position(|&code| char == code as char) {
        Some(index) => to[index] as char,
        None => char,
    }
}
