//! One page of an export, at its newest revision: the bytes from `<page>` to `</page>`, read by byte search.
//!
//! `<page><title>A &amp; B</title><ns>0</ns><id>1</id><revision><text>C</text></revision></page>` is the page "A & B"
//! with the text "C". Control characters are left out, since the engine uses them as placeholders.

use std::borrow::Cow;

use memchr::memmem;

pub struct Page {
    pub title: String,
    /// None in exports before 0.5.
    pub namespace: Option<i64>,
    pub page_id: i64,
    pub rev_id: i64,
    pub timestamp: String,
    pub redirect: Option<String>,
    pub model: String,
    pub text: String,
}

/// Parse the bytes from <page> to </page>. None for a page that Python refuses: its message names the fault.
pub fn parse_page(raw: &[u8]) -> Option<Page> {
    let revision = memmem::find(raw, b"<revision>");
    let head = &raw[..revision.unwrap_or(raw.len())];
    let title = between(head, b"<title>", b"</title>").filter(|title| !title.is_empty())?;
    let page_id = number(between(head, b"<id>", b"</id>")?)?;
    let redirect = match memmem::find(head, b"<redirect") {
        Some(begin) => {
            // Without its end, the tag is all but the last byte.
            let end = memmem::find(&raw[begin..], b">").map_or(raw.len() - 1, |end| begin + end);
            Some(decode(between(&raw[begin..end.max(begin)], b"title=\"", b"\"").unwrap_or(b""))?)
        }
        None => None,
    };
    if revision.is_none() && memmem::find(raw, b"</revision>").is_some() {
        return None;
    }
    let newest = newest_revision(raw, revision);
    let namespace = match between(&raw[..raw.len().min(NAMESPACE_WITHIN)], b"<ns>", b"</ns>") {
        Some(value) => Some(number(value)?),
        None => None,
    };
    Some(Page {
        title: decode(title)?,
        namespace,
        page_id,
        rev_id: between(newest, b"<id>", b"</id>").and_then(number).unwrap_or(0),
        timestamp: ascii(between(newest, b"<timestamp>", b"</timestamp>").unwrap_or(b"")),
        redirect,
        model: match between(newest, b"<model>", b"</model>") {
            Some(model) if !model.is_empty() => ascii(model),
            _ => "wikitext".to_owned(),
        },
        text: decode(text_of(newest)?)?,
    })
}

/// The namespace of a page; None where it is not named, or is no number.
pub fn namespace_of(raw: &[u8]) -> Option<i64> {
    between(&raw[..raw.len().min(NAMESPACE_WITHIN)], b"<ns>", b"</ns>").and_then(number)
}

/// Where the next page begins and ends, if it is whole. None where another tag comes before it or in it.
pub fn next_page(data: &[u8]) -> Option<(usize, usize)> {
    let begin = memmem::find(data, OPEN)?;
    let content = begin + OPEN.len();
    let end = content + memmem::find(&data[content..], CLOSE)?;
    let is_sound = memmem::find(&data[..begin], CLOSE).is_none() && memmem::find(&data[content..end], OPEN).is_none();
    is_sound.then_some((begin, end + CLOSE.len()))
}

/// Where a page ends that some bytes have after an offset; the end of the bytes if none does.
pub fn page_end(data: &[u8], begin: usize) -> usize {
    memmem::find(&data[begin..], CLOSE).map_or(data.len(), |end| begin + end + CLOSE.len())
}

/// How many pages at the beginning of some bytes are of none of these namespaces, and where they end.
pub fn skip_pages(data: &[u8], namespaces: &[i64]) -> (usize, usize) {
    let (mut pages, mut end) = (0, 0);
    while let Some((start, stop)) = next_page(&data[end..]) {
        let namespace = namespace_of(&data[end + start..end + stop]);
        if namespace.is_none_or(|namespace| namespaces.contains(&namespace)) {
            break;
        }
        pages += 1;
        end += stop;
    }
    (pages, end)
}

const OPEN: &[u8] = b"<page>";
const CLOSE: &[u8] = b"</page>";
const NAMESPACE_WITHIN: usize = 2000;

fn between<'a>(raw: &'a [u8], opening: &[u8], closing: &[u8]) -> Option<&'a [u8]> {
    let rest = &raw[memmem::find(raw, opening)? + opening.len()..];
    Some(&rest[..memmem::find(rest, closing)?])
}

/// A number of at most 18 digits; None for another text.
fn number(raw: &[u8]) -> Option<i64> {
    let digits = raw.strip_prefix(b"-").unwrap_or(raw);
    let is_number = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    if is_number {
        std::str::from_utf8(raw).ok()?.parse().ok()
    } else {
        None
    }
}

/// `bytes.decode("ascii", "replace")`.
fn ascii(raw: &[u8]) -> String {
    raw.iter().map(|&byte| if byte.is_ascii() { byte as char } else { '\u{fffd}' }).collect()
}

/// Decode UTF-8 without control characters, and undo XML escaping once; None if it is no UTF-8.
fn decode(raw: &[u8]) -> Option<String> {
    let is_control = |&byte: &u8| byte < 32 && byte != b'\t' && byte != b'\n';
    // All bytes of a piece at once, which compilers turn into instructions for many bytes.
    let has_control = raw.chunks(64).any(|piece| piece.iter().fold(false, |found, byte| found | is_control(byte)));
    let kept: Cow<[u8]> =
        if has_control { raw.iter().copied().filter(|byte| !is_control(byte)).collect() } else { Cow::Borrowed(raw) };
    Some(unescape(simdutf8::basic::from_utf8(&kept).ok()?))
}

fn newest_revision(raw: &[u8], first: Option<usize>) -> &[u8] {
    let Some(first) = first else { return &[] };
    let (mut best, mut chosen): ((&[u8], i64), &[u8]) = ((b"", -1), &raw[first..]);
    let mut start = Some(first);
    while let Some(begin) = start {
        let end = memmem::find(&raw[begin..], b"</revision>").map_or(raw.len(), |end| begin + end);
        let following = memmem::find(&raw[end..], b"<revision>").map(|next| end + next);
        let revision = &raw[begin..end];
        if following.is_none() && begin == first {
            return revision;
        }
        let rank = (
            between(revision, b"<timestamp>", b"</timestamp>").unwrap_or(b""),
            between(revision, b"<id>", b"</id>").and_then(number).unwrap_or(0),
        );
        if rank >= best {
            (best, chosen) = (rank, revision);
        }
        start = following;
    }
    chosen
}

/// The escaped text of a revision; None if one of its tags is missing.
fn text_of(revision: &[u8]) -> Option<&[u8]> {
    let Some(begin) = memmem::find(revision, b"<text") else {
        return memmem::find(revision, b"</text>").is_none().then_some(b"");
    };
    let content = begin + memchr::memchr(b'>', &revision[begin..])? + 1;
    if revision[..content].ends_with(b"/>") {
        return Some(b"");
    }
    Some(&revision[content..content + memmem::find(&revision[content..], b"</text>")?])
}

/// Undo XML escaping once.
pub fn unescape(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = memchr::memchr(b'&', rest.as_bytes()) {
        result += &rest[..start];
        rest = &rest[start + 1..];
        // A quick test first, because most references are these two.
        if let Some((shown, after)) =
            [('<', "lt;"), ('>', "gt;")].iter().find_map(|(shown, name)| Some((*shown, rest.strip_prefix(name)?)))
        {
            result.push(shown);
            rest = after;
            continue;
        }
        // Up to the next "&" alone: what follows it is another reference.
        let name = match memchr::memchr2(b'&', b';', rest.as_bytes()) {
            Some(end) if rest.as_bytes()[end] == b';' => &rest[..end],
            Some(end) => &rest[..end],
            None => rest,
        };
        let has_end = rest[name.len()..].starts_with(';');
        let shown = match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "amp" => Some('&'),
            _ if has_end => character(name),
            _ => None,
        };
        match shown {
            Some(shown) => {
                result.push(shown);
                rest = &rest[name.len() + usize::from(has_end)..];
            }
            None => result.push('&'),
        }
    }
    result + rest
}

/// The character of a numeric reference, such as "#x41"; None for another text.
fn character(name: &str) -> Option<char> {
    let digits = name.strip_prefix('#')?;
    let (digits, radix, longest) = match digits.strip_prefix('x') {
        Some(hexadecimal) => (hexadecimal, 16, 6),
        None => (digits, 10, 7),
    };
    if !(1..=longest).contains(&digits.len()) || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let code = u32::from_str_radix(digits, radix).ok()?;
    let is_shown = code >= 32 || code == 9 || code == 10;
    Some(char::from_u32(code).filter(|_| is_shown).unwrap_or('\u{fffd}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once() {
        assert_eq!(unescape("a &lt;br> b&amp;nbsp;c &#233; &#x0; &x; &lt &"), "a <br> b&nbsp;c é \u{fffd} &x; &lt &");
    }

    #[test]
    fn whole_pages_are_cut() {
        assert_eq!(next_page(b" <page>A</page> <page>"), Some((1, 15)));
        for other in ["", "<page>A", "<page>A<page>B</page>", "</page><page>A</page>"] {
            assert_eq!(next_page(other.as_bytes()), None);
        }
        assert_eq!((page_end(b"a</page>b", 1), page_end(b"a</page>b", 3)), (8, 9));
        assert_eq!(namespace_of(b"<page><ns>-1</ns></page>"), Some(-1));
        assert_eq!(namespace_of(b"<page><ns>x</ns></page>"), None);
        assert_eq!(skip_pages(b"<page><ns>1</ns></page><page><ns>10</ns></page>", &[10]), (1, 23));
    }

    #[test]
    fn the_newest_revision_is_read() {
        let raw = "<page><title>A&amp;B</title><ns>0</ns><id>7</id>\
            <revision><id>2</id><timestamp>2020</timestamp><text bytes=\"1\">new</text></revision>\
            <revision><id>1</id><timestamp>2019</timestamp><text>old</text></revision></page>";
        let page = parse_page(raw.as_bytes()).unwrap();
        assert_eq!((page.title.as_str(), page.page_id, page.rev_id, page.text.as_str()), ("A&B", 7, 2, "new"));
        assert!(parse_page(b"<page><title>A</title></page>").is_none());
        assert!(parse_page(raw.replace("<revision>", "<revision*").as_bytes()).is_none());
        assert!(parse_page(raw.replace("<text", "<tex").as_bytes()).is_none());
    }
}
