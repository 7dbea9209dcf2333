//! Repair round brackets that lost a template: "Agassi ( ; born 1970)" becomes "Agassi (born 1970)".
//!
//! Such brackets held a pronunciation or a native name. Without these words the sentence is complete once the empty
//! part is removed, and "()" without any words too.

use super::blanks::begins_with_sign;
use super::placeholders::{GAP, NAMED, REMOVED};
use crate::shared::shared;
use crate::unicode;
use memchr::{memchr, memmem};

const EMPTY: [char; 5] = [' ', '\t', GAP, NAMED, REMOVED];
const VANISHED: char = '\x06';

/// Remove empty parts between brackets and separators, and brackets without any words.
pub fn mend_brackets(text: String) -> String {
    let text = mend(text, '(', ')');
    let text = mend(text, '（', '）');
    if memchr(VANISHED as u8, text.as_bytes()).is_some() {
        without_vanished(&text)
    } else {
        text
    }
}

/// Remove the marks of brackets that vanished, with the blank before them, and that between them and a sign.
fn without_vanished(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut pieces = text.split(VANISHED);
    output.push_str(pieces.next().unwrap_or(""));
    let mut before_mark = &text[..output.len()];
    for piece in pieces {
        // Of marks in a row, the first removes a blank.
        if before_mark.ends_with(' ') {
            output.pop();
        }
        let closes_up = piece.starts_with(' ') && begins_with_sign(&piece[1..]);
        output.push_str(&piece[usize::from(closes_up)..]);
        before_mark = piece;
    }
    output
}

fn mend(text: String, open: char, close: char) -> String {
    let mut output = String::new();
    let finder = memmem::Finder::new(open.encode_utf8(&mut [0; 4])).into_owned();
    let (mut copied, mut start) = (0, 0);
    while let Some(offset) = finder.find(&text.as_bytes()[start..]) {
        let at = start + offset;
        start = at + open.len_utf8();
        let Some(end) = closing(&text, start, close) else { continue };
        let inside = &text[start..end];
        start = end + close.len_utf8();
        // A quick test first, because nearly all brackets are intact.
        let intact = !inside.is_empty()
            && !inside.starts_with(is_edge)
            && !inside.ends_with(is_edge)
            && memchr(GAP as u8, inside.as_bytes()).is_none();
        if intact {
            continue;
        }
        output.push_str(&text[copied..at]);
        copied = start;
        if inside.is_empty() {
            // "f()" is a call; "f ()" lost its contents.
            if text[..at].ends_with(unicode::is_word) {
                output.push_str(&text[at..start]);
            } else {
                output.push(VANISHED);
            }
        } else if let Some(mended) = mended(inside) {
            output.push(open);
            output.push_str(&mended);
            output.push(close);
        } else {
            output.push(VANISHED);
        }
    }
    if copied == 0 {
        return text;
    }
    output + &text[copied..]
}

fn is_separator(char: char) -> bool {
    shared().characters.separators.contains(char)
}

/// Whether words may be lost beside a character at the edge of a bracket.
fn is_edge(char: char) -> bool {
    matches!(char, ' ' | REMOVED) || is_separator(char)
}

/// Return where a bracket closes whose contents begin at `start`. A link inside counts as a whole, because its target
/// may contain brackets.
fn closing(text: &str, start: usize, close: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    loop {
        at += bytes[at..].iter().position(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'\n' | 0xef))?;
        match bytes[at] {
            b'[' if bytes[at + 1..].starts_with(b"[") => {
                at += 2;
                at += bytes[at..].iter().position(|byte| matches!(byte, b'[' | b']' | b'\n'))?;
                if !bytes[at..].starts_with(b"]]") {
                    return None;
                }
                at += 2;
            }
            // Other characters than （ and ） begin with this byte too.
            0xef if !matches!(&bytes[at + 1..], [0xbc, 0x88 | 0x89, ..]) => at += 1,
            _ => return text[at..].starts_with(close).then_some(at),
        }
    }
}

/// Return the contents of a bracket without empty parts; `None` if all are empty.
fn mended(inside: &str) -> Option<String> {
    // Parts and separators alternate. An empty part is removed with the separator after it.
    let mut shown = String::with_capacity(inside.len());
    let (mut all, mut end_of_last) = (true, None);
    for part in inside.split_inclusive(is_separator) {
        let words = part.trim_end_matches(is_separator);
        if words.trim_matches(EMPTY).is_empty() {
            all = false;
        } else {
            end_of_last = Some(shown.len() + words.len());
            shown.push_str(part);
        }
    }
    // `split_inclusive` gives no empty part behind a separator at the end.
    if all && !inside.ends_with(is_separator) {
        return Some(inside.to_owned());
    }
    shown.truncate(end_of_last?);
    Some(unicode::strip(&shown).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_and_empty_brackets_go() {
        let mended = mend_brackets("Agassi ( ; born 1970) plays. Kyiv () is a city; f() a call.".to_owned());
        assert_eq!(mended, "Agassi (born 1970) plays. Kyiv is a city; f() a call.");
    }
}
