//! Remove images with their captions: "a [[File:b.jpg|20px|c [[d]]]] e" is "a e".
//!
//! An image ends at its first "]]"; if its caption contains links, at the second "]]" after a link. One that is placed
//! beside the text ends a paragraph; others stand in the line.

use crate::counts::Counts;
use crate::rules::Site;
use crate::shared::{shared, Name};
use crate::unicode::{self, has, is_alpha, strip, LOWER, UPPER};
use crate::wikitext::blanks::removed;
use crate::wikitext::placeholders::{BREAK, SEAM};
use crate::wikitext::search::{count_doubles, find_double};
use crate::wikitext::tags::space_end;
use memchr::{memchr, memchr2, memchr_iter, memrchr};
use rustc_hash::{FxHashMap, FxHashSet};

/// Removes the images of the pages of one wiki.
pub struct FileStripper {
    /// Names of the File namespace, in letters of one case; a blank stands for blanks and underscores.
    names: Vec<Vec<char>>,
    /// The letter in `names` by each letter that Python's `re` takes for the same when it ignores case.
    letters: FxHashMap<char, char>,
    /// Whether a name may begin with each of the first characters of Unicode.
    begins: Vec<bool>,
    /// What is before and after the value of the options that place an image beside the text; those without a value
    /// have no second part.
    beside: Vec<(String, Option<String>)>,
}

impl FileStripper {
    pub fn new(site: &Site) -> Self {
        let mut names: Vec<Vec<char>> = site.file_names.iter().map(|name| name.chars().collect()).collect();
        if names.is_empty() {
            // An empty pattern matches an empty text.
            names.push(Vec::new());
        }
        let letters = same_letters(names.iter().flatten());
        for name in &mut names {
            name.iter_mut().for_each(|char| *char = letters[char]);
        }
        let beside = site.beside.iter().map(|word| match word.split_once("$1") {
            Some((before, after)) => (before.to_owned(), Some(after.to_owned())),
            None => (word.clone(), None),
        });
        let letter = |code| char::from_u32(code).and_then(|char| letters.get(&char));
        let begins = (0..0x600).map(|code| begins(&names, letter(code))).collect();
        FileStripper { names, letters, begins, beside: beside.collect() }
    }

    /// Remove images; those that contain links leave their captions.
    ///
    /// Images are counted as "file", and the links in captions as "caption".
    pub fn strip(&self, text: String, dropped: &mut Counts, captions: &mut Vec<String>) -> String {
        let bytes = text.as_bytes();
        let (mut result, mut position) = (String::new(), 0);
        let mut search = 0;
        while let Some((start, name_end)) = self.next_opening(&text, search) {
            let Some(end) = end_of_file(bytes, name_end) else {
                // MediaWiki shows an unclosed image as text.
                search = name_end;
                continue;
            };
            result.reserve(text.len() - position);
            result += &text[position..start];
            dropped.add(Name::File, 1);
            if let Some(offset) = find_double(&bytes[name_end..end], b'[') {
                let link = name_end + offset;
                dropped.add(Name::Caption, count_doubles(&bytes[link..end], b'[') as i64);
                let caption = memrchr(b'|', &bytes[name_end..link]).map_or(name_end, |offset| name_end + offset + 1);
                captions.push(strip(&text[caption..end - 2]).to_owned());
            }
            position = end;
            let begins_line = begins_line(&text[..start]);
            if begins_line || self.is_beside(&text[name_end..end]) {
                if !begins_line {
                    result.push(BREAK);
                }
                // Blanks after an image do not make the line preformatted.
                position += bytes[position..].iter().take_while(|byte| **byte == b' ').count();
                if matches!(bytes.get(position), Some(b'=' | b'*' | b'#' | b':' | b';')) {
                    // To MediaWiki the text is in the same line as the image, so it begins no list and no heading.
                    result.push(SEAM);
                }
            } else {
                let before = text[..start].chars().next_back();
                let after = text[position..].chars().next();
                let in_word = before.is_some_and(|char| is_alpha(char) || char == ']') && after.is_some_and(is_alpha);
                if in_word || (before == Some('\'') && after == before) {
                    // A link has no trail across the image, and marks of bold before and behind it are two.
                    result.push(SEAM);
                } else {
                    result += removed(before, &text[position..]);
                }
            }
            search = position;
        }
        if position == 0 {
            return text;
        }
        result += &text[position..];
        result
    }

    /// Return the start of the next image, and the offset after the colon of its namespace.
    fn next_opening(&self, text: &str, position: usize) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        let mut search = position;
        while let Some(offset) = find_double(&bytes[search..], b'[') {
            let start = search + offset;
            let name = blanks_end(bytes, start + 2);
            search = start + 1;
            // Most links are to articles, so look at the first letter first.
            let Some(first) = text[name..].chars().next() else { continue };
            if !self.may_begin(first) {
                // Of three brackets, the last two may begin an image.
                search = start + if bytes[start + 2] == b'[' { 1 } else { 2 };
                continue;
            }
            if let Some(end) = self.names.iter().find_map(|chars| self.name_end(text, name, chars)) {
                return Some((start, end));
            }
        }
        None
    }

    /// Return whether a name may begin with a character.
    fn may_begin(&self, first: char) -> bool {
        match self.begins.get(first as usize) {
            Some(&begins) => begins,
            None => begins(&self.names, self.letters.get(&first)),
        }
    }

    /// Return the offset after a name, blanks and a colon.
    fn name_end(&self, text: &str, mut position: usize, name: &[char]) -> Option<usize> {
        let bytes = text.as_bytes();
        for &char in name {
            if char == ' ' {
                let end = blanks_end(bytes, position);
                if end == position {
                    return None;
                }
                position = end;
                continue;
            }
            let next = text[position..].chars().next()?;
            if self.letters.get(&next) != Some(&char) {
                return None;
            }
            position += next.len_utf8();
        }
        let colon = blanks_end(bytes, position);
        // An image without a name is text.
        let is_image =
            bytes.get(colon) == Some(&b':') && !matches!(bytes.get(blanks_end(bytes, colon + 1)), Some(b'|' | b']'));
        is_image.then_some(colon + 1)
    }

    /// Return whether one of the options of an image places it beside the text.
    fn is_beside(&self, options: &str) -> bool {
        memchr_iter(b'|', options.as_bytes()).any(|bar| {
            let option = &options[space_end(options, bar + 1)..];
            self.beside.iter().any(|(before, after)| {
                let Some(rest) = option.strip_prefix(before.as_str()) else { return false };
                let Some(after) = after else { return ends_option(rest) };
                // The value has no bar.
                let limit = memchr(b'|', rest.as_bytes()).unwrap_or(rest.len());
                if after.is_empty() {
                    // The image ends by brackets at the latest.
                    return limit < rest.len() || memchr(b']', rest.as_bytes()).is_some();
                }
                let mut ends = (0..=limit).filter(|&end| rest.is_char_boundary(end));
                ends.any(|end| rest[end..].strip_prefix(after.as_str()).is_some_and(ends_option))
            })
        })
    }
}

/// Return whether one of some names begins with a letter.
fn begins(names: &[Vec<char>], letter: Option<&char>) -> bool {
    names.iter().any(|name| name.first().is_none_or(|first| Some(first) == letter || *first == ' '))
}

/// `\s*(?=[|\]])`
fn ends_option(rest: &str) -> bool {
    matches!(rest.as_bytes().get(space_end(rest, 0)), Some(b'|' | b']'))
}

/// `[ _]*`
fn blanks_end(bytes: &[u8], position: usize) -> usize {
    position + bytes[position..].iter().take_while(|byte| matches!(byte, b' ' | b'_')).count()
}

/// Return whether only marks of a list are between the beginning of a line and the end of a text.
fn begins_line(before: &str) -> bool {
    let marks = |byte: &&u8| matches!(byte, b'*' | b'#' | b':' | b';' | b' ');
    let length = before.bytes().rev().take(shared().limits.list_mark).take_while(|byte| marks(&byte)).count();
    let rest = &before.as_bytes()[..before.len() - length];
    length < shared().limits.list_mark && (rest.is_empty() || rest.ends_with(b"\n"))
}

/// Return the offset after an image, if it is closed.
///
/// An image ends at its first "]]"; if its caption contains links, at the second "]]" after a link. The search stops at
/// a "[[" without a "]]" before the next "[[", so no text is searched twice.
fn end_of_file(bytes: &[u8], mut position: usize) -> Option<usize> {
    let (mut expected, mut closed) = (1, 0);
    while let Some(offset) = memchr2(b'[', b']', &bytes[position..]) {
        let bracket = position + offset;
        position = bracket + 1;
        if bytes.get(position) != Some(&bytes[bracket]) {
            continue;
        }
        position += 1;
        if bytes[bracket] == b']' {
            closed += 1;
            if closed == expected {
                return Some(position);
            }
        } else if closed + 1 == expected {
            (expected, closed) = (2, 0);
        } else {
            return None;
        }
    }
    None
}

/// Return the letters that Python's `re` takes for one of some letters when it ignores case, each with a letter that
/// stands for all that are the same.
///
/// Letters are the same if their small letters are, or if those have the same capitals.
fn same_letters<'a>(chars: impl Iterator<Item = &'a char>) -> FxHashMap<char, char> {
    let wanted: FxHashSet<char> = chars.copied().collect();
    let cased = (0..0x2_0000).filter_map(char::from_u32).filter(|&char| has(char, LOWER | UPPER));
    let titles: Vec<char> = cased.clone().filter_map(|char| unicode::title(char).chars().next()).collect();
    let mut groups: FxHashMap<String, Vec<char>> = FxHashMap::default();
    for char in cased.chain(titles).chain(wanted.iter().copied()) {
        groups.entry(capital(char)).or_default().push(char);
    }
    let mut letters = FxHashMap::default();
    for group in groups.into_values().filter(|group| group.iter().any(|char| wanted.contains(char))) {
        for &char in &group {
            letters.insert(char, group[0]);
        }
    }
    letters
}

/// The capital of the small letter. The small letter of İ is i to `re`, but to `str.lower` it has a dot.
fn capital(char: char) -> String {
    let small: String = unicode::lower(char.encode_utf8(&mut [0; 4])).chars().take(1).collect();
    unicode::upper(&small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> (String, Vec<String>) {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (file_names, beside) = (words(&["file", "image"]), words(&["thumb", "thumb=$1"]));
        let site = Site { file_names, beside, ..Site::default() };
        let mut captions = Vec::new();
        (FileStripper::new(&site).strip(text.to_owned(), &mut Counts::default(), &mut captions), captions)
    }

    #[test]
    fn an_image_leaves_its_place_and_its_caption() {
        let text = "a[[ _File :b.jpg|thumb|c [[d]] ]]e [[\u{130}MAGE:f|g]]h[[Filed:i]]";
        assert_eq!(stripped(text), ("a\x1ce h[[Filed:i]]".to_owned(), vec!["c [[d]]".to_owned()]));
    }
}
