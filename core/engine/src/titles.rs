//! Titles of pages and targets of links, by the rules of MediaWikiTitleCodec::splitTitleString: "new_York&nbsp;City#A"
//! leads to the section "A" of "New York City"; "a|b" is no target. A title has the form of `<title>` in a dump.

use crate::rules::Site;
use crate::shared::shared;
use crate::unicode;
use std::borrow::Cow;
use std::sync::LazyLock;

/// A title of so many characters is within the limit, because a character has at most four bytes.
#[inline]
fn plain_length() -> usize {
    shared().limits.name_bytes / 4
}

const FIRST_COMBINING_MARK: char = '\u{300}';

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    pub namespace: i32,
    /// With the name of the namespace; "" for a section of the same page.
    pub title: String,
    pub fragment: String,
    pub interwiki: String,
    pub colon: bool,
}

/// Whether MediaWiki reads a character as a blank in titles.
fn is_blank(char: char) -> bool {
    matches!(
        char,
        ' ' | '_' | '\u{a0}' | '\u{1680}' | '\u{180e}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Whether a character is a mark of direction, which titles lose.
fn is_bidi(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
}

/// Whether no title may contain a byte.
fn is_never(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | 0x7f | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'|')
}

// Classes of bytes in the target of a link.
/// ASCII that a normalised title of an article does not contain.
const SPECIAL: u8 = 1;
/// The space, of which it does not contain two in a row.
const SPACE: u8 = 1 << 1;
/// Not the first byte of a character.
const INNER: u8 = 1 << 2;
/// The first byte of a character that it may not contain, or that a normal form may change.
const UNSURE: u8 = 1 << 3;

static CLASSES: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let mut classes = [0; 256];
    for byte in (0..0x20).chain(*b"\x7f<>[]{}|_%&#:/~") {
        classes[usize::from(byte)] = SPECIAL;
    }
    classes[usize::from(b' ')] = SPACE;
    classes[0x80..0xc0].fill(INNER);
    classes[0xf0..].fill(UNSURE);
    for char in '\u{80}'..='\u{ffff}' {
        if is_foreign(char) || unicode::has(char, unicode::NEEDS_NFC) {
            classes[usize::from(char.encode_utf8(&mut [0; 4]).as_bytes()[0])] = UNSURE;
        }
    }
    classes
});

/// Whether no normalised title contains a character beyond ASCII.
fn is_foreign(char: char) -> bool {
    // Most scripts have no blanks of their own.
    char == '\u{a0}' || (char >= '\u{1680}' && (is_blank(char) || is_bidi(char) || char == '\u{fffd}'))
}

/// The normalised title of a page on this wiki.
pub fn normalise_title(raw: &str, site: &Site) -> Option<String> {
    if let Some(title) = plain_title(raw, site) {
        return Some(title.into_owned());
    }
    parse_not_plain(raw, site)
        .filter(|target| target.interwiki.is_empty())
        .map(|target| target.title)
        .filter(|title| !title.is_empty())
}

/// The title of an article if the target is normalised but for its first letter.
pub fn plain_title<'a>(raw: &'a str, site: &Site) -> Option<Cow<'a, str>> {
    let first = raw.chars().next()?;
    if raw.len() > 4 * plain_length() || first == ' ' || first == '.' || raw.ends_with(' ') {
        return None;
    }
    // The bytes of most titles tell enough.
    let table = &*CLASSES;
    let (mut length, mut before, mut classes) = (0, 0, 0);
    for &byte in raw.as_bytes() {
        let class = table[usize::from(byte)];
        if class & (SPECIAL | before) != 0 {
            return None;
        }
        before = class & SPACE;
        classes |= class;
        length += usize::from(class & INNER == 0);
    }
    if length > plain_length() {
        return None;
    }
    if classes & UNSURE != 0 {
        let mut needs_nfc = false;
        for char in raw.chars() {
            if is_foreign(char) {
                return None;
            }
            needs_nfc |= unicode::has(char, unicode::NEEDS_NFC);
        }
        if needs_nfc && !unicode::is_normalized(raw) {
            return None;
        }
    }
    let lower = unicode::is_lower(first) && !site.case_sensitive.contains(&0);
    Some(if lower { capitalised(raw, site) } else { Cow::Borrowed(raw) })
}

/// The target of a link; None if it is invalid.
pub fn parse_target(raw: &str, site: &Site) -> Option<LinkTarget> {
    let Some(title) = plain_title(raw, site) else { return parse_not_plain(raw, site) };
    let (fragment, interwiki) = (String::new(), String::new());
    Some(LinkTarget { namespace: 0, title: title.into_owned(), fragment, interwiki, colon: false })
}

/// `parse_target` where `plain_title` is None.
pub fn parse_not_plain(raw: &str, site: &Site) -> Option<LinkTarget> {
    let decoded = decoded(raw, site);
    let mut text: &str = &decoded;
    let mut colon = false;
    if let Some(rest) = text.strip_prefix(':') {
        colon = true;
        text = rest.trim_start_matches(' ');
    }
    if text.is_empty() {
        return None;
    }

    let mut namespace = 0;
    let mut interwiki = String::new();
    while let Some((prefix, rest)) = text.split_once(':') {
        let prefix = unicode::lower(prefix.trim_end_matches(' '));
        let rest = rest.trim_start_matches(' ');
        if let Some(&number) = site.namespaces.get(&prefix) {
            namespace = number;
            text = rest;
            if namespace == 1 && has_prefix(rest, site) {
                return None;
            }
        } else if site.local_interwiki.contains(&prefix) {
            if rest.is_empty() {
                // The main page; a dump does not contain its title.
                return None;
            }
            colon = true;
            text = rest;
            continue;
        } else if site.interwiki.contains(&prefix) {
            interwiki = prefix;
            text = rest.strip_prefix(':').unwrap_or(rest).trim_start_matches(' ');
        }
        break;
    }

    let (title, fragment) = text.split_once('#').unwrap_or((text, ""));
    let title = title.trim_end_matches(' ');
    if is_invalid(title) || is_relative(title) || title.starts_with(':') {
        return None;
    }
    let mut title = Cow::Borrowed(title);
    if interwiki.is_empty() {
        if title.is_empty() && namespace != 0 {
            return None;
        }
        let lower = title.chars().next().is_some_and(unicode::is_lower);
        if lower && !site.case_sensitive.contains(&namespace) {
            title = Cow::Owned(capitalised(&title, site).into_owned());
        }
    }
    if title.len() > shared().limits.name_bytes {
        return None;
    }
    let title = match site.namespace_names.get(&namespace) {
        Some(name) if namespace != 0 && interwiki.is_empty() => format!("{name}:{title}"),
        _ => title.into_owned(),
    };
    Some(LinkTarget { namespace, title, fragment: fragment.to_owned(), interwiki, colon })
}

/// `_search_invalid`.
fn is_invalid(title: &str) -> bool {
    let bytes = title.as_bytes();
    bytes.iter().enumerate().any(|(index, &byte)| match byte {
        b'#' => true,
        b'%' => bytes.get(index + 1..index + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        b'&' => reference_name(bytes, index + 1).is_some(),
        b'~' => bytes[index..].starts_with(b"~~~"),
        // U+FFFD
        0xef => bytes[index..].starts_with(b"\xef\xbf\xbd"),
        byte => is_never(byte),
    })
}

/// `_search_relative`, in a title without line feeds.
fn is_relative(title: &str) -> bool {
    title.contains('.') && title.split('/').any(|part| part == "." || part == "..")
}

/// The end of the name of a character reference, with its semicolon.
fn reference_name(bytes: &[u8], start: usize) -> Option<usize> {
    let length = bytes[start..].iter().position(|&byte| byte.is_ascii() && !byte.is_ascii_alphanumeric())?;
    (length > 0 && bytes[start + length] == b';').then_some(start + length + 1)
}

/// Decode percent-encoding and character references, and collapse white space; "" for an invalid target.
fn decoded<'a>(raw: &'a str, site: &Site) -> Cow<'a, str> {
    let mut text: Cow<'a, str> = Cow::Borrowed(raw);
    if raw.len() > shared().limits.title_raw && unicode::length(raw) > shared().limits.title_raw {
        return Cow::Borrowed("");
    }
    if raw.contains('%') {
        match String::from_utf8(unquoted(raw.as_bytes())) {
            Ok(unquoted) => text = Cow::Owned(unquoted),
            Err(_) => return Cow::Borrowed(""),
        }
    }
    if text.contains('&') {
        text = Cow::Owned(decode_references(&text, site));
    }
    if !text.is_ascii() {
        if text.contains('\u{fffd}') {
            return Cow::Borrowed("");
        }
        if text.contains(is_bidi) {
            text = Cow::Owned(text.replace(is_bidi, ""));
        }
        if !unicode::is_plainly_normalized(&text) {
            text = Cow::Owned(unicode::normalize(&text));
        }
    }
    join_spaces(text)
}

/// `urllib.parse.unquote_to_bytes`.
fn unquoted(bytes: &[u8]) -> Vec<u8> {
    let digit = |index: usize| (*bytes.get(index)? as char).to_digit(16);
    let mut result = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        match (bytes[index], digit(index + 1), digit(index + 2)) {
            (b'%', Some(high), Some(low)) => {
                result.push((16 * high + low) as u8);
                index += 3;
            }
            (byte, ..) => {
                result.push(byte);
                index += 1;
            }
        }
    }
    result
}

/// Decode character references; an invalid one becomes U+FFFD, which no title may contain.
fn decode_references(text: &str, site: &Site) -> String {
    let bytes = text.as_bytes();
    let mut result = String::with_capacity(text.len());
    let mut position = 0;
    while let Some(index) = text[position..].find('&').map(|index| position + index) {
        result += &text[position..index];
        position = index + 1;
        if let Some(end) = reference_name(bytes, position) {
            let name = &text[position..end];
            result += site.entities.get(name).map_or(&text[index..end], String::as_str);
            position = end;
        } else if let Some((char, end)) = numeric_reference(text, position) {
            result.push(char);
            position = end;
        } else {
            result.push('&');
        }
    }
    result += &text[position..];
    result
}

/// The character of `#...;`, and the end of it.
fn numeric_reference(text: &str, start: usize) -> Option<(char, usize)> {
    let digits = text[start..].strip_prefix('#')?;
    let (digits, radix) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let rest = digits.trim_start_matches(|char: char| char.is_digit(radix));
    let digits = &digits[..digits.len() - rest.len()];
    let end = text.len() - rest.strip_prefix(';')?.len();
    if digits.is_empty() {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let code = if digits.len() <= 7 { u32::from_str_radix(digits, radix).unwrap_or(0) } else { 0 };
    let is_character = matches!(code, 9 | 10 | 13 | 0x20..) && !matches!(code, 0xfffe | 0xffff);
    Some((char::from_u32(code).filter(|_| is_character).unwrap_or('\u{fffd}'), end))
}

/// Replace every run of blanks by one space, and drop those at the ends.
fn join_spaces(text: Cow<str>) -> Cow<str> {
    let mut before = ' ';
    let is_joined = text.chars().all(|char| {
        let joined = !is_blank(char) || char == ' ' && before != ' ';
        before = char;
        joined
    });
    if is_joined && !text.ends_with(' ') {
        return text;
    }
    let mut joined = String::with_capacity(text.len());
    for word in text.split(is_blank).filter(|word| !word.is_empty()) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined += word;
    }
    Cow::Owned(joined)
}

/// Whether a text begins with a namespace or interwiki prefix.
fn has_prefix(text: &str, site: &Site) -> bool {
    let Some((prefix, _)) = text.split_once(':') else { return false };
    let prefix = unicode::lower(prefix.trim_end_matches(' '));
    site.namespaces.contains_key(&prefix) || site.interwiki.contains(&prefix) || site.local_interwiki.contains(&prefix)
}

/// Capitalise the first letter of a title if the capital is one character.
fn capitalised<'a>(title: &'a str, site: &Site) -> Cow<'a, str> {
    let mut chars = title.chars();
    let Some(first) = chars.next() else { return Cow::Borrowed(title) };
    if title.is_ascii() && !(site.dotted_i && first == 'i') {
        let mut capital = String::with_capacity(title.len());
        capital.push(first.to_ascii_uppercase());
        return Cow::Owned(capital + chars.as_str());
    }
    let rest = chars.as_str();
    let mut capital = if site.dotted_i && first == 'i' { "İ".to_owned() } else { unicode::title(first) };
    if unicode::length(&capital) != 1 {
        return Cow::Borrowed(title);
    }
    capital += rest;
    // The capital and a combining mark may have a composed form where the small letter has none.
    let follows_mark = rest.chars().next().is_some_and(|char| char >= FIRST_COMBINING_MARK);
    Cow::Owned(if follows_mark { unicode::normalize(&capital) } else { capital })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            namespaces: [("category".to_owned(), 14), ("talk".to_owned(), 1)].into_iter().collect(),
            namespace_names: [(14, "Category".to_owned()), (1, "Talk".to_owned())].into_iter().collect(),
            interwiki: ["fr".to_owned()].into_iter().collect(),
            local_interwiki: ["en".to_owned()].into_iter().collect(),
            entities: [("nbsp;".to_owned(), "\u{a0}".to_owned())].into_iter().collect(),
            ..Site::default()
        }
    }

    #[test]
    fn titles_are_normalised() {
        let title = |raw: &str| normalise_title(raw, &site());
        assert_eq!(title("new_York&nbsp;City#History").as_deref(), Some("New York City"));
        assert_eq!(title("en:category:caf%C3%A9").as_deref(), Some("Category:Café"));
        for raw in ["fr:Paris", "a|b", "a/../b", "%E9", "#x", "", "_", "Talk:Category:x"] {
            assert_eq!(title(raw), None, "{raw}");
        }
    }

    #[test]
    fn a_colon_makes_a_category_an_ordinary_link() {
        let target = parse_target(":category:Birds_#A", &site());
        let (title, fragment) = ("Category:Birds".to_owned(), "A".to_owned());
        assert_eq!(target, Some(LinkTarget { namespace: 14, title, fragment, interwiki: String::new(), colon: true }));
    }
}
