//! Remove comments, extension tags and HTML tags: "a<ref>b</ref> <math>c</math> <b>d</b>" is "a \x01 d".
//!
//! Extension tags go first, as in MediaWiki's preprocessor, because their contents are not wikitext of the page. What
//! each tag leaves is said by `tags.json`; unknown tags are text.

use crate::counts::Counts;
use crate::shared::{shared, Extension, Html, Kept, Name, LONGEST_TAG};
use crate::unicode::{is_alpha, is_decimal, is_digit, is_space, lstrip};
use crate::wikitext::blanks::removed;
use crate::wikitext::breaks::{break_of, feeds_in, with_inserted, Breaks};
use crate::wikitext::characters::decode_entities;
use crate::wikitext::link_counts::links_in;
use crate::wikitext::placeholders::{protect, BREAK, HEADING, PREFORMATTED, SEAM};
use crate::wikitext::search::find_double;
use memchr::{memchr, memchr2, memmem, memrchr3};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Placeholders as texts.
const GAP_TEXT: &str = "\x01";
const SEAM_TEXT: &str = "\x05";
const BREAK_TEXT: &str = "\x1c";
/// Return whether a name in lower case is that of an HTML tag: "span" is, "spam" is not.
pub fn is_html_tag(name: &str) -> bool {
    shared().tags.html.contains_key(name)
}

/// An ASCII name in lower case, without memory of its own.
struct LowerName([u8; LONGEST_TAG], usize);

impl LowerName {
    /// A name that is too long becomes an empty one, which is no tag's either.
    fn new(name: &str) -> Self {
        let (mut bytes, length) = ([0; LONGEST_TAG], if name.len() > LONGEST_TAG { 0 } else { name.len() });
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        bytes.make_ascii_lowercase();
        LowerName(bytes, length)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0[..self.1]).unwrap_or("")
    }
}

/// Remove comments and extension tags; protect the contents of nowiki and pre.
///
/// Removed links are counted as "reference", "caption" (in a gallery) or "extension_tag". If `captions` is given, the
/// captions in galleries that contain links are appended, with their options, and not counted.
pub fn strip_extension_tags(
    text: String,
    entities: &FxHashMap<String, String>,
    dropped: &mut Counts,
    captions: Option<&mut Vec<String>>,
) -> String {
    if memchr(b'<', text.as_bytes()).is_none() {
        return text;
    }
    in_single_lines(without_extensions(text, entities, dropped, captions))
}

fn without_extensions(
    mut text: String,
    entities: &FxHashMap<String, String>,
    dropped: &mut Counts,
    mut captions: Option<&mut Vec<String>>,
) -> String {
    let (mut result, mut position, mut tag_end) = (String::new(), 0, 0);
    // The character before the tag.
    let mut before = None;
    let mut unclosed: FxHashSet<&'static str> = FxHashSet::default();
    let extensions = &shared().tags.extensions;
    let mut search = 0;
    while let Some((start, name_end)) = next_opening(&text, search) {
        let (mut start, mut end, mut shown) = (start, name_end, Cow::Borrowed(""));
        if text.as_bytes()[start + 1] == b'!' {
            (start, end) = comment(&text, start);
            count_links(&text[start..end], Name::SourceComment, dropped);
        } else {
            search = end;
            let lower = LowerName::new(&text[start + 1..end]);
            let Some((name, &kind)) = extensions.get_key_value(lower.as_str()) else { continue };
            // Many tags may share the next ">".
            if tag_end <= end {
                let Some(length) = memchr(b'>', &text.as_bytes()[end..]) else {
                    // No tag is closed from here on; an unclosed comment extends to the end.
                    let comment = memmem::find(&text.as_bytes()[end..], b"<!--").map_or(text.len(), |at| end + at);
                    result += &text[position..comment];
                    count_links(&text[comment..], Name::SourceComment, dropped);
                    return result;
                };
                tag_end = end + length + 1;
            }
            let content;
            if text[..tag_end].chars().nth_back(1) == Some('/') {
                (content, end) = ("", tag_end);
            } else if let Some((close, after)) =
                if unclosed.contains(name.as_str()) { None } else { closing(&text, tag_end, name) }
            {
                (content, end) = (&text[tag_end..close], after);
            } else {
                // MediaWiki shows an unclosed extension tag as text. Do not search for its end again.
                if kind == Extension::Pre && !unclosed.contains(name.as_str()) {
                    // From here on no line begins a list. The ">" may be at another offset now.
                    (text, tag_end) = (without_lists(&text, end), 0);
                }
                unclosed.insert(name);
                continue;
            }
            shown = if kind == Extension::Gallery && find_double(content.as_bytes(), b'[').is_some() {
                let content = without_captions(content, entities, dropped, captions.as_deref_mut());
                replacement(kind, &content, entities, dropped)
            } else {
                replacement(kind, content, entities, dropped)
            };
            if shown.is_empty() && kind != Extension::Hidden {
                // A link has no trail or prefix across a footnote, and a heading and a list begin and end beside none.
                let (adjacent, after) = (text[..start].chars().next_back(), text[end..].chars().next());
                let letters = adjacent.is_some_and(is_alpha) && after.is_some_and(is_alpha);
                if adjacent.is_none_or(|char| "]'\n=}".contains(char)) || after == Some('[') || letters {
                    shown = Cow::Borrowed(SEAM_TEXT);
                }
            }
        }
        if start > position {
            // Of several tags in a row, the character before the first.
            before = text[..start].chars().next_back();
        }
        result.reserve(text.len() - position);
        result += &text[position..start];
        let mark = if shown.is_empty() || shown == SEAM_TEXT { removed(before, &text[end..]) } else { "" };
        result += if mark.is_empty() { &shown } else { mark };
        (position, search) = (end, end);
    }
    if position == 0 {
        return text;
    }
    result += &text[position..];
    result
}

/// Return the start and end of the next `<!--` or of the next `<` with a name of ASCII letters, in `text[position..]`.
fn next_opening(text: &str, mut position: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    loop {
        let start = position + memchr(b'<', &bytes[position..])?;
        position = start + 1;
        if bytes[position..].starts_with(b"!--") {
            return Some((start, start + 4));
        }
        let end = position + bytes[position..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if end > position && ends_name(text, end) {
            return Some((start, end));
        }
    }
}

/// `(?=[\s/>])`
pub(super) fn ends_name(text: &str, position: usize) -> bool {
    text[position..].chars().next().is_some_and(|char| char == '>' || char == '/' || is_space(char))
}

/// `[^<>]*>`: return the offset after the tag.
pub(super) fn tag_end(text: &str, position: usize) -> Option<usize> {
    let end = position + memchr2(b'<', b'>', &text.as_bytes()[position..])?;
    (text.as_bytes()[end] == b'>').then_some(end + 1)
}

/// `(?i:name)`: return the offset after the name, which is in lower-case ASCII letters.
///
/// To Python's `re`, some letters outside of ASCII are equal to ASCII letters.
pub(super) fn name_end(text: &str, position: usize, name: &str) -> Option<usize> {
    let mut chars = text[position..].char_indices();
    for expected in name.bytes() {
        let folded = match chars.next()?.1 {
            'İ' | 'ı' => 'i',
            'ſ' => 's',
            '\u{212a}' => 'k',
            char => char.to_ascii_lowercase(),
        };
        if folded != expected as char {
            return None;
        }
    }
    Some(chars.next().map_or(text.len(), |(offset, _)| position + offset))
}

/// `\s*`: return the offset after white space.
pub(super) fn space_end(text: &str, position: usize) -> usize {
    text.len() - lstrip(&text[position..]).len()
}

/// Return the start and end of the first `</(?i:name)\s*>` from a position on.
fn closing(text: &str, position: usize, name: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    memmem::find_iter(&bytes[position..], b"</").find_map(|offset| {
        let start = position + offset;
        let end = space_end(text, name_end(text, start + 2, name)?);
        (bytes.get(end) == Some(&b'>')).then_some((start, end + 1))
    })
}

/// Return the start and end of a comment; of its whole line if nothing else is on it, as in MediaWiki.
fn comment(text: &str, start: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let end = memmem::find(&bytes[start + 4..], b"-->").map_or(text.len(), |length| start + 4 + length + 3);
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let line_start = start - bytes[..start].iter().rev().take_while(is_blank).count();
    let line_end = end + bytes[end..].iter().take_while(is_blank).count();
    let alone = line_start > 0 && bytes[line_start - 1] == b'\n' && bytes.get(line_end) == Some(&b'\n');
    if alone {
        (line_start, line_end + 1)
    } else {
        (start, end)
    }
}

/// Put a seam before each mark of a list at the beginning of a line, from an offset on.
fn without_lists(text: &str, start: usize) -> String {
    let bytes = text.as_bytes();
    let mut result = String::with_capacity(text.len() + text.len() / 16);
    let mut position = 0;
    for line_feed in memchr::memchr_iter(b'\n', &bytes[start..]).map(|offset| start + offset) {
        if matches!(bytes.get(line_feed + 1), Some(b'*' | b'#' | b':' | b';')) {
            result += &text[position..line_feed + 1];
            result.push(SEAM);
            position = line_feed + 1;
        }
    }
    result + &text[position..]
}

/// Return what replaces an extension tag; count the links in it.
fn replacement(
    kind: Extension,
    content: &str,
    entities: &FxHashMap<String, String>,
    dropped: &mut Counts,
) -> Cow<'static, str> {
    match kind {
        Extension::Nowiki => {
            count_links(content, Name::SourceNowiki, dropped);
            let shown = protect(&decode_entities(content.replace('\n', BREAK_TEXT), entities));
            // Parser functions do not trim blanks that are protected.
            return Cow::Owned(if shown.is_empty() || shown.starts_with(' ') || shown.ends_with(' ') {
                format!("{SEAM}{shown}{SEAM}")
            } else {
                shown
            });
        }
        Extension::Pre => {
            count_links(content, Name::SourceNowiki, dropped);
            let content = decode_entities(without_nowiki(content), entities);
            let mut result = String::from(BREAK);
            for line in content.trim_matches('\n').split('\n') {
                result.push(PREFORMATTED);
                result += &protect(line);
                result.push(BREAK);
            }
            return Cow::Owned(result);
        }
        Extension::Reference | Extension::References => count_links(content, Name::Reference, dropped),
        _ => count_links(content, Name::ExtensionTag, dropped),
    }
    Cow::Borrowed(match kind {
        Extension::Gap => GAP_TEXT,
        Extension::Break | Extension::Gallery | Extension::References => BREAK_TEXT,
        _ => "",
    })
}

fn count_links(text: &str, bucket: Name, dropped: &mut Counts) {
    match links_in(text) {
        0 => {}
        links => dropped.add(bucket, links),
    }
}

/// Return the lines of a gallery without links in a caption; count the links of the others.
fn without_captions(
    gallery: &str,
    entities: &FxHashMap<String, String>,
    dropped: &mut Counts,
    mut captions: Option<&mut Vec<String>>,
) -> String {
    // No gallery is closed in it, so it is searched for galleries once at most.
    let gallery = strip_extension_tags(gallery.to_owned(), entities, dropped, None);
    let mut others: Vec<&str> = Vec::new();
    for line in gallery.split('\n') {
        match line.split_once('|') {
            Some((name, caption)) if caption.contains("[[") && !name.contains("[[") => match captions.as_deref_mut() {
                Some(captions) => captions.push(caption.to_owned()),
                None => count_links(caption, Name::Caption, dropped),
            },
            _ => others.push(line),
        }
    }
    others.join("\n")
}

/// Replace `<nowiki>`, `</nowiki>` and what is between by what is between: within <pre> these tags are not shown.
fn without_nowiki(content: &str) -> String {
    let (mut result, mut position, mut search) = (String::with_capacity(content.len()), 0, 0);
    while let Some(offset) = memmem::find(&content.as_bytes()[search..], b"<") {
        let start = search + offset;
        search = start + 1;
        let Some(end) = nowiki_end(content, search) else { continue };
        let mut tags = memmem::find_iter(&content.as_bytes()[end..], b"</").map(|offset| end + offset);
        let close = tags.find_map(|close| Some((close, nowiki_end(content, close + 2)?)));
        let Some((close, after)) = close else { break };
        result += &content[position..start];
        result += &content[end..close];
        (position, search) = (after, after);
    }
    result += &content[position..];
    result
}

fn nowiki_end(content: &str, position: usize) -> Option<usize> {
    let end = name_end(content, position, "nowiki")?;
    (content.as_bytes().get(end) == Some(&b'>')).then_some(end + 1)
}

/// Write each HTML tag in one line, because to MediaWiki the line goes on after it; and remove the tags that are kept
/// with what is in them.
fn in_single_lines(text: String) -> String {
    let (mut result, mut position) = (String::new(), 0);
    for start in memchr::memchr_iter(b'<', text.as_bytes()) {
        if let Some((end, shown)) = tag_in_line(&text, start) {
            result += &text[position..start];
            result += &shown;
            position = end;
        }
    }
    if position == 0 {
        return text;
    }
    result += &text[position..];
    result
}

/// Return the end of a tag and what replaces it, if it is an HTML tag of several lines or a tag that is kept.
fn tag_in_line(text: &str, start: usize) -> Option<(usize, Cow<'static, str>)> {
    let bytes = text.as_bytes();
    let name_start = start + 1 + usize::from(bytes.get(start + 1) == Some(&b'/'));
    for (name, _) in &shared().tags.kept {
        let Some(end) = name_end(text, name_start, name) else { continue };
        if ends_name(text, end) {
            let end = tag_end(text, end)?;
            return Some((end, Cow::Borrowed(if breaks(&bytes[start..end]) { "\n" } else { "" })));
        }
    }
    let name = html_name(&text[name_start..])?;
    if !matches!(bytes.get(name_start + name.len()), Some(b'\n' | b' ' | b'\t' | b'/')) {
        return None;
    }
    let end = tag_end(text, name_start + name.len())?;
    let tag = &text[start..end];
    if !tag.contains('\n') || !is_html_tag(LowerName::new(name).as_str()) {
        return None;
    }
    Some((end, Cow::Owned(tag.replace('\n', " "))))
}

/// Return whether the name of a tag that breaks the line stands anywhere in a tag of which the contents are kept.
fn breaks(tag: &[u8]) -> bool {
    let mut names = shared().tags.kept.iter().filter(|(_, kind)| *kind == Kept::Break);
    names.any(|(name, _)| tag.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes())))
}

/// `[a-zA-Z][a-zA-Z0-9]*`
fn html_name(text: &str) -> Option<&str> {
    let length = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    text.bytes().next()?.is_ascii_alphabetic().then_some(&text[..length])
}

/// Return whether a text ends within the target of a link.
fn is_target(text: &str) -> bool {
    let mut end = text.len();
    while let Some(last) = memrchr3(b'[', b']', b'|', &text.as_bytes()[..end]) {
        if text.as_bytes()[last] != b'[' {
            return false;
        }
        if text[..last].ends_with('[') {
            return true;
        }
        end = last;
    }
    false
}

/// Replace block tags by line feeds and remove inline tags; unknown tags stay, as in MediaWiki.
///
/// `breaks` are those of the text, to which the line feeds that replace tags are added.
pub fn strip_html_tags(text: String, breaks: Option<&mut Breaks>) -> String {
    let Some(first) = memchr(b'<', text.as_bytes()) else { return text };
    let mut result = String::with_capacity(text.len());
    result += &text[..first];
    let mut before = &text[..first];
    let mut opened: FxHashMap<&'static str, u32> = FxHashMap::default();
    let mut rest_of_text = &text[first + 1..];
    let mut feeds = if breaks.is_some() { feeds_in(before) } else { 0 };
    let mut inserted = Breaks::new();
    loop {
        let next = memchr(b'<', rest_of_text.as_bytes());
        let part = &rest_of_text[..next.unwrap_or(rest_of_text.len())];
        match html_tag(part) {
            None => {
                result.push('<');
                result += part;
                feeds += if breaks.is_some() { feeds_in(part) } else { 0 };
                before = part;
            }
            Some((tag, end)) => {
                let rest = &part[end..];
                let shown = tag.shown(before, rest, &mut opened);
                let raised = if shown == GAP_TEXT { tag.raised(rest) } else { None };
                let shown = if raised.is_some() { seam_between(before, rest) } else { shown };
                result += shown;
                match raised {
                    Some(raised) => result += &raised,
                    None => tag.push_rest(rest, &mut result),
                }
                if breaks.is_some() {
                    if shown.starts_with('\n') {
                        inserted.push((feeds, break_of(tag.name, tag.is_closing)));
                        feeds += 1;
                    }
                    feeds += feeds_in(rest);
                }
                if !rest.is_empty() {
                    before = rest;
                } else if !shown.is_empty() {
                    before = shown;
                } else {
                    before = &before[before.char_indices().next_back().map_or(0, |(offset, _)| offset)..];
                }
            }
        }
        match next {
            Some(next) => rest_of_text = &rest_of_text[next + 1..],
            None => break,
        }
    }
    if let Some(breaks) = breaks {
        *breaks = with_inserted(breaks, &inserted);
    }
    result
}

struct HtmlTag {
    is_closing: bool,
    name: &'static str,
    kind: Html,
}

/// Return an HTML tag and its end; its `<` is before the text.
fn html_tag(text: &str) -> Option<(HtmlTag, usize)> {
    let is_closing = text.starts_with('/');
    let start = usize::from(is_closing);
    let name = html_name(&text[start..])?;
    let name_end = start + name.len();
    let (name, &kind) = shared().tags.html.get_key_value(LowerName::new(name).as_str())?;
    if !ends_name(text, name_end) {
        return None;
    }
    let end = name_end + memchr(b'>', &text.as_bytes()[name_end..])? + 1;
    Some((HtmlTag { is_closing, name, kind }, end))
}

impl HtmlTag {
    /// Append what follows the tag; if that begins a heading, its first line with text is marked, since the tag may stand
    /// on a line before it.
    fn push_rest(&self, rest: &str, result: &mut String) {
        let mut text = rest;
        if self.kind == Html::Heading && !self.is_closing {
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
            let start = rest[..blank].rfind('\n').map_or(0, |feed| feed + 1);
            *result += &rest[..start];
            text = &rest[start..];
            let level = self.name.bytes().next_back().unwrap_or(b'0').wrapping_sub(b'0');
            result.extend(std::iter::repeat_n(HEADING, level.into()));
        }
        *result += text;
    }

    /// Return the digits and signs of a raised or lowered number in their form; None for another text.
    fn raised(&self, rest: &str) -> Option<String> {
        let forms = shared().tags.raised.get(self.name)?;
        let form = |char| shared().tags.raised_signs.chars().zip(forms.chars()).find(|(sign, _)| *sign == char);
        let raised: Option<String> = rest.chars().map(|char| form(char).map(|(_, form)| form)).collect();
        raised.filter(|raised| !raised.is_empty())
    }

    /// Return what replaces the tag between two texts; `opened` counts the block tags that are open.
    fn shown(&self, before: &str, rest: &str, opened: &mut FxHashMap<&'static str, u32>) -> &'static str {
        // A line feed, and `LIST` after it.
        const ITEM: &str = "\n\x03";
        if self.kind.is_block() {
            // A browser breaks the line at </br> and </p> too.
            if self.kind == Html::Break {
                return "\n";
            }
            if !self.is_closing {
                *opened.entry(self.name).or_default() += 1;
                return if self.kind == Html::Item { ITEM } else { "\n" };
            }
            if let Some(number) = opened.get_mut(self.name).filter(|number| **number > 0) {
                *number -= 1;
                return "\n";
            }
            // Without its opening tag, it shows nothing.
        } else if !self.is_closing
            && self.kind == Html::Raised
            && before.chars().next_back().is_some_and(is_digit)
            && rest.chars().next().is_some_and(|char| is_decimal(char) || matches!(char, '−' | '+' | '-'))
        {
            // 10<sup>6</sup> would read 106.
            return GAP_TEXT;
        }
        seam_between(before, rest)
    }
}

/// Return SEAM where a link would reach across a tag that shows nothing, "" elsewhere.
fn seam_between(before: &str, rest: &str) -> &'static str {
    let last = before.chars().next_back();
    let first = rest.chars().next();
    if is_target(before) {
        // No target of a link contains a tag.
        SEAM_TEXT
    } else if last.is_some_and(|char| is_alpha(char) || char == ']')
        && first.is_some_and(|char| is_alpha(char) || char == '[')
    {
        // A link has no trail or prefix across a tag.
        SEAM_TEXT
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> (String, i64) {
        let mut dropped = Counts::default();
        let text = strip_extension_tags(text.to_owned(), &FxHashMap::default(), &mut dropped, None);
        (text, dropped.get(Name::Reference))
    }

    #[test]
    fn extension_tags_leave_what_they_show() {
        assert_eq!(stripped("a<ref name=\"b/c\">[[d]]</REF > <math>e</math>"), ("a \x01".to_owned(), 1));
        assert_eq!(stripped("a\n <!-- b --> \nc<ref/>d<nowiki/>"), ("a\nc\x05d\x05\x05".to_owned(), 0));
        assert_eq!(stripped("<poem>a</poem><ref>b").0, "\na\n<ref>b");
    }

    #[test]
    fn an_offset_that_became_stale_stays_in_code_points() {
        assert_eq!(stripped("<pre\n*é><ref\n#é\n>[[a]]</ref>").0, "<pre \x05*é>");
        assert_eq!(stripped("<pre\n*é<ref\n*é>b</ref>").0, "<pre\n\x05*é");
    }

    #[test]
    fn a_tag_over_lines_is_written_in_one() {
        assert_eq!(stripped("<span\nclass=a\n>b<x\n>").0, "<span class=a >b<x\n>");
    }

    #[test]
    fn block_tags_end_the_line() {
        let text = "a <b>bold</b> 10<sup>6</sup>x<li>y</li></ul><h2>z</h2><unknown>";
        assert_eq!(strip_html_tags(text.to_owned(), None), "a bold 10⁶x\n\x03y\n\n\x02\x02z\n<unknown>");
    }
}
