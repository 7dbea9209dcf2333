//! Line feeds that replace tags and images, which tell where paragraphs and quotations end: that of `<br>` ends none, that of
//! `<div>` a paragraph.

use crate::shared::{shared, LineFeed};
use crate::wikitext::placeholders::{BREAK, LIST};
use memchr::{memchr2_iter, memchr_iter};

/// What a line feed that replaces a tag or an image does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The paragraph goes on.
    Soft,
    Hard,
    Quote,
    Unquote,
    /// A line feed of the wikitext, before a list item of a depth.
    Item(usize),
}

/// For each line feed that replaces a tag or an image, in order: the number of line feeds before it, and what it does.
pub type Breaks = Vec<(usize, Break)>;

/// Return what the line feed of a tag does, whose name is in lower case.
pub fn break_of(name: &str, is_closing: bool) -> Break {
    match shared().tags.line_feeds.get(name) {
        Some(LineFeed::Quotation) if is_closing => Break::Unquote,
        Some(LineFeed::Quotation) => Break::Quote,
        Some(LineFeed::Soft) => Break::Soft,
        None => Break::Hard,
    }
}

pub fn feeds_in(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count()
}

/// Return the breaks of a text in which BREAK is to become a line feed: images and others that stand beside the text end
/// its paragraph; and the depths of list items, which have LIST once for each.
pub fn breaks_of_lines(text: &str) -> Breaks {
    let bytes = text.as_bytes();
    let kind = |at: usize| match (bytes[at], bytes[at + 1..].iter().take_while(|&&byte| byte == LIST as u8).count()) {
        (b'\n', 0) => None,
        (b'\n', depth) => Some(Break::Item(depth)),
        _ => Some(Break::Hard),
    };
    let marks = memchr2_iter(b'\n', BREAK as u8, bytes).enumerate();
    marks.filter_map(|(number, at)| Some((number, kind(at)?))).collect()
}

/// Return all breaks of a text into which line feeds were inserted, which are given by their numbers in the text after.
pub fn with_inserted(breaks: &Breaks, inserted: &Breaks) -> Breaks {
    let mut merged = Breaks::with_capacity(breaks.len() + inserted.len());
    let mut number = 0;
    for &(feed, kind) in breaks {
        while let Some(&next) = inserted.get(number).filter(|next| next.0 - number <= feed) {
            merged.push(next);
            number += 1;
        }
        merged.push((feed + number, kind));
    }
    merged.extend(&inserted[number..]);
    merged
}

/// Return the breaks of a text of which line feeds were removed: at ascending offsets of `text`, so many each.
pub fn without_removed(breaks: &Breaks, removed: &[(usize, usize)], text: &str) -> Breaks {
    let mut kept = Breaks::new();
    let (mut before, mut feeds, mut at, mut number) = (0, 0, 0, 0);
    for &(offset, count) in removed {
        feeds += feeds_in(&text[at..offset]);
        at = offset;
        let first = feeds + before;
        while let Some(&(feed, kind)) = breaks.get(number).filter(|(feed, _)| *feed < first + count) {
            if feed < first {
                kept.push((feed - before, kind));
            }
            number += 1;
        }
        before += count;
    }
    kept.extend(breaks[number..].iter().map(|&(feed, kind)| (feed.saturating_sub(before), kind)));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_are_those_of_the_text_that_is_left() {
        let breaks = vec![(0, Break::Soft), (1, Break::Hard), (2, Break::Quote), (4, Break::Unquote)];
        let left = vec![(0, Break::Soft), (1, Break::Quote), (2, Break::Unquote)];
        assert_eq!(without_removed(&breaks, &[(3, 1), (5, 1)], "a\nbc\nd\ne"), left);
    }
}
