//! What `export` asks of texts: keys of equal and of nearly equal ones, and whether a sentence is a good anchor. In
//! Python: `pipelines/export/anchors.py`, `pipelines/export/text_index.py` and `pipelines/arrays/minhash.py`, which say
//! why. Python describes each character when it first occurs.

use std::sync::Arc;

use memchr::memmem;
use twox_hash::XxHash3_64;

use crate::minhash::{Signer, SHINGLE};

/// Properties of a character, above the character that it is folded to.
const SPACE: u32 = 1 << 21;
const DIGIT: u32 = 1 << 22;
/// The first of the scripts of `SCRIPTS`.
const SCRIPT: u32 = 23;
/// The character has a case, which it may have before it is folded.
const CASED: u32 = 1 << 27;
/// The character is folded to several; their number in `Characters::many`.
const MANY: u32 = 1 << 28;
const POINT: u32 = SPACE - 1;

/// By script, the characters of a stem, and whether each run of so many is one or the first of a word alone.
const SCRIPTS: [(u32, bool); 4] = [(5, false), (2, true), (5, true), (2, false)];
/// Characters of a part of a title, and those that may precede it.
const PART: usize = 4;
const ARTICLE: usize = 5;
/// Positives whose stems are kept, and the most stems of one.
const KNOWN: usize = 1 << 15;
const MOST_KNOWN: usize = 100;
const STRESS: u32 = 0x301;
/// A sentence is not preferred for more words in common than these.
const MOST: u8 = 3;
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

const OPENING: [char; 2] = ['(', '（'];
const CLOSING: [char; 2] = [')', '）'];
const DASHES: [char; 3] = ['-', '–', '—'];
const COLONS: [char; 2] = [':', '：'];
const COMMAS: [char; 4] = [',', '،', '、', '，'];
/// By the number of commas next to a link, the commas of a sentence in which it is one of many.
const MANY_COMMAS: [usize; 3] = [usize::MAX, 5, 3];

/// The description of a character: whether it has a case, and by character that it is folded to, this one with its
/// properties.
pub type Describe = Box<dyn Fn(char) -> (bool, Vec<u32>) + Send + Sync>;

/// Characters as Python describes them.
pub struct Characters {
    entries: Vec<u32>,
    many: Vec<Vec<u32>>,
    has_ascii: bool,
    describe: Describe,
}

impl Characters {
    pub fn new(describe: Describe) -> Characters {
        Characters { entries: vec![u32::MAX; 0x11_0000], many: Vec::new(), has_ascii: false, describe }
    }

    fn get(&mut self, char: char) -> u32 {
        match self.entries[char as usize] {
            u32::MAX => self.add(char),
            entry => entry,
        }
    }

    /// Call a function with each character that one is folded to.
    fn for_folded(&mut self, char: char, mut run: impl FnMut(u32)) {
        match self.get(char) {
            entry if entry & MANY == 0 => run(entry),
            entry => self.many[(entry & POINT) as usize].iter().copied().for_each(run),
        }
    }

    /// What ASCII is folded to.
    fn ascii(&mut self) -> &[u32; 128] {
        if !self.has_ascii {
            (0..0x80u8).for_each(|byte| {
                self.get(char::from(byte));
            });
            self.has_ascii = true;
        }
        self.entries.first_chunk().unwrap_or(&[0; 128])
    }

    #[cold]
    fn add(&mut self, char: char) -> u32 {
        let (is_cased, folded) = (self.describe)(char);
        let entry = if let [one] = folded[..] {
            one
        } else {
            self.many.push(folded);
            MANY | (self.many.len() - 1) as u32
        };
        self.entries[char as usize] = entry | if is_cased { CASED } else { 0 };
        self.entries[char as usize]
    }
}

/// Texts as buffers of Arrow.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    pub data: &'a [u8],
    pub offsets: &'a [i32],
}

impl<'a> Texts<'a> {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn get(&self, row: usize) -> Option<&'a str> {
        simdutf8::basic::from_utf8(self.bytes(row)?).ok()
    }

    fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        let place = |number: usize| usize::try_from(*self.offsets.get(number)?).ok();
        self.data.get(place(row)?..place(row + 1)?)
    }

    /// Hashes of the texts, as of `arrays.hashing.hash_strings`.
    pub fn hashes(&self) -> Option<Vec<u64>> {
        (0..self.len()).map(|row| Some(XxHash3_64::oneshot(self.bytes(row)?))).collect()
    }
}

/// Texts with a link each: where it begins and ends, as code points.
pub struct Sentences<'a> {
    pub texts: Texts<'a>,
    pub starts: &'a [i32],
    pub ends: &'a [i32],
}

impl Sentences<'_> {
    /// Where the link of a sentence begins and ends.
    fn link(&self, row: usize) -> Option<(usize, usize)> {
        let place = |places: &[i32]| usize::try_from(*places.get(row)?).ok();
        Some((place(self.starts)?, place(self.ends)?))
    }

    /// What is before the link of a sentence, and what is behind it.
    fn without_link(&self, row: usize) -> Option<(&str, &str)> {
        let (text, (start, end)) = (self.texts.get(row)?, self.link(row)?);
        let before = text.get(..place(text, start)?)?;
        let link_and_after = &text[before.len()..];
        Some((before, &link_and_after[place(link_and_after, end.checked_sub(start)?)?..]))
    }
}

/// The place of a character of a text, given by its number, as bytes.
fn place(text: &str, number: usize) -> Option<usize> {
    match text.as_bytes().get(..number) {
        Some(bytes) if bytes.is_ascii() => Some(number),
        _ => text.char_indices().map(|(place, _)| place).chain([text.len()]).nth(number),
    }
}

/// The stems of a positive, ascending, after a bit of each.
type KnownStems = (u64, Arc<[u64]>);

/// Compares texts. What is not in the data gives None.
pub struct Comparer {
    characters: Characters,
    bytes: Vec<u8>,
    signer: Signer,
    /// By a part of the hash of a positive, this hash, and its stems.
    known: Vec<Option<(u64, KnownStems)>>,
}

impl Comparer {
    pub fn new(characters: Characters) -> Comparer {
        Comparer { characters, bytes: Vec::new(), signer: Signer::default(), known: vec![None; KNOWN] }
    }

    /// Hashes of texts. Those that differ in case or white space only have the same.
    pub fn text_keys(&mut self, texts: Texts<'_>) -> Option<Vec<u64>> {
        (0..texts.len()).map(|row| Some(self.text_key(texts.get(row)?))).collect()
    }

    fn text_key(&mut self, text: &str) -> u64 {
        self.bytes.clear();
        if has_single_spaces(text.as_bytes()) {
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.make_ascii_lowercase();
            return XxHash3_64::oneshot(&self.bytes);
        }
        self.bytes.reserve(text.len());
        let mut after_space = false;
        for char in text.chars() {
            let entry = self.characters.get(char);
            if entry & SPACE != 0 {
                after_space = true;
                continue;
            }
            if after_space && !self.bytes.is_empty() {
                self.bytes.push(b' ');
            }
            after_space = false;
            self.characters.for_folded(char, |entry| push(entry, &mut self.bytes));
        }
        XxHash3_64::oneshot(&self.bytes)
    }

    /// Whether sentences say what their pages are about, a byte each, given whether no sentence before them was lost
    /// (`anchors.begins_lead`).
    pub fn leads(&mut self, titles: Texts<'_>, texts: Texts<'_>, is_first: &[u8]) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        let begin = (0..texts.len()).map(|row| {
            let (title, text) = (titles.get(row)?, texts.get(row)?);
            let title = title.split_once(" (").map_or(title, |(name, _)| name);
            name.clear();
            title.chars().for_each(|char| self.characters.for_folded(char, |entry| name.push(entry)));
            let is_first = *is_first.get(row)? != 0;
            let most = if is_first { usize::MAX } else { ARTICLE + name.len() };
            self.bytes.clear();
            let mut number = 0;
            for char in text.chars().take(most) {
                self.characters.for_folded(char, |entry| {
                    number += 1;
                    if number <= most {
                        push(entry, &mut self.bytes);
                    }
                });
            }
            Some(if is_first { has_part(&name, &self.bytes) } else { has_points(&name, &self.bytes) })
        });
        begin.map(|begins| begins.map(u8::from)).collect()
    }

    /// Whether sentences say too little of the entity that their link leads to, a byte each.
    pub fn weak(&mut self, sentences: &Sentences<'_>) -> Option<Vec<u8>> {
        let mut chars = Vec::new();
        let weak = (0..sentences.texts.len()).map(|row| {
            let (text, (start, end)) = (sentences.texts.get(row)?, sentences.link(row)?);
            if text.is_ascii() {
                return is_weak(text.as_bytes(), &mut self.characters, start, end);
            }
            chars.clear();
            chars.extend(text.chars());
            is_weak(&chars, &mut self.characters, start, end)
        });
        weak.map(|is_weak| is_weak.map(u8::from)).collect()
    }

    /// How many words sentences have in common with their positives, from 0 to `MOST`, given the number of each one's.
    pub fn closeness(
        &mut self,
        sentences: &Sentences<'_>,
        positives: Texts<'_>,
        of_sentence: &[i64],
    ) -> Option<Vec<u8>> {
        let known = (0..positives.len()).map(|row| Some(self.known_stems(positives.get(row)?)));
        let known = known.collect::<Option<Vec<_>>>()?;
        let common = (0..sentences.texts.len()).map(|row| {
            let (before, after) = sentences.without_link(row)?;
            let (bits, of_positive) = known.get(usize::try_from(*of_sentence.get(row)?).ok()?)?;
            let (mut common, mut number) = ([0; MOST as usize], 0);
            let mut count = |stem| {
                let is_common = bits & bit(stem) != 0 && of_positive.binary_search(&stem).is_ok();
                if is_common && !common[..number].contains(&stem) {
                    common[number] = stem;
                    number += 1;
                }
                number < common.len()
            };
            // A link separates words.
            let _ = self.for_stems(before, &mut count) && self.for_stems(after, &mut count);
            Some(number as u8)
        });
        common.collect()
    }

    /// The stems of a positive. Those of entities with many sentences are kept for the next of these.
    fn known_stems(&mut self, text: &str) -> KnownStems {
        let hash = XxHash3_64::oneshot(text.as_bytes());
        let slot = hash as usize % KNOWN;
        if let Some((_, known)) = self.known[slot].as_ref().filter(|(of_hash, _)| *of_hash == hash) {
            return known.clone();
        }
        let mut stems = Vec::new();
        self.for_stems(text, &mut |stem| {
            stems.push(stem);
            true
        });
        stems.sort_unstable();
        stems.dedup();
        // Most stems are not in the set: a bit of each says so.
        let bits = stems.iter().fold(0, |bits, stem| bits | bit(*stem));
        let known: KnownStems = (bits, Arc::from(stems));
        if known.1.len() <= MOST_KNOWN {
            self.known[slot] = Some((hash, known.clone()));
        }
        known
    }

    /// Call a function with the hashes of the stems of the longer words of a text, until it returns false; return what
    /// it returned last.
    fn for_stems(&mut self, text: &str, run: &mut impl FnMut(u64) -> bool) -> bool {
        if text.is_ascii() {
            return self.for_ascii_stems(text.as_bytes(), run);
        }
        let mut stems = Stems::default();
        text.chars().all(|char| match self.characters.get(char) {
            entry if entry & MANY == 0 => stems.push(entry, run),
            entry => self.characters.many[(entry & POINT) as usize].iter().all(|&entry| stems.push(entry, run)),
        })
    }

    /// As `for_stems`, of a text whose words are all of the first script.
    fn for_ascii_stems(&mut self, text: &[u8], run: &mut impl FnMut(u64) -> bool) -> bool {
        let entries = self.characters.ascii();
        let mut rest = text;
        let is_word = |byte: &u8| entries[usize::from(byte & 0x7F)] >> SCRIPT & 1 != 0;
        let length = SCRIPTS[0].0 as usize;
        while let Some(start) = rest.iter().position(is_word) {
            rest = &rest[start..];
            let end = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
            if end >= length {
                let points = rest[..length].iter().map(|&byte| entries[usize::from(byte & 0x7F)] & POINT);
                if !run(points.fold(length as u64, add_point)) {
                    return false;
                }
            }
            rest = &rest[end..];
        }
        true
    }

    /// Keys of nearly equal sentences, as many as `bands` of each, one sentence after the other; links and the names in
    /// the titles of their pages do not count. Sentences of other `scopes` have other keys.
    pub fn masked_keys(
        &mut self,
        sentences: &Sentences<'_>,
        titles: Texts<'_>,
        scopes: &[u64],
        bands: usize,
    ) -> Option<Vec<u64>> {
        let mut keys = Vec::with_capacity(bands * scopes.len());
        let (mut masked, mut points) = (String::new(), Vec::new());
        for row in 0..sentences.texts.len() {
            let (before, after) = sentences.without_link(row)?;
            masked.clear();
            masked.push_str(before);
            masked.push_str(after);
            let title = titles.get(row)?;
            let name = title.split_once(" (").map_or(title, |(name, _)| name);
            if !name.is_empty() && memmem::find(masked.as_bytes(), name.as_bytes()).is_some() {
                masked = masked.replace(name, "");
            }
            self.fold_for_shingles(&masked, &mut points);
            self.signer.add_keys(&points, *scopes.get(row)?, bands, &mut keys);
        }
        Some(keys)
    }

    /// The points of a folded text, in which digits, case and white space do not count; those of a short one with spaces
    /// after it.
    fn fold_for_shingles(&mut self, text: &str, points: &mut Vec<u32>) {
        points.clear();
        let (mut after_space, mut after_digit) = (false, false);
        let mut add = |entry: u32| {
            if entry & (SPACE | DIGIT) == 0 && entry & POINT != 0 && !after_space {
                points.push(entry & POINT);
                after_digit = false;
                return;
            }
            let is_digit = entry & DIGIT != 0;
            if entry & SPACE != 0 || entry & POINT == 0 {
                (after_space, after_digit) = (true, false);
                return;
            }
            if after_space && !points.is_empty() {
                points.push(u32::from(b' '));
            }
            if !(is_digit && after_digit) {
                points.push(if is_digit { u32::from(b'0') } else { entry & POINT });
            }
            (after_space, after_digit) = (false, is_digit);
        };
        for char in text.chars() {
            self.characters.for_folded(char, &mut add);
        }
        points.resize(points.len().max(SHINGLE), u32::from(b' '));
    }
}

/// Reads stems: of scripts with spaces the first characters of words, of others all runs of a length.
#[derive(Default)]
struct Stems {
    /// By script, the number of its last characters in a row, and the hash of the first of them.
    runs: [(u32, u64); SCRIPTS.len()],
    /// The last characters, of texts with others than those of the first script.
    last: [u32; 8],
    number: usize,
    of_other_scripts: bool,
}

impl Stems {
    /// Read a character; return what a function returns for a stem that ends with it.
    fn push(&mut self, entry: u32, run: &mut impl FnMut(u64) -> bool) -> bool {
        let (scripts, point) = (entry >> SCRIPT & 0xF, entry & POINT);
        if scripts == 0 {
            self.runs = Default::default();
            self.of_other_scripts = false;
            return true;
        }
        if point == STRESS {
            return true;
        }
        if scripts == 1 && !self.of_other_scripts {
            // Nearly all characters.
            let (number, hash) = &mut self.runs[0];
            *number += 1;
            if *number > SCRIPTS[0].0 {
                return true;
            }
            *hash = add_point(if *number == 1 { u64::from(SCRIPTS[0].0) } else { *hash }, point);
            return *number < SCRIPTS[0].0 || run(*hash);
        }
        self.of_other_scripts = scripts != 1;
        self.number += 1;
        self.last[self.number % 8] = point;
        for (script, (length, every)) in SCRIPTS.into_iter().enumerate() {
            let (number, hash) = &mut self.runs[script];
            if scripts >> script & 1 == 0 {
                *number = 0;
                continue;
            }
            *number += 1;
            if *number == 1 {
                *hash = u64::from(length);
            }
            if *number <= length {
                *hash = add_point(*hash, point);
                if *number == length && !run(*hash) {
                    return false;
                }
            } else if every {
                let first = self.number + 1 - length as usize;
                let stem =
                    (first..=self.number).fold(u64::from(length), |hash, place| add_point(hash, self.last[place % 8]));
                if !run(stem) {
                    return false;
                }
            }
        }
        true
    }
}

fn add_point(hash: u64, point: u32) -> u64 {
    hash.wrapping_mul(STEP).wrapping_add(u64::from(point))
}

/// Whether PART characters in a row of a longer word of a name are in a text, or such a word that is shorter.
fn has_part(name: &[u32], text: &[u8]) -> bool {
    let is_long = |word: &&[u32]| word.len() > 2;
    let mut longer = name.split(|entry| entry & SPACE != 0).filter(is_long).peekable();
    let in_text =
        |word: &[u32]| word.is_empty() || word.windows(word.len().min(PART)).any(|part| has_points(part, text));
    if longer.peek().is_none() {
        in_text(name)
    } else {
        longer.any(in_text)
    }
}

/// Whether characters are in a text.
fn has_points(points: &[u32], text: &[u8]) -> bool {
    let mut bytes = Vec::with_capacity(4 * points.len());
    points.iter().for_each(|&entry| push(entry, &mut bytes));
    memmem::find(text, &bytes).is_some()
}

/// One of 64 bits, by the hash of a stem.
fn bit(stem: u64) -> u64 {
    1 << (stem.wrapping_mul(STEP) >> 58)
}

/// Whether a text is in ASCII, of which each white space is a single space between other characters.
fn has_single_spaces(text: &[u8]) -> bool {
    let is_plain = |&byte: &u8| (b' '..0x80).contains(&byte);
    let is_edge = |byte: Option<&u8>| byte == Some(&b' ');
    let doubled = |pair: (&u8, &u8)| *pair.0 == b' ' && *pair.1 == b' ';
    text.iter().fold(true, |all, byte| all & is_plain(byte))
        && !is_edge(text.first())
        && !is_edge(text.last())
        && !text.iter().zip(text.get(1..).unwrap_or_default()).fold(false, |any, pair| any | doubled(pair))
}

/// Add a folded character to a text.
fn push(entry: u32, text: &mut Vec<u8>) {
    match entry & POINT {
        point @ 0..0x80 => text.push(point as u8),
        // Most letters of other alphabets, without a call of `memcpy`.
        point @ 0x80..0x800 => text.extend_from_slice(&[0xC0 | (point >> 6) as u8, 0x80 | (point & 0x3F) as u8]),
        point => {
            let char = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// `arrays.hashing.mix` of one number with the seed 0.
#[inline(always)]
pub(crate) fn mix_first(number: u64) -> u64 {
    const SEED: u64 = finish(STEP);
    finish((SEED ^ number).wrapping_mul(STEP).wrapping_add(STEP))
}

/// The finaliser of splitmix64.
#[inline(always)]
pub(crate) const fn finish(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Whether a sentence, given by its characters, says too little of the entity that its link leads to; None where the
/// link is not in it.
fn is_weak<T: Copy>(text: &[T], characters: &mut Characters, start: usize, end: usize) -> Option<bool>
where
    char: From<T>,
{
    let (before, link, after) = (text.get(..start)?, text.get(start..end)?, text.get(end..)?);
    if let [letter] = link {
        if characters.get(char::from(*letter)) & CASED != 0 {
            return Some(true);
        }
    }
    let last = |set: [char; 2]| before.iter().rposition(|&char| set.contains(&char::from(char)));
    if last(OPENING).is_some_and(|opening| last(CLOSING).is_none_or(|closing| opening > closing)) {
        return Some(true);
    }
    let is_comma = |char: T| COMMAS.contains(&char::from(char));
    let mut is_word = |&&char: &&T| characters.get(char::from(char)) & SPACE == 0;
    let (left, right) = (before.iter().rev().find(&mut is_word), after.iter().find(&mut is_word));
    let beside = [left, right].into_iter().flatten().filter(|&&char| is_comma(char)).count();
    if beside > 0 && text.iter().filter(|&&char| is_comma(char)).count() >= MANY_COMMAS[beside] {
        return Some(true);
    }
    Some(is_chronology(text, characters) || left.is_none() && has_years(after, characters))
}

/// A number, and a dash or colon within the first characters.
fn is_chronology<T: Copy>(text: &[T], characters: &mut Characters) -> bool
where
    char: From<T>,
{
    let at = |place: usize| text.get(place).map(|&char| char::from(char));
    if !(0..13).filter_map(at).any(|char| characters.get(char) & DIGIT != 0) {
        return false;
    }
    let mut is_space = |place: usize| at(place).is_some_and(|char| characters.get(char) & SPACE != 0);
    let mark = (0..26).find_map(|place| {
        let char = at(place)?;
        (DASHES.contains(&char) || COLONS.contains(&char)).then_some((place, COLONS.contains(&char)))
    });
    mark.is_some_and(|(mark, is_colon)| {
        let before = if is_colon { Some(mark) } else { mark.checked_sub(1) };
        let is_parted = is_colon || before.is_some_and(&mut is_space);
        is_parted && before.is_some_and(|length| (1..=24).contains(&length)) && is_space(mark + 1)
    })
}

/// What follows the name of a person in a list of people.
fn has_years<T: Copy>(text: &[T], characters: &mut Characters) -> bool
where
    char: From<T>,
{
    let mut text = text.iter().map(|&char| char::from(char)).skip_while(|&char| characters.get(char) & SPACE != 0);
    if !text.next().is_some_and(|char| OPENING.contains(&char)) {
        return false;
    }
    let text: Vec<char> = text.take(23).collect();
    let mut digits = 0;
    for char in text {
        digits = if characters.get(char) & DIGIT != 0 { digits + 1 } else { 0 };
        if digits == 3 {
            return true;
        }
        if OPENING.contains(&char) || CLOSING.contains(&char) {
            return false;
        }
    }
    false
}
