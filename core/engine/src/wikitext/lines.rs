//! Classify lines as heading, list item, preformatted or plain, and mark them by a placeholder as first character.
//!
//! "== A ==" is a heading, "* a" an item, "; a : b" two of them. Consecutive plain lines stay separate, because some
//! editors write one sentence per line; only a line that continues a sentence is joined to the line before.

use super::breaks::{breaks_of_lines, Breaks};
use super::placeholders::{BREAK, GAP, HEADING, LIST, NAMED, PREFORMATTED, SEAM};
use super::quotes::push_without_quotes;
use super::search::find_double;
use super::stretches::stretches;
use super::tags::is_html_tag;
use crate::shared::shared;
use crate::unicode;
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;
use std::iter::repeat_n;

/// Mark headings, list items and preformatted lines by placeholders, and remove the marks of italics and bold.
///
/// A heading has its placeholder once for each level. If `literal`, as in MediaWiki, bullet characters are text, and
/// lines are not joined. The line feeds that replace images and those before list items are appended to `breaks`.
pub fn read_lines(text: String, literal: bool, breaks: Option<&mut Breaks>) -> String {
    let mut stretches = stretches(&text);
    let mut output = stretches.next().map_or_else(String::new, |stretch| read_stretch(stretch, literal));
    for stretch in stretches {
        output.push('\n');
        output += &read_stretch(stretch, literal);
    }
    if let Some(breaks) = breaks {
        breaks.extend(breaks_of_lines(&output));
    }
    if find_double(output.as_bytes(), LIST as u8).is_some() {
        let mut before = '\n';
        output.retain(|char| (char != LIST) | (std::mem::replace(&mut before, char) != LIST));
    }
    if memchr(BREAK as u8, output.as_bytes()).is_none() {
        return output;
    }
    output.replace(BREAK, "\n")
}

/// Return marked lines; an item has its placeholder once for each list that it is in.
fn read_stretch(text: &str, literal: bool) -> String {
    let mut output = String::with_capacity(text.len() + text.len() / 32);
    // The line before if it is plain, without changes.
    let mut before = "";
    let (mut start, mut next_quote) = (0, find_quote(text, 0));
    for end in memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        let line = &text[start..end];
        if start > 0 {
            output.push('\n');
        }
        start = end + 1;
        if line.is_empty() {
            before = "";
            continue;
        }
        let read = match read_special(line, literal) {
            Some((mark, number, read)) => {
                output.extend(repeat_n(mark, number));
                before = "";
                read
            }
            None if literal => Cow::Borrowed(line),
            None => {
                let goes_on = !before.is_empty() && goes_on(before, line);
                before = line;
                let is_seamless = |first: char| first == SEAM || shared().characters.closing.contains(first);
                if goes_on {
                    // Without the line feed.
                    output.pop();
                }
                if goes_on && !line.starts_with(is_seamless) {
                    Cow::Owned(format!(" {line}"))
                } else {
                    Cow::Borrowed(line)
                }
            }
        };
        // A line without quotes has none when it is read. Each quote is searched once.
        if next_quote < end - line.len() {
            next_quote = find_quote(text, end - line.len());
        }
        if next_quote < end {
            push_without_quotes(&read, &mut output);
        } else {
            output.push_str(&read);
        }
    }
    output
}

/// Return where the next mark of italics or bold is, or the length of the text.
fn find_quote(text: &str, start: usize) -> usize {
    find_double(&text.as_bytes()[start..], b'\'').map_or(text.len(), |offset| start + offset)
}

/// A placeholder, how many of it mark a line, and the line without its marks.
type Marked<'a> = (char, usize, Cow<'a, str>);

/// A line that is text or empty.
fn unmarked(line: &str) -> Marked<'_> {
    (LIST, 0, Cow::Borrowed(line))
}

/// Return a line that is not plain with its marks, `None` for a plain one.
fn read_special(line: &str, literal: bool) -> Option<Marked<'_>> {
    let first = line.chars().next()?;
    Some(match first {
        GAP => gap(line),
        '=' if literal => heading(line),
        '=' => title(line),
        ' ' => preformatted(line),
        '-' if literal => rule(line),
        '-' => dash(line),
        '*' | '#' | ':' | ';' => item(line),
        _ if !literal && !first.is_ascii() && shared().characters.bullets.contains(first) => {
            bullet(line, first.len_utf8())
        }
        _ => return None,
    })
}

/// Return whether a plain line continues the sentence at the end of the plain line before.
fn goes_on(before: &str, line: &str) -> bool {
    let Some(end) = before.trim_end_matches(' ').chars().next_back() else { return false };
    if !unicode::is_alnum(end) && !shared().characters.open_ends.contains(end) {
        return false;
    }
    if has_open_target(before) {
        // The target of a link is in one line.
        return false;
    }
    let mut chars = line.trim_start_matches(SEAM).chars();
    let Some(first) = chars.next() else {
        // Python finds the empty string in every string.
        return before.ends_with(' ') && (unicode::is_alnum(end) || end == ',');
    };
    if shared().characters.closing.contains(first) {
        return !chars.next().is_some_and(unicode::is_alnum);
    }
    // All Georgian letters are lower-case in Unicode.
    if unicode::is_lower(first) && !('\u{10d0}'..='\u{10ff}').contains(&first) {
        return true;
    }
    // A blank at the end of a line shows that an editor broke the line by hand.
    before.ends_with(' ')
        && (unicode::is_alnum(end) || end == ',')
        && (unicode::is_alnum(first) || matches!(first, '[' | '\'' | '"'))
}

fn has_open_target(line: &str) -> bool {
    let bytes = line.as_bytes();
    let edge = bytes.iter().rposition(|byte| matches!(byte, b'[' | b']' | b'|'));
    edge.is_some_and(|edge| bytes[..=edge].ends_with(b"[["))
}

fn heading(line: &str) -> Marked<'_> {
    let line_without_blanks = line.trim_end_matches([' ', '\t']);
    let length = line_without_blanks.len();
    let opening = length - line_without_blanks.trim_start_matches('=').len();
    let closing = length - line_without_blanks.trim_end_matches('=').len();
    let level = opening.min(closing).min(6).min(length.saturating_sub(1) / 2);
    if level == 0 {
        return unmarked(line);
    }
    let title = unicode::strip(&line_without_blanks[level..length - level]);
    (HEADING, if title.is_empty() { 0 } else { level }, Cow::Borrowed(title))
}

fn title(line: &str) -> Marked<'_> {
    // Without its template, this heading consists of "=" only.
    if line.trim_matches(['=', ' ', '\t']).is_empty() {
        unmarked("")
    } else {
        heading(line)
    }
}

fn item(line: &str) -> Marked<'_> {
    let content = line.trim_start_matches(['*', '#', ':', ';']);
    let marks = &line[..line.len() - content.len()];
    let content = content.trim_start_matches([' ', '\t']);
    if marks.contains(';') && memchr(b':', content.as_bytes()).is_some() {
        return (LIST, marks.len(), split_term(content, marks.len()));
    }
    (LIST, marks.len(), Cow::Borrowed(content))
}

/// Split "term : definition" into two lines, of which the second begins with some marks.
fn split_term(content: &str, marks: usize) -> Cow<'_, str> {
    let bytes = content.as_bytes();
    let (mut tags, mut rules) = (0_usize, 0_usize);
    let (mut bold, mut italic) = (false, false);
    let mut start = 0;
    // A colon, and what may contain a colon that separates no definition: a link, italics, a tag, an address.
    while let Some(offset) =
        bytes[start..].iter().position(|byte| matches!(byte, b'[' | b'\'' | b'<' | b'-' | b'}' | b':'))
    {
        let at = start + offset;
        start = at + 1;
        match bytes[at] {
            b'[' => start += link_length(&bytes[at..]).map_or(0, |length| length - 1),
            b'\'' => {
                let length = bytes[at..].iter().take_while(|&&byte| byte == b'\'').count();
                start = at + length;
                if length > 1 {
                    bold ^= length > 2;
                    italic ^= length == 2 || length > 4;
                }
            }
            b'<' => {
                if let Some((length, name, is_end)) = tag(&content[at..]) {
                    start = at + length;
                    let name = name.to_ascii_lowercase();
                    let is_void = shared().tags.void.contains(&name) && content[..start].ends_with("/>");
                    if is_html_tag(&name) && !is_void {
                        // A closing tag alone is not there for MediaWiki.
                        tags = if is_end { tags.saturating_sub(1) } else { tags + 1 };
                    }
                }
            }
            // A rule for language variants, -{a:b}-, keeps its colons.
            b'-' if bytes.get(start) == Some(&b'{') => {
                start += 1;
                rules += 1;
            }
            b'}' if bytes.get(start) == Some(&b'-') => {
                start += 1;
                rules = rules.saturating_sub(1);
            }
            b':' if bytes[start..].starts_with(b"//") => start += 2,
            b':' if is_scheme(&content[..start]) && begins_address(&content[start..]) => {}
            b':' if tags == 0 && rules == 0 && !bold && !italic => {
                let (term, definition) = (unicode::rstrip(&content[..at]), unicode::lstrip(&content[start..]));
                return Cow::Owned(format!("{term}\n{}{definition}", String::from(LIST).repeat(marks)));
            }
            _ => {}
        }
    }
    Cow::Borrowed(content)
}

/// Return whether a text ends in a scheme such as "mailto:", after something else than a letter.
fn is_scheme(text: &str) -> bool {
    shared().characters.schemes.iter().any(|scheme| {
        let start = text.len().wrapping_sub(scheme.len());
        text.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(scheme))
            && !text[..start].chars().next_back().is_some_and(|char| char == '_' || unicode::is_alnum(char))
    })
}

/// `[^\s\[\]<>"']`
fn begins_address(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|char| !unicode::is_space(char) && !matches!(char, '[' | ']' | '<' | '>' | '"' | '\''))
}

/// Bytes of the link that some bytes begin with.
fn link_length(bytes: &[u8]) -> Option<usize> {
    if !bytes.starts_with(b"[[") {
        return None;
    }
    let mut end = 2 + bytes[2..].iter().position(|byte| matches!(byte, b'[' | b']' | b'<' | b'>' | b'|'))?;
    if end == 2 {
        return None;
    }
    if bytes[end] == b'|' {
        end += bytes[end..].iter().position(|byte| matches!(byte, b'[' | b']'))?;
    }
    bytes[end..].starts_with(b"]]").then_some(end + 2)
}

/// Bytes of the tag that a text begins with, its name, and whether it is a closing one.
fn tag(text: &str) -> Option<(usize, &str, bool)> {
    let is_end = text[1..].starts_with('/');
    let begin = 1 + usize::from(is_end);
    let after = text[begin..].trim_start_matches(|char: char| char.is_ascii_alphanumeric());
    let name = &text[begin..text.len() - after.len()];
    let follows = |char: char| matches!(char, '/' | '>') || unicode::is_space(char);
    if !name.starts_with(|char: char| char.is_ascii_alphabetic()) || !after.starts_with(follows) {
        return None;
    }
    let length = after.bytes().position(|byte| matches!(byte, b'<' | b'>'))?;
    (after.as_bytes()[length] == b'>').then_some((text.len() - after.len() + length + 1, name, is_end))
}

fn preformatted(line: &str) -> Marked<'_> {
    if unicode::strip(line).is_empty() {
        unmarked("")
    } else {
        (PREFORMATTED, 1, Cow::Borrowed(&line[1..]))
    }
}

fn rule(line: &str) -> Marked<'_> {
    unmarked(if line.starts_with("----") { line.trim_start_matches('-') } else { line })
}

fn gap(line: &str) -> Marked<'_> {
    // A template alone on its line is a box or a hatnote: no sentence lacks it.
    unmarked(if line.trim_matches([GAP, NAMED, ' ']).is_empty() { "" } else { line })
}

/// Read a line whose first character has some bytes.
fn bullet(line: &str, length: usize) -> Marked<'_> {
    // An editor typed "• item" or "- item" instead of a list.
    let content = &line[length..];
    if content.starts_with([' ', '\t', '\u{a0}']) {
        (LIST, 1, Cow::Borrowed(content.trim_start_matches([' ', '\t'])))
    } else {
        unmarked(line)
    }
}

fn dash(line: &str) -> Marked<'_> {
    if line.starts_with("- ") {
        bullet(line, 1)
    } else {
        rule(line)
    }
}
