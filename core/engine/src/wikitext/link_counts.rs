//! Count the links of a page where the passes find, show and remove them. A link is counted as its opening brackets.

use super::search::count_doubles;
use crate::counts::Counts;
use crate::shared::{shared, Name};

pub fn links_in(text: &str) -> i64 {
    count_doubles(text.as_bytes(), b'[') as i64
}

/// Count the links that passes have removed, or joined, in the text that a reader sees.
///
/// Passes with a bucket count what they remove, and `before` is without it.
pub fn count_change(counts: &mut Counts, before: i64, after: i64, has_bucket: bool) {
    if after > before {
        counts.add(Name::SourceJoined, after - before);
        counts.add(Name::Seen, after - before);
    } else if after < before && !has_bucket {
        counts.add(Name::Markup, before - after);
    }
}

/// Whether the ledger of a page balances.
pub fn balances(counts: &Counts) -> bool {
    let links = &shared().names.prefixes.links;
    let all: i64 = counts.0.iter().filter(|(name, _)| name.starts_with(links.as_str())).map(|(_, number)| number).sum();
    let seen = counts.0.get(&*(links.clone() + Name::Seen.text())).copied().unwrap_or(0);
    let number = |names: &[Name]| -> i64 { names.iter().map(|name| counts.get(*name)).sum() };
    let taken = number(&[Name::SourceComment, Name::SourceNowiki, Name::SourceInCalls, Name::SourceNotices]);
    let given = number(&[Name::SourceLinks, Name::SourceFromCalls, Name::SourceJoined]);
    let has_source = counts.0.contains_key(Name::SourceLinks.text());
    counts.0.values().all(|&number| number >= 0) && all == 2 * seen && (!has_source || given - taken == seen)
}
