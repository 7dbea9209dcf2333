//! What `export` asks of texts: keys of equal and of nearly equal ones, and whether a sentence is a good anchor. In
//! Python: `pipelines/export/anchors.py`, `pipelines/export/text_index.py` and `pipelines/arrays/minhash.py`, which say
//! why. Python describes each character when it first occurs.

use twox_hash::XxHash3_64;

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
const STRESS: u32 = 0x301;
/// A sentence is not preferred for more words in common than these.
const MOST: u8 = 3;
const SHINGLE: usize = 4;
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

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
    describe: Describe,
}

impl Characters {
    pub fn new(describe: Describe) -> Characters {
        Characters { entries: vec![u32::MAX; 0x11_0000], many: Vec::new(), describe }
    }

    fn get(&mut self, char: char) -> u32 {
        match self.entries[char as usize] {
            u32::MAX => self.add(char),
            entry => entry,
        }
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

    /// Add the folded characters of a text to others.
    fn fold(&mut self, text: impl Iterator<Item = char>, folded: &mut Vec<u32>) {
        for char in text {
            let entry = self.get(char);
            if entry & MANY == 0 {
                folded.push(entry);
            } else {
                folded.extend_from_slice(&self.many[(entry & POINT) as usize]);
            }
        }
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
        let place = |number: usize| usize::try_from(*self.offsets.get(number)?).ok();
        simdutf8::basic::from_utf8(self.data.get(place(row)?..place(row + 1)?)?).ok()
    }
}

/// Texts with a link each: where it begins and ends, as code points.
pub struct Sentences<'a> {
    pub texts: Texts<'a>,
    pub starts: &'a [i32],
    pub ends: &'a [i32],
}

impl Sentences<'_> {
    /// Read the characters of a sentence; return where its link begins and ends.
    fn read(&self, row: usize, chars: &mut Vec<char>) -> Option<(usize, usize)> {
        chars.clear();
        chars.extend(self.texts.get(row)?.chars());
        let (start, end) = (usize::try_from(*self.starts.get(row)?).ok()?, usize::try_from(*self.ends.get(row)?).ok()?);
        (start <= end && end <= chars.len()).then_some((start, end))
    }
}

/// Compares texts. What is not in the data gives None.
pub struct Comparer {
    characters: Characters,
    chars: Vec<char>,
    folded: Vec<u32>,
    bytes: Vec<u8>,
}

impl Comparer {
    pub fn new(characters: Characters) -> Comparer {
        Comparer { characters, chars: Vec::new(), folded: Vec::new(), bytes: Vec::new() }
    }

    /// Hashes of texts. Those that differ in case or white space only have the same.
    pub fn text_keys(&mut self, texts: Texts<'_>) -> Option<Vec<u64>> {
        (0..texts.len()).map(|row| Some(self.text_key(texts.get(row)?))).collect()
    }

    fn text_key(&mut self, text: &str) -> u64 {
        self.bytes.clear();
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
            if entry & MANY == 0 {
                push(entry, &mut self.bytes);
            } else {
                let folded = &self.characters.many[(entry & POINT) as usize];
                folded.iter().for_each(|&entry| push(entry, &mut self.bytes));
            }
        }
        XxHash3_64::oneshot(&self.bytes)
    }

    /// Whether sentences say too little of the entity that their link leads to, a byte each.
    pub fn weak(&mut self, sentences: &Sentences<'_>) -> Option<Vec<u8>> {
        let mut chars = std::mem::take(&mut self.chars);
        let weak = (0..sentences.texts.len()).map(|row| {
            let (start, end) = sentences.read(row, &mut chars)?;
            self.folded.clear();
            self.folded.extend(chars.iter().map(|&char| self.characters.get(char)));
            Some(u8::from(is_weak(&chars, &self.folded, start, end)))
        });
        let weak = weak.collect();
        self.chars = chars;
        weak
    }

    /// How many words sentences have in common with their positives, from 0 to `MOST`, given the number of each one's.
    pub fn closeness(
        &mut self,
        sentences: &Sentences<'_>,
        positives: Texts<'_>,
        of_sentence: &[i64],
    ) -> Option<Vec<u8>> {
        let known = (0..positives.len()).map(|row| {
            self.folded.clear();
            self.characters.fold(positives.get(row)?.chars(), &mut self.folded);
            Some(self.stems())
        });
        let known = known.collect::<Option<Vec<_>>>()?;
        let mut chars = std::mem::take(&mut self.chars);
        let common = (0..sentences.texts.len()).map(|row| {
            let (start, end) = sentences.read(row, &mut chars)?;
            let text = chars[..start].iter().chain(&[' ']).chain(&chars[end..]);
            self.folded.clear();
            self.characters.fold(text.copied(), &mut self.folded);
            let of_positive = known.get(usize::try_from(*of_sentence.get(row)?).ok()?)?;
            let common = self.stems().iter().filter(|stem| of_positive.binary_search(stem).is_ok()).count();
            Some(u8::try_from(common).unwrap_or(MOST).min(MOST))
        });
        let common = common.collect();
        self.chars = chars;
        common
    }

    /// The hashes of the stems of the longer words of the folded text, ascending; each once.
    fn stems(&mut self) -> Vec<u64> {
        self.folded.retain(|entry| entry & POINT != STRESS);
        let mut stems = Vec::new();
        let mut runs = [0; SCRIPTS.len()];
        for (number, &entry) in self.folded.iter().enumerate() {
            if entry >> SCRIPT & 0xF == 0 {
                runs = [0; SCRIPTS.len()];
                continue;
            }
            for (script, (length, every)) in SCRIPTS.into_iter().enumerate() {
                if entry >> (SCRIPT + script as u32) & 1 == 0 {
                    runs[script] = 0;
                    continue;
                }
                runs[script] += 1;
                if runs[script] == length || every && runs[script] > length {
                    let stem = &self.folded[number + 1 - length as usize..=number];
                    let hash = |hash: u64, entry: &u32| hash.wrapping_mul(STEP).wrapping_add(u64::from(entry & POINT));
                    stems.push(stem.iter().fold(u64::from(length), hash));
                }
            }
        }
        stems.sort_unstable();
        stems.dedup();
        stems
    }

    /// Hashes of the shingles of sentences without their links and the names in the titles of their pages, one sentence
    /// after the other, and where each begins and the last one ends.
    pub fn shingles(&mut self, sentences: &Sentences<'_>, titles: Texts<'_>) -> Option<(Vec<u64>, Vec<u64>)> {
        let (mut hashes, mut ends) = (Vec::new(), vec![0]);
        let (mut chars, mut points) = (std::mem::take(&mut self.chars), Vec::new());
        for row in 0..sentences.texts.len() {
            let (start, end) = sentences.read(row, &mut chars)?;
            let masked: String = chars[..start].iter().chain(&chars[end..]).collect();
            let title = titles.get(row)?;
            let name = title.split_once(" (").map_or(title, |(name, _)| name);
            let masked = if name.is_empty() { masked } else { masked.replace(name, "") };
            self.fold_for_shingles(&masked, &mut points);
            let windows = points.windows(SHINGLE).map(|shingle| {
                let hash = |hash: u64, &point: &u32| hash.wrapping_mul(STEP).wrapping_add(u64::from(point));
                mix(mix(0, 0, true), shingle.iter().fold(0, hash), false)
            });
            hashes.extend(windows);
            ends.push(hashes.len() as u64);
        }
        self.chars = chars;
        Some((hashes, ends))
    }

    /// The points of a folded text, in which digits, case and white space do not count; those of a short one with spaces
    /// after it.
    fn fold_for_shingles(&mut self, text: &str, points: &mut Vec<u32>) {
        self.folded.clear();
        self.characters.fold(text.chars(), &mut self.folded);
        points.clear();
        let (mut after_space, mut after_digit) = (false, false);
        for &entry in &self.folded {
            let is_digit = entry & DIGIT != 0;
            if entry & SPACE != 0 || entry & POINT == 0 {
                (after_space, after_digit) = (true, false);
                continue;
            }
            if after_space && !points.is_empty() {
                points.push(u32::from(b' '));
            }
            if !(is_digit && after_digit) {
                points.push(if is_digit { u32::from(b'0') } else { entry & POINT });
            }
            (after_space, after_digit) = (false, is_digit);
        }
        points.resize(points.len().max(SHINGLE), u32::from(b' '));
    }
}

/// Add a folded character to a text.
fn push(entry: u32, text: &mut Vec<u8>) {
    match entry & POINT {
        point @ 0..0x80 => text.push(point as u8),
        point => {
            let char = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// `arrays.hashing.mix`: the state of a seed, or with one more number.
fn mix(state: u64, number: u64, is_seed: bool) -> u64 {
    let state = if is_seed { number } else { (state ^ number).wrapping_mul(STEP) };
    let state = state.wrapping_add(STEP);
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Whether a sentence says too little of the entity that its link leads to; `entries` describe its characters.
fn is_weak(text: &[char], entries: &[u32], start: usize, end: usize) -> bool {
    let before = &text[..start];
    if end - start == 1 && entries[start] & CASED != 0 {
        return true;
    }
    let last = |set: [char; 2]| before.iter().rposition(|char| set.contains(char));
    if last(OPENING).is_some_and(|opening| last(CLOSING).is_none_or(|closing| opening > closing)) {
        return true;
    }
    let is_word = |&place: &usize| entries[place] & SPACE == 0;
    let is_comma = |place: usize| COMMAS.contains(&text[place]);
    let (left, right) = ((0..start).rev().find(is_word), (end..text.len()).find(is_word));
    let beside = usize::from(left.is_some_and(is_comma)) + usize::from(right.is_some_and(is_comma));
    if beside > 0 && text.iter().filter(|char| COMMAS.contains(char)).count() >= MANY_COMMAS[beside] {
        return true;
    }
    is_chronology(text, entries) || left.is_none() && has_years(&text[end..], &entries[end..])
}

/// A number, and a dash or colon within the first characters.
fn is_chronology(text: &[char], entries: &[u32]) -> bool {
    let is_space = |place: usize| entries.get(place).is_some_and(|entry| entry & SPACE != 0);
    if !entries.iter().take(13).any(|entry| entry & DIGIT != 0) {
        return false;
    }
    let mark = text.iter().take(26).position(|char| DASHES.contains(char) || COLONS.contains(char));
    mark.is_some_and(|mark| {
        let before = if COLONS.contains(&text[mark]) { Some(mark) } else { mark.checked_sub(1) };
        let is_parted = COLONS.contains(&text[mark]) || before.is_some_and(is_space);
        is_parted && before.is_some_and(|length| (1..=24).contains(&length)) && is_space(mark + 1)
    })
}

/// What follows the name of a person in a list of people.
fn has_years(text: &[char], entries: &[u32]) -> bool {
    let Some(open) = entries.iter().position(|entry| entry & SPACE == 0) else { return false };
    if !OPENING.contains(&text[open]) {
        return false;
    }
    let mut digits = 0;
    for (char, entry) in text[open + 1..].iter().zip(&entries[open + 1..]).take(23) {
        digits = if entry & DIGIT != 0 { digits + 1 } else { 0 };
        if digits == 3 {
            return true;
        }
        if OPENING.contains(char) || CLOSING.contains(char) {
            return false;
        }
    }
    false
}
