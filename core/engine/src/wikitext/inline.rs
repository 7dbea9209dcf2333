//! Put what a template shows into the line of its call.
//!
//! A template that makes a block of its own (a table, a box, a list) is no part of a sentence: "{{box}}It is here." is
//! "It is here.", "It {{box}} is" has a gap. A line of nothing but templates shows nothing: these are notices and
//! navigation. But elements such as <div>, alone on their line, around prose that the page itself gives them are text.

use super::link_counts::links_in;
use super::placeholders::{GAP, HEADING, LIST, NAMED, SEAM};
use crate::counts::Counts;
use crate::shared::{shared, Name};
use crate::unicode::{is_alnum, is_decimal, is_word, length, lstrip, strip};
use memchr::{memchr, memchr2, memchr2_iter, memchr_iter, memrchr};
use std::borrow::Cow;

/// Around what a template shows, up to `join_lines`; line marks come into the text later than templates.
const OPEN: char = HEADING;
const CLOSE: char = LIST;
/// OPEN, CLOSE and GAP: the mark of a block.
const BLOCK: &str = "\x02\x03\x01";

/// Whether wikitext that a template shows is more than a part of a line.
pub fn makes_block(shown: &str) -> bool {
    if begins_block(shown) {
        return true;
    }
    memchr2_iter(b'\n', b'<', shown.as_bytes()).any(|index| {
        let rest = &shown[index + 1..];
        if shown.as_bytes()[index] == b'\n' {
            return begins_block(rest) || rest.trim_start_matches([' ', '\t']).starts_with('\n');
        }
        let name = word(rest);
        is_one_of(name, &shared().tags.makes_block)
    })
}

/// Whether a template has elements such as <div>, which may stand around text, and no table.
pub fn frames_text(body: &str) -> bool {
    memchr_iter(b'<', body.as_bytes()).any(|index| is_one_of(word(&body[index + 1..]), &shared().tags.frames))
        && !body.split('\n').any(|line| line.trim_start_matches([' ', '\t']).starts_with("{|"))
}

/// An argument of a call that may be prose, without links and tags.
pub fn prose_of(argument: &str) -> Option<String> {
    let text = without_links_and_tags(argument, "");
    let prose = strip(&text);
    (length(prose) >= shared().limits.prose).then(|| prose.to_owned())
}

/// Whether a template shows one of these texts (`prose_of`) outside of links, and in the text: not floating beside it,
/// nor in an element of a class that is left out of it on many wikis.
pub fn shows_prose(shown: &str, prose: &[String]) -> bool {
    let is_beside = memchr_iter(b'<', shown.as_bytes()).any(|index| {
        split_tag(&shown[index + 1..])
            .is_some_and(|(tag, _)| shared().tags.beside_text.iter().any(|mark| tag.contains(mark.as_str())))
    });
    let text = if is_beside { String::new() } else { without_links_and_tags(shown, "") };
    prose.iter().any(|part| text.contains(part.as_str()))
}

/// Whether a line begins a table, a list, a heading or a rule.
fn begins_block(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    line.starts_with([':', ';', '*', '#', '=', '|', '!']) || line.starts_with("{|") || line.starts_with("----")
}

/// What a call leaves in the text until `join_lines`; `gap` is the placeholder of the template.
pub fn inline(shown: &str, gap: &str) -> String {
    let mut shown = Cow::Borrowed(shown);
    if shown.contains("display") {
        shown = strip_hidden(shown);
    }
    if has_sup(&shown) {
        shown = strip_remarks(shown);
    }
    let shown = shown.trim_matches('\n');
    if strip(shown).is_empty() || (has_sup(shown) && is_note(shown) && has_bracket(shown)) {
        return String::new();
    }
    if makes_block(shown) {
        return format!("{OPEN}{CLOSE}{gap}");
    }
    let mut left = String::with_capacity(shown.len() + 2);
    left.push(OPEN);
    left.extend(shown.split('\n').enumerate().flat_map(|(number, line)| [if number > 0 { " " } else { "" }, line]));
    left.push(CLOSE);
    left
}

/// Resolve what `inline` left, line by line; count what lines of nothing but templates show.
pub fn join_lines(text: String, dropped: &mut Counts) -> String {
    let mark = OPEN as u8;
    let Some(first) = memchr(mark, text.as_bytes()) else {
        return text;
    };
    let mut joined = String::with_capacity(text.len());
    // The text up to here is joined.
    let mut start = 0;
    let mut next = Some(first);
    while let Some(index) = next {
        let begin = memrchr(b'\n', &text.as_bytes()[start..index]).map_or(start, |newline| start + newline + 1);
        let end = memchr(b'\n', &text.as_bytes()[index..]).map_or(text.len(), |length| index + length);
        joined.push_str(&text[start..begin]);
        join_line(&text[begin..end], &mut joined, dropped);
        start = end;
        next = memchr(mark, &text.as_bytes()[end..]).map(|length| end + length);
    }
    joined.push_str(&text[start..]);
    joined
}

/// Write a line as it is without marks.
fn join_line(line: &str, joined: &mut String, dropped: &mut Counts) {
    let marks = marks(line);
    // Text and marks, alternately; text first and last.
    let end_of_text = |number: usize| marks.get(number).map_or(line.len(), |mark| mark.0);
    let start_of_text = |number: usize| if number == 0 { 0 } else { marks[number - 1].1 };
    let text = |number: usize| &line[start_of_text(number)..end_of_text(number)];
    let is_block = |number: usize| line[marks[number].0..].starts_with(BLOCK);
    if (0..=marks.len()).all(|number| text(number).chars().all(|char| matches!(char, ' ' | '\t' | SEAM | GAP | NAMED)))
    {
        let shown = (0..marks.len()).filter(|&number| !is_block(number));
        // Without OPEN and CLOSE.
        let characters: usize = shown.map(|number| length(&line[marks[number].0..marks[number].1]) - 2).sum();
        if characters > 0 {
            dropped.add(Name::TextNotices, characters as i64);
        }
        let links = links_in(line);
        if links > 0 {
            dropped.add(Name::SourceNotices, links);
        }
        return;
    }
    let (mut first, mut last) = (0, marks.len());
    while first < last && strip(text(first)).is_empty() && is_block(first) {
        first += 1;
    }
    while last > first && strip(text(last)).is_empty() && is_block(last - 1) {
        last -= 1;
    }
    joined.extend(line[start_of_text(first)..end_of_text(last)].split([OPEN, CLOSE]));
}

/// Where the marks of `inline` in a line begin and end.
fn marks(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut marks = Vec::new();
    let mut start = 0;
    while let Some(open) = memchr(OPEN as u8, &bytes[start..]).map(|length| start + length) {
        start = open + 1;
        if line[open..].starts_with(BLOCK) {
            let named = &line[open + BLOCK.len()..];
            start = line.len() - named.trim_start_matches(NAMED).len();
            marks.push((open, start));
        } else if let Some(end) = memchr2(OPEN as u8, CLOSE as u8, &bytes[start..]).map(|length| start + length) {
            start = end;
            if bytes[end] == CLOSE as u8 {
                start = end + 1;
                marks.push((open, start));
            }
        } else {
            break;
        }
    }
    marks
}

/// A character as Python's `re` compares it with ASCII letters when it ignores case.
fn folded(char: char) -> char {
    match char {
        'İ' | 'ı' => 'i',
        '\u{212a}' => 'k',
        'ſ' => 's',
        _ => char.to_ascii_lowercase(),
    }
}

fn is_name(text: &str, name: &str) -> bool {
    text.chars().map(folded).eq(name.chars())
}

fn is_one_of(text: &str, names: &[String]) -> bool {
    names.iter().any(|name| is_name(text, name))
}

/// The text behind a word in lower case, if the text begins with it in any case.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut chars = text.chars();
    word.chars().all(|expected| chars.next().map(folded) == Some(expected)).then_some(chars.as_str())
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    &text[..text.find(|char| !is_word(char)).unwrap_or(text.len())]
}

/// Split a text behind "<" at the end of the tag that it begins with; None if the tag is not closed.
fn split_tag(text: &str) -> Option<(&str, &str)> {
    let end = memchr2(b'<', b'>', text.as_bytes())?;
    (text.as_bytes()[end] == b'>').then(|| (&text[..end], &text[end + 1..]))
}

/// What follows a closing tag of one of the names, if the text begins with it.
fn after_closing<'a>(text: &'a str, names: &[impl AsRef<str>]) -> Option<&'a str> {
    let text = text.strip_prefix("</")?;
    names.iter().find_map(|name| lstrip(after(text, name.as_ref())?).strip_prefix('>'))
}

/// Whether there is a "<sup" in the text.
fn has_sup(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr_iter(b'<', bytes)
        .any(|index| bytes.get(index + 1..index + 4).is_some_and(|name| name.eq_ignore_ascii_case(b"sup")))
}

/// Remove elements with the style "display: none".
fn strip_hidden(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut shown = String::new();
    let (mut start, mut searched) = (0, 0);
    while let Some(index) = memchr(b'<', &text.as_bytes()[searched..]).map(|length| searched + length) {
        searched = index + 1;
        if let Some(rest) = after_hidden(&text[searched..]) {
            shown.push_str(&text[start..index]);
            start = text.len() - rest.len();
            searched = start;
        }
    }
    if start == 0 {
        return text;
    }
    shown.push_str(&text[start..]);
    Cow::Owned(shown)
}

/// What follows a hidden element, if the text behind a "<" begins with one.
fn after_hidden(text: &str) -> Option<&str> {
    let name = word(text);
    if !is_one_of(name, &shared().tags.hides) {
        return None;
    }
    let (attributes, rest) = split_tag(&text[name.len()..])?;
    let mut places = attributes.char_indices().filter(|&(_, char)| folded(char) == 'd');
    if !places.any(|(index, _)| hides(&attributes[index..]).is_some()) {
        return None;
    }
    let closing = &rest[memchr2(b'<', b'>', rest.as_bytes())?..];
    // The second name is compared by lower case, unlike the first.
    let mut chars = closing.strip_prefix("</")?.chars();
    let lower = |char: char| char.to_ascii_lowercase();
    if !name.chars().all(|expected| chars.next().map(lower) == Some(lower(expected))) {
        return None;
    }
    lstrip(chars.as_str()).strip_prefix('>')
}

fn hides(style: &str) -> Option<&str> {
    let value = lstrip(after(style, "display")?).strip_prefix(':')?;
    after(lstrip(value), "none")
}

/// Remove the remarks of editors from a text: "[citation needed]", raised.
fn strip_remarks(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut start = 0;
    let mut rest = &*text;
    while let Some(index) = find_sup(rest, false) {
        let Some((_, inside)) = split_tag(&rest[index + 1..]) else {
            rest = &rest[index + 1..];
            continue;
        };
        let Some(end) = find_sup(inside, true) else {
            break;
        };
        let Some(behind) = after_closing(&inside[end..], &["sup"]) else {
            rest = &inside[end..];
            continue;
        };
        if is_remark(&inside[..end]) {
            shown.push_str(&text[start..text.len() - rest.len() + index]);
            start = text.len() - behind.len();
        }
        rest = behind;
    }
    if start == 0 {
        return text;
    }
    shown.push_str(&text[start..]);
    Cow::Owned(shown)
}

/// Where the next tag "sup" begins, a closing one too if `closing`.
fn find_sup(text: &str, closing: bool) -> Option<usize> {
    memchr_iter(b'<', text.as_bytes()).find(|&index| {
        let name = &text[index + 1..];
        let name = if closing { name.strip_prefix('/').unwrap_or(name) } else { name };
        is_name(word(name), "sup")
    })
}

/// Whether raised text begins with a bracket, and has a word in it.
fn is_remark(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = lstrip(rest);
        if let Some(inside) = rest.strip_prefix('<') {
            match split_tag(inside) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        } else if let Some(behind) = rest.strip_prefix("''") {
            rest = behind;
        } else {
            break;
        }
    }
    let rest = match rest.strip_prefix('[') {
        Some(inside) if !inside.starts_with('[') => inside,
        _ => match ["&#91;", "&#x5b;"].iter().find_map(|sign| after(rest, sign)) {
            Some(inside) => inside,
            None => return false,
        },
    };
    let mut before = false;
    rest.chars().any(|char| {
        let is_letter = is_alnum(char) && !is_decimal(char);
        std::mem::replace(&mut before, is_letter) && is_letter
    })
}

/// Whether a text is all raised, tags around it aside.
fn is_note(text: &str) -> bool {
    let mut rest = text;
    let inside = loop {
        let Some(tag) = lstrip(rest).strip_prefix('<') else {
            return false;
        };
        let name = word(tag);
        let Some((_, behind)) = split_tag(&tag[name.len()..]) else {
            return false;
        };
        if is_name(name, "sup") {
            break behind;
        }
        if !is_one_of(name, &shared().tags.around_remark) {
            return false;
        }
        rest = behind;
    };
    // Nothing but closing tags may follow the last "</sup>".
    let mut end = inside.len();
    while let Some(index) = memrchr(b'<', &inside.as_bytes()[..end]) {
        end = index;
        if let Some(mut rest) = after_closing(&inside[index..], &["sup"]) {
            while let Some(behind) = after_closing(lstrip(rest), &shared().tags.around_remark) {
                rest = behind;
            }
            return strip(rest).is_empty();
        }
    }
    false
}

/// Whether a text has a bracket or a parenthesis outside of links, tags and named character references.
fn has_bracket(text: &str) -> bool {
    let text = without_links_and_tags(text, " ");
    let codes = ["&#91;", "&#x5b;", "&#40;", "&#x28;"];
    text.contains('(')
        || memchr_iter(b'[', text.as_bytes()).any(|index| !text[index + 1..].starts_with('['))
        || memchr_iter(b'&', text.as_bytes())
            .any(|index| codes.iter().any(|code| after(&text[index..], code).is_some()))
}

/// A text with something in the place of each link, tag and named character reference.
fn without_links_and_tags(text: &str, filler: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(index) = rest.find(['[', '<', '&']) {
        left.push_str(&rest[..index]);
        let sign = &rest[index..];
        let inside = &sign[1..];
        let behind = match sign.as_bytes()[0] {
            b'[' => after_link(sign),
            b'<' => split_tag(inside).map(|(_, behind)| behind),
            _ => Some(word(inside))
                .filter(|name| !name.is_empty())
                .and_then(|name| inside[name.len()..].strip_prefix(';')),
        };
        left.push_str(if behind.is_some() { filler } else { &sign[..1] });
        rest = behind.unwrap_or(inside);
    }
    left + rest
}

/// What follows a link, if the text begins with one.
pub(super) fn after_link(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("[[")?;
    inside[memchr2(b'[', b']', inside.as_bytes())?..].strip_prefix("]]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_lines() {
        let (notice, block) = (inline("A notice.", "\x01"), inline("{|\n|}", "\x01"));
        let mut dropped = Counts::default();
        assert_eq!(join_lines(format!("a\n{block}It is {notice}\nb"), &mut dropped), "a\nIt is A notice.\nb");
        assert_eq!(join_lines(format!("a {block} b"), &mut dropped), "a \x01 b");
        assert!(dropped.0.is_empty());
        assert_eq!(join_lines(format!("{notice} {block}"), &mut dropped), "");
        assert_eq!(dropped.get(Name::TextNotices), 9);
    }

    #[test]
    fn strips_what_is_not_shown() {
        assert_eq!(inline("a<span style=\"display:none\">b</span>c", ""), "\x02ac\x03");
        assert_eq!(inline("a<sup>[''citation needed'']</sup> <sup>2</sup>", ""), "\x02a <sup>2</sup>\x03");
        assert_eq!(inline("<small><sup>[[a]] (b)</sup></small>\n", ""), "");
        assert_eq!(inline("\na\nb\n", ""), "\x02a b\x03");
    }

    #[test]
    fn knows_blocks() {
        for block in ["{|", " * a", "a\n\nb", "a\n \nb", "<DIV>", "a\n----", "<blocK\u{212a}quote>x\n#", "<tr>"] {
            assert!(makes_block(block), "{block}");
        }
        for line in ["a", "a\nb", "<pre>", "<span>{|</span>", "a\n", "---"] {
            assert!(!makes_block(line), "{line}");
        }
    }
}
