//! Remove the marks of italics and bold, '' and ''', by MediaWiki's rules (Parser::doQuotes).
//!
//! "l'''art'''" is "l'art". If a line has an odd number of both marks, one bold mark is an apostrophe and italics.

use super::placeholders::SEAM;
use super::search::find_double;
use crate::unicode;
use memchr::memchr;
use std::borrow::Cow;

/// `protect("'")`.
const APOSTROPHE: &str = "\x11";

/// Remove the marks of italics and bold from a line by MediaWiki's rules (Parser::doQuotes).
///
/// Marks beside a link become a SEAM, so that the link has no trail or prefix across them.
pub fn strip_quotes(line: &str) -> String {
    let mut output = String::with_capacity(line.len());
    push_without_quotes(line, &mut output);
    output
}

/// Return whether a line has a mark.
pub fn has_quotes(line: &str) -> bool {
    find_double(line.as_bytes(), b'\'').is_some()
}

/// Append a line without its marks.
pub fn push_without_quotes(line: &str, output: &mut String) {
    let mut line = Cow::Borrowed(line);
    if find_double(line.as_bytes(), b'[').is_some() {
        if let Some(changed) = protect_targets(&line) {
            line = Cow::Owned(changed);
        }
        if let Some(changed) = mark_ends(&line) {
            line = Cow::Owned(changed);
        }
        if let Some(changed) = mark_beginnings(&line) {
            line = Cow::Owned(changed);
        }
    }
    let mut runs = runs(&line);
    let bold = runs.iter().filter(|run| matches!(run.mark(), 3 | 5)).count();
    let italic = runs.iter().filter(|run| matches!(run.mark(), 2 | 5)).count();
    if bold % 2 == 1 && italic % 2 == 1 {
        if let Some(turned) = unbalanced(&line, &runs) {
            runs[turned].turned = true;
        }
    }
    let mut copied = 0;
    for run in &runs {
        output.push_str(&line[copied..run.start]);
        // Four apostrophes are one apostrophe and bold; more than five are apostrophes, bold and italics.
        let kept = if run.length == 4 { 1 } else { run.length.saturating_sub(5) } + usize::from(run.turned);
        output.push_str(&line[run.start..run.start + kept]);
        copied = run.start + run.length;
    }
    output.push_str(&line[copied..]);
}

/// Two or more apostrophes.
struct Run {
    start: usize,
    length: usize,
    /// Whether a bold mark is an apostrophe and italics.
    turned: bool,
}

impl Run {
    /// 2 for italics, 3 for bold, 5 for both.
    fn mark(&self) -> usize {
        if self.length == 4 {
            3
        } else {
            self.length.min(5)
        }
    }
}

fn runs(line: &str) -> Vec<Run> {
    let bytes = line.as_bytes();
    let mut runs = Vec::new();
    let mut end = 0;
    while let Some(offset) = memchr(b'\'', &bytes[end..]) {
        let start = end + offset;
        let length = bytes[start..].iter().take_while(|&&byte| byte == b'\'').count();
        end = start + length;
        if length > 1 {
            runs.push(Run { start, length, turned: false });
        }
    }
    runs
}

/// Protect the apostrophes in targets of links, where two of them are part of the title.
fn protect_targets(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let mut output = String::new();
    let (mut copied, mut start) = (0, 0);
    while let Some(offset) = find_double(&bytes[start..], b'[') {
        let begin = start + offset + bytes[start + offset..].iter().take_while(|&&byte| byte == b'[').count();
        let length = bytes[begin..].iter().position(|byte| matches!(byte, b'[' | b']' | b'|'));
        let Some(end) = length.map(|length| begin + length) else { break };
        start = end;
        if (bytes[end] == b'|' || bytes[end..].starts_with(b"]]")) && has_quotes(&line[begin..end]) {
            output.push_str(&line[copied..begin]);
            output.push_str(&line[begin..end].replace('\'', APOSTROPHE));
            copied = end;
        }
    }
    (copied > 0).then(|| output + &line[copied..])
}

/// Put a SEAM between a mark and a link.
fn mark_beginnings(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let mut output = String::new();
    let (mut copied, mut start) = (0, 0);
    while let Some(offset) = find_double(&bytes[start..], b'\'') {
        let end = start + offset + 2;
        start = end - 1;
        if bytes[end..].starts_with(b"[[") {
            output.push_str(&line[copied..end]);
            output.push(SEAM);
            copied = end;
        }
    }
    (copied > 0).then(|| output + &line[copied..])
}

/// Put a SEAM between the letters after a link and a mark, where the link's trail ends.
fn mark_ends(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let mut output = String::new();
    let (mut copied, mut start) = (0, 0);
    while let Some(offset) = find_double(&bytes[start..], b']') {
        let at = start + offset;
        start = at + 1;
        let rest = line[at + 2..].trim_start_matches(unicode::is_word);
        if rest.starts_with("''") {
            let end = line.len() - rest.len();
            output.push_str(&line[copied..end]);
            output.push(SEAM);
            copied = end;
            start = end + 2;
        }
    }
    (copied > 0).then(|| output + &line[copied..])
}

/// Return the number of the bold mark that MediaWiki reads as an apostrophe and italics.
///
/// It is the first one after a one-letter word; otherwise after a word; otherwise after a space.
fn unbalanced(line: &str, runs: &[Run]) -> Option<usize> {
    let (mut word, mut space) = (None, None);
    let mut end = 0;
    for (number, run) in runs.iter().enumerate() {
        let before = &line.as_bytes()[end..run.start];
        end = run.start + run.length;
        if run.mark() != 3 {
            continue;
        }
        match before {
            [.., b' '] => space = space.or(Some(number)),
            [.., b' ', letter] if letter.is_ascii() => return Some(number),
            _ => word = word.or(Some(number)),
        }
    }
    word.or(space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wikitext::placeholders::protect;

    #[test]
    fn apostrophes_of_articles_stay() {
        assert_eq!(strip_quotes("'''Bold''' and l'''art''"), "Bold and l'art");
        assert_eq!(protect("'"), APOSTROPHE);
    }
}
