//! Recognise list items that are references to works and no prose: "Meillet, A. (1913). Aperçu d'une histoire."

use crate::unicode::{is_alpha, is_lower, is_upper};
use memchr::memmem::Finder;

/// Characters; a longer item holds prose too.
const LONGEST: usize = 600;
/// What may stand behind the last number, and between pages. A year in round brackets is that of an event too.
const CLOSERS: [char; 7] = [' ', '.', ';', ']', '"', '”', '»'];
const DASHES: [char; 3] = ['-', '–', '—'];
const LETTERS_BEFORE_PAGES: usize = 4;
/// Characters before the year of an item that begins with an author.
const LONGEST_AUTHORS: usize = 80;
const FIRST_YEAR: u32 = 1500;
const LAST_YEAR: u32 = 2099;
/// As these, with a year before or somewhere: "Kyiv, 1995. — 816 p.", "Title // Journal. — 1962."
const DASHED_PARTS: [&str; 2] = [". — ", ". – "];
const OF_A_JOURNAL: &str = " // ";

/// Finds references.
pub struct References {
    /// Finders of words of references to books.
    citations: Vec<Finder<'static>>,
}

impl References {
    pub fn new(citations: &[String]) -> References {
        References { citations: citations.iter().map(|name| Finder::new(name).into_owned()).collect() }
    }

    pub fn cites(&self, text: &str) -> bool {
        self.citations.iter().any(|name| name.find(text.as_bytes()).is_some())
    }

    /// Whether a list item is a reference to a work.
    pub fn holds(&self, item: &str) -> bool {
        item.chars().nth(LONGEST).is_none()
            && (self.cites(item) || ends_as_reference(item) || begins_with_author(item) || has_dashed_parts(item))
    }
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && digits.parse::<u32>().is_ok_and(|year| (FIRST_YEAR..=LAST_YEAR).contains(&year))
}

/// Split off the ASCII digits at the end of a text.
fn split_number(text: &str) -> (&str, &str) {
    text.split_at(text.trim_end_matches(|char: char| char.is_ascii_digit()).len())
}

/// Whether an item ends with a year that is a part of its own, or with pages: ", 1995", ", p. 503-517".
fn ends_as_reference(item: &str) -> bool {
    let (before, last) = split_number(item.trim_end_matches(CLOSERS));
    if last.is_empty() {
        return false;
    }
    if let Some(part) = before.strip_suffix(", ").filter(|_| is_year(last)) {
        // Years one after another are those of events.
        return split_number(part).1.is_empty();
    }
    let Some(before) = before.trim_end_matches(' ').strip_suffix(DASHES) else { return false };
    let (before, first) = split_number(before.trim_end_matches(' '));
    if first.is_empty() || (first.len(), first) >= (last.len(), last) || (is_year(first) && is_year(last)) {
        return false;
    }
    let mut before = before.trim_end_matches(' ');
    if let Some(mut word) = before.strip_suffix('.') {
        for _ in 0..LETTERS_BEFORE_PAGES {
            word = word.strip_suffix(is_alpha).unwrap_or(word);
        }
        before = word.trim_end_matches(' ');
    }
    before.ends_with([',', ':', '.', ')'])
}

/// Whether an item begins with a family name, a comma, a name and a year in brackets: "Grey, J. (1995).".
fn begins_with_author(item: &str) -> bool {
    let Some((head, rest)) = item.split_once('(') else { return false };
    let Some((family, names)) = head.split_once(", ") else { return false };
    if head.chars().nth(LONGEST_AUTHORS).is_some()
        || family.contains(' ')
        || !family.starts_with(is_upper)
        || !names.starts_with(is_upper)
    {
        return false;
    }
    let Some((year, after)) = rest.split_at_checked(4) else { return false };
    let after = after.strip_prefix(|char: char| char.is_ascii() && is_lower(char)).unwrap_or(after);
    is_year(year) && after.strip_prefix(')').is_some_and(|after| after.starts_with(['.', ':', ',']))
}

fn has_dashed_parts(item: &str) -> bool {
    DASHED_PARTS.iter().any(|sign| item.match_indices(sign).any(|(at, _)| is_year(split_number(&item[..at]).1)))
        || item.contains(OF_A_JOURNAL) && item.split(|char: char| !char.is_ascii_digit()).any(is_year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_years_and_pages_where_prose_has_none() {
        let references = References::new(&["ISBN".to_owned()]);
        let items = ["Even. Munich, 1995.", "Linguistics 105, 503-517.", "Malchukov, A. (1995a): Even.", "ISBN 1"];
        assert!(items.iter().all(|item| references.holds(item)));
        let prose = ["It was built in 1995.", "Titles: 2007, 2012.", "They won 1-3.", "Spring, in Paris (1889)."];
        assert!(!prose.iter().any(|item| references.holds(item)));
    }
}
