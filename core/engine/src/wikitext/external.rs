//! Replace external links by their labels: "See [https://a.org the page] [https://b.org]." is "See the page ."

use crate::shared::shared;
use crate::unicode::is_space;
use crate::wikitext::blanks::removed;
use crate::wikitext::placeholders::{protect, SEAM};
use crate::wikitext::tags::name_end;
use memchr::{memchr, memmem, memrchr};

/// Replace external links by their labels; internal links inside a label stay.
///
/// `number` formats a number. With it, a link without a label becomes `[1]`, `[2]` as in MediaWiki; without it, it is
/// removed like a footnote.
pub fn strip_external_links(text: String, number: Option<&dyn Fn(&str) -> String>) -> String {
    let Some(mut link) = next_opening(&text, 0) else { return text };
    let bytes = text.as_bytes();
    let mut result = String::with_capacity(text.len());
    let (mut position, mut count) = (0, 0);
    // The next "]" and the next line feed after the label. Each is searched once, so that a line of many unclosed links
    // takes linear time.
    let (mut close, mut newline, mut is_term) = (None, None, false);
    loop {
        let (start, label) = link;
        let line_end = match newline {
            Some(line_end) if line_end >= label => line_end,
            _ => {
                let line_start = memrchr(b'\n', &bytes[newline.unwrap_or(0)..label])
                    .map_or(0, |offset| newline.unwrap_or(0) + offset + 1);
                is_term = begins_term(&bytes[line_start..]);
                memchr(b'\n', &bytes[label..]).map_or(text.len(), |length| label + length)
            }
        };
        newline = Some(line_end);
        let label_end = match close {
            Some(close) if close >= label => close,
            _ => label_end(bytes, label, line_end),
        };
        close = Some(label_end);
        if is_in_label(&text, start) {
            result += &text[position..label];
            position = label;
        } else if label_end > line_end {
            // Not closed in this line.
            result += &text[position..line_end];
            position = line_end;
        } else {
            result += &text[position..start];
            if label_end > label {
                if start > 0 && !matches!(bytes[start - 1], b' ' | b'\n') {
                    // A link has no trail or prefix across the brackets.
                    result.push(SEAM);
                }
                let shown = &text[label..label_end];
                if is_term {
                    // The colon that ends a term is outside of links.
                    result += &shown.replace(':', &protect(":"));
                } else {
                    result += shown;
                }
                if shown.ends_with(']') || bytes.get(label_end + 1) == Some(&b'[') {
                    result.push(SEAM);
                }
            } else if let Some(number) = number {
                count += 1;
                result += &protect(&format!("[{}]", number(&count.to_string())));
            } else {
                result += removed(text[..start].chars().next_back(), &text[label_end + 1..]);
            }
            position = label_end + 1;
        }
        match next_opening(&text, position) {
            Some(next) => link = next,
            None => break,
        }
    }
    result += &text[position..];
    result
}

/// Return the start of the next external link and the start of its label.
fn next_opening(text: &str, position: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut search = position;
    loop {
        // The last of several brackets may begin an external link.
        search += memchr(b'[', &bytes[search..])?;
        search += bytes[search..].iter().take_while(|&&byte| byte == b'[').count();
        let start = search - 1;
        let first = *bytes.get(search)?;
        // Skip internal links quickly; [[http://...]] and [[//...]] are external links nevertheless.
        let is_address = bytes[search..].starts_with(b"http") || bytes[search..].starts_with(b"//");
        if start > 0 && bytes[start - 1] == b'[' && !is_address {
            continue;
        }
        let Some(address) = protocol_end(text, search, first) else { continue };
        let end = address_end(text, address + ip_length(&bytes[address..]));
        let blanks = bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if end > address {
            return Some((start, end + blanks));
        }
    }
}

/// Return the offset after the protocol with which an address begins.
fn protocol_end(text: &str, start: usize, first: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    if first == b'/' {
        return bytes[start..].starts_with(b"//").then_some(start + 2);
    }
    let characters = &shared().characters;
    // To Python's `re`, some letters outside of ASCII are equal to ASCII letters.
    let may_begin = |protocol: &&String| !first.is_ascii() || protocol.as_bytes()[0] == first.to_ascii_lowercase();
    let slashed = characters.slashed_schemes.iter().filter(may_begin).find_map(|protocol| {
        let end = name_end(text, start, protocol)?;
        bytes[end..].starts_with(b"//").then_some(end + 2)
    });
    slashed.or_else(|| characters.schemes.iter().filter(may_begin).find_map(|protocol| name_end(text, start, protocol)))
}

/// Bytes of the address of IPv6 in brackets that some bytes begin with: "[2001:db8::1]".
fn ip_length(bytes: &[u8]) -> usize {
    if bytes.first() != Some(&b'[') {
        return 0;
    }
    let digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')).count();
    if digits > 0 && bytes.get(1 + digits) == Some(&b']') {
        digits + 2
    } else {
        0
    }
}

/// `(?:[^\s\[\]<>"']+|'(?!'))*`. Two apostrophes end an address, because MediaWiki reads italics first.
fn address_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let is_end = |(offset, char): &(usize, char)| match char {
        '[' | ']' | '<' | '>' | '"' => true,
        '\'' => bytes.get(start + offset + 1) == Some(&b'\''),
        &char => is_space(char),
    };
    text[start..].char_indices().find(is_end).map_or(text.len(), |(offset, _)| start + offset)
}

/// `[*#:]*;`
fn begins_term(line: &[u8]) -> bool {
    line.iter().find(|byte| !matches!(byte, b'*' | b'#' | b':')) == Some(&b';')
}

/// Return whether an external link is in the label of an internal link, where MediaWiki shows it as text.
fn is_in_label(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    let before = &bytes[start.saturating_sub(4 * shared().limits.external_label)..start];
    let Some(offset) = memmem::rfind(before, b"[[") else { return false };
    let opening = start - before.len() + offset;
    if text[opening..start].chars().count() > shared().limits.external_label || !is_label(&bytes[opening + 2..start]) {
        return false;
    }
    let limit = text[start..]
        .char_indices()
        .nth(shared().limits.external_label)
        .map_or(text.len(), |(offset, _)| start + offset);
    let after = &bytes[start + 1..limit];
    memmem::find(after, b"]]").is_some_and(|close| memmem::find(&after[..close], b"[[").is_none())
}

/// `[^\[\]{}<>|\n]+\|[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\Z`: what may stand between the beginning of an internal link and
/// an external link in its label.
fn is_label(text: &[u8]) -> bool {
    let is_end = |byte: &u8| matches!(byte, b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'|' | b'\n');
    let Some(bar) = text.iter().position(is_end) else { return false };
    if bar == 0 || text[bar] != b'|' {
        return false;
    }
    let mut is_open = false;
    for bracket in text[bar..].iter().filter(|byte| matches!(byte, b'[' | b']')) {
        if is_open != (*bracket == b']') {
            return false;
        }
        is_open = !is_open;
    }
    !is_open
}

/// Return the offset of the first "]" that does not close an internal link; an offset after the line if there is none.
fn label_end(bytes: &[u8], mut position: usize, newline: usize) -> usize {
    loop {
        let line = &bytes[position..newline];
        let Some(length) = memchr(b']', line) else { return newline + 1 };
        let close = position + length;
        if bytes.get(close + 1) != Some(&b']') || memmem::find(&line[..length], b"[[").is_none() {
            return close;
        }
        position = close + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_its_label() {
        let text =
            "See [https://a.org the [[page]] b] [HTTP\u{17f}://b.org].\n;a[//c d:e] [no link] [[f|[http://g h]]]";
        let stripped = strip_external_links(text.to_owned(), None);
        assert_eq!(stripped, "See the [[page]] b \x1f.\n;a\x05d\x15e [no link] [[f|[http://g h]]]");
    }

    #[test]
    fn a_link_without_a_label_is_a_number() {
        let stripped = strip_external_links("a [http://b] [http://c]".to_owned(), Some(&|digits| digits.to_owned()));
        assert_eq!(stripped, "a \x071\x08 \x072\x08");
    }
}
