//! Split a page in stretches of a megabyte, at ends of lines: all pieces of a hostile page at once would take thirty
//! times its memory.

use super::search::find_double;
use memchr::memchr;

/// In code points.
const STRETCH: usize = 1 << 20;

/// Yield a text in stretches of whole lines; joined by line feeds they are the text.
pub fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let end = after_stretch(current).and_then(|start| Some(start + memchr(b'\n', &current.as_bytes()[start..])?));
        rest = end.map(|end| &current[end + 1..]);
        Some(end.map_or(current, |end| &current[..end]))
    })
}

/// Yield the items of `text.split(mark)` for a mark that is one ASCII character twice.
pub fn pieces_between(text: &str, mark: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    // All stretches together are split as the text, so no stretch is needed where pieces are read one by one.
    std::iter::from_fn(move || {
        let current = rest?;
        let end = find_double(current.as_bytes(), mark);
        rest = end.map(|end| &current[end + 2..]);
        Some(end.map_or(current, |end| &current[..end]))
    })
}

/// Return the byte offset of the code point `STRETCH`; `None` if there are no more code points than that.
fn after_stretch(text: &str) -> Option<usize> {
    let (mut start, mut left) = (0, STRETCH);
    while left > 0 {
        if text.len() - start <= left {
            return None;
        }
        let mut end = start + left;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end == start {
            // The next code point has more bytes than are left.
            end += text[start..].chars().next().map_or(1, char::len_utf8);
        }
        left -= text[start..end].chars().count();
        start = end;
    }
    (start < text.len()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_ends_at_the_first_line_feed_after_a_million_characters() {
        let line = "é".repeat(STRETCH);
        let text = format!("{line}\n{line}b\nc");
        assert_eq!(stretches(&text).map(str::len).collect::<Vec<_>>(), [2 * STRETCH, 2 * STRETCH + 1, 1]);
        assert_eq!(pieces_between("a[[b[[[c", b'[').collect::<Vec<_>>(), ["a", "b", "[c"]);
    }
}
