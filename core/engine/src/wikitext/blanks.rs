//! Remove superfluous blanks: in runs, and beside punctuation where something was removed.
//!
//! A blank before a comma that an editor wrote stays, as in MediaWiki. So the passes that remove something put a
//! placeholder where it leaves a blank beside punctuation: "in a battle \x1f. It" becomes "in a battle. It".

use super::characters::finished;
use super::placeholders::{GAP, REMOVED, SEAM};
use crate::shared::shared;
use crate::unicode;
use memchr::{memchr, memmem};

/// Return what stands for something that is removed and shows nothing: REMOVED if it leaves a blank before a full stop,
/// a comma, a closing bracket or a Japanese particle, or after an opening bracket.
///
/// `before` is the character before it, `text` what follows it.
pub fn removed(before: Option<char>, text: &str) -> &'static str {
    let is_blank = text.starts_with(' ');
    let is_loose = match before {
        Some('(' | '（') => return if is_blank { "\x1f" } else { "" },
        Some(' ') => is_blank || text.starts_with(['.', ',', ')', '）', SEAM]) || begins_with_particle(text),
        Some('\n') => false,
        _ => is_blank,
    };
    if !is_loose {
        return "";
    }
    let sign = text.trim_start_matches([' ', SEAM, REMOVED]);
    if begins_with_sign(sign) || sign.starts_with([')', '）']) || begins_with_particle(sign) {
        "\x1f"
    } else {
        ""
    }
}

/// Whether a text begins with a full stop or a comma; "word <ref/> .NET" and "word <ref/> ..." keep their blank.
pub fn begins_with_sign(text: &str) -> bool {
    let mut chars = text.chars();
    matches!(chars.next(), Some('.' | ','))
        && !chars.next().is_some_and(|char| matches!(char, '.' | ',') || unicode::is_word(char))
}

/// Whether a text begins with a Japanese particle before a link or another kind of character.
fn begins_with_particle(text: &str) -> bool {
    if !text.starts_with(is_hiragana) {
        return false;
    }
    shared().characters.particles.iter().any(|particle| {
        text.strip_prefix(particle.as_str()).and_then(|rest| rest.chars().next()).is_some_and(|char| {
            // "[[" begins with no hiragana either.
            !is_hiragana(char) && !unicode::is_space(char)
        })
    })
}

fn is_hiragana(char: char) -> bool {
    ('\u{3041}'..='\u{3096}').contains(&char)
}

/// Replace tabs and runs of blanks by one blank.
pub fn fold_spaces(text: String) -> String {
    let text = if memchr(b'\t', text.as_bytes()).is_some() { replace_tabs(&text) } else { text };
    let mut output = String::new();
    let finder = memmem::Finder::new("  ");
    let mut copied = 0;
    while let Some(offset) = finder.find(&text.as_bytes()[copied..]) {
        let at = copied + offset;
        if copied == 0 {
            output.reserve(text.len());
        }
        output.push_str(&text[copied..at]);
        copied = text.len() - text[at..].trim_start_matches(' ').len();
        if copied < text.len() {
            output.push(' ');
        }
    }
    finished(text, output, copied)
}

fn replace_tabs(text: &str) -> String {
    let mut output = String::with_capacity(text.len() + 8);
    let (mut copied, mut previous, mut in_target) = (0, 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => in_target = previous == b'[',
            b']' | b'|' | b'\n' => in_target = false,
            b'\t' => {
                output.push_str(&text[copied..at]);
                copied = at + 1;
                if in_target {
                    // No target of a link contains a tab.
                    output.push(SEAM);
                }
                output.push(' ');
                in_target = false;
            }
            _ => {}
        }
        previous = byte;
    }
    output + &text[copied..]
}

/// Remove the blanks that something removed, such as a footnote, left beside punctuation.
///
/// After a short lower-case word there is a gap, because words are missing in "an area of .".
pub fn close_up(text: String) -> String {
    let bytes = text.as_bytes();
    let mut output = String::new();
    let mut copied = 0;
    while let Some(offset) = memchr(REMOVED as u8, &bytes[copied..]) {
        let at = copied + offset;
        let start = if offset > 0 && bytes[at - 1] == b' ' { at - 1 } else { at };
        let rest = text[at..].trim_start_matches([' ', SEAM, REMOVED]);
        let sign = rest.chars().next().filter(|sign| matches!(sign, '.' | ',' | ')' | '）'));
        let before = &text[..start];
        output.push_str(&text[copied..start]);
        if sign.is_none() && rest.starts_with(is_hiragana) {
            // A particle. After a link, what counts is its last character.
            let window = before.char_indices().rev().nth(7).map_or(0, |(index, _)| index);
            let end = before[window..].trim_end_matches([']', SEAM]).chars().next_back();
            if !end.is_some_and(is_japanese) {
                output.push(' ');
            }
        } else if matches!(sign, Some('.' | ',')) && ends_with_short_word(before) {
            output.push(' ');
            output.push(GAP);
            output.extend(sign);
        } else if sign != Some('.') || !before.ends_with(['.', '!', '?', '…']) {
            output.extend(sign);
        }
        copied = text.len() - rest.len() + sign.map_or(0, char::len_utf8);
    }
    finished(text, output, copied)
}

/// Whether a particle stands after the character without a blank.
fn is_japanese(char: char) -> bool {
    matches!(char, '\u{30a1}'..='\u{30ff}' | '\u{3005}' | '\u{4e00}'..='\u{9fff}' | '」' | '』' | '）' | '(' | '（')
}

/// Whether the last word has few letters, all of them lower-case.
fn ends_with_short_word(text: &str) -> bool {
    let (mut length, mut is_lower) = (0, false);
    for char in text.chars().rev().take_while(|char| !matches!(char, ' ' | '\n')) {
        // Not `unicode::is_upper` alone: `str.islower` tests for title case too, which has another lower case.
        if length == shared().limits.short_word || !unicode::is_alpha(char) || unicode::has_lower(char) {
            return false;
        }
        is_lower |= unicode::is_lower(char);
        length += 1;
    }
    is_lower
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_go_where_something_was_removed() {
        assert_eq!(fold_spaces("a  b\tc   ".to_owned()), "a b c");
        assert_eq!(removed(Some('a'), " , too"), "\x1f");
        assert_eq!(removed(Some('a'), ", too"), "");
        assert_eq!(close_up("in a battle \x1f. It ended , too".to_owned()), "in a battle. It ended , too");
        assert_eq!(close_up("an area of \x1f.".to_owned()), "an area of \x01.");
    }
}
