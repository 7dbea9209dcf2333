//! Count the links of a page where the passes find, show and remove them. A link is counted as its opening brackets.

use super::search::count_doubles;
use crate::counts::Counts;
use crate::shared::Name;

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
