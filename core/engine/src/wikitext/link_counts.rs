//! Count the links of a page where the passes find, show and remove them. A link is counted as its opening brackets.

use super::search::count_doubles;
use crate::counts::Counts;

// In the wikitext of the page, and what is taken from and added to them until all templates show their text.
pub const SOURCE: &str = "source:links";
pub const COMMENT: &str = "source:comment";
pub const NOWIKI: &str = "source:nowiki";
pub const IN_CALLS: &str = "source:in_calls";
pub const FROM_CALLS: &str = "source:from_calls";
pub const NOTICES: &str = "source:notices";
/// Where what stood between two brackets is removed, they become those of a link.
pub const JOINED: &str = "source:joined";
pub const SEEN: &str = "seen";
/// In text that a pass removes as markup, such as attributes of tags and language variants that are not chosen.
pub const MARKUP: &str = "markup";

pub fn links_in(text: &str) -> i64 {
    count_doubles(text.as_bytes(), b'[') as i64
}

/// Count the links that passes have removed, or joined, in the text that a reader sees.
///
/// Passes with a bucket count what they remove, and `before` is without it.
pub fn count_change(counts: &mut Counts, before: i64, after: i64, has_bucket: bool) {
    if after > before {
        counts.add(JOINED, after - before);
        counts.add(SEEN, after - before);
    } else if after < before && !has_bucket {
        counts.add(MARKUP, before - after);
    }
}
