//! Names in text: how often each occurs (`pipelines/mentions/occurrences.py`), and which links give them to items
//! (`pipelines/mentions/anchors.py`). How text is folded and cut into atoms is in `wikianchor/aliases/folding.py`, how
//! the trie is stored in `wikianchor/aliases/name_table.py`. Python describes each character when it first occurs.

use rustc_hash::FxHashMap;

use crate::columns::{Numbers, Strings};

/// Kinds of characters, as in `folding.py`; the description of a character has them above its folding.
const SPACE: u8 = 1;
const WORD: u8 = 2;
const KATAKANA: u8 = 3;
const SYLLABLE: u8 = 5;
const VOWEL_BEFORE: u8 = 6;
const MARK: u8 = 7;
const BREAK: u8 = 9;
const POINT_BITS: u32 = 21;
/// Properties of the character itself, not of its folding.
const GAP: u32 = 1 << 29;
const QUOTE: u32 = 1 << 30;
const LETTER: u32 = 1 << 31;

const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// `BASE * INVERSE` is 1.
const INVERSE: u64 = inverse(BASE);

/// The description of a character: its folding, the kind of that, and properties.
pub type Describe = Box<dyn Fn(char) -> u32 + Send + Sync>;

/// Characters as Python describes them: the counters of a process share them.
pub struct Characters {
    /// The description of each, and the hash of what it is folded to.
    entries: Vec<(u64, u64)>,
    /// Powers of the base and of its inverse.
    powers: Vec<(u64, u64)>,
    describe: Describe,
}

impl Characters {
    pub fn new(describe: Describe) -> Characters {
        Characters { entries: vec![(0, 0); 0x11_0000], powers: vec![(1, 1)], describe }
    }

    fn get(&mut self, char: char) -> u32 {
        self.with_hash(char).0
    }

    fn with_hash(&mut self, char: char) -> (u32, u64) {
        match self.entries[char as usize] {
            (0, _) => self.add(char),
            (entry, hash) => (entry as u32, hash),
        }
    }

    #[cold]
    fn add(&mut self, char: char) -> (u32, u64) {
        let entry = (self.describe)(char);
        let hash = mixed(folded(entry));
        self.entries[char as usize] = (u64::from(entry), hash);
        (entry, hash)
    }

    /// Compute the powers for texts of so many characters.
    fn reach(&mut self, length: usize) {
        while self.powers.len() <= length {
            let (up, down) = self.powers[self.powers.len() - 1];
            self.powers.push((up.wrapping_mul(BASE), down.wrapping_mul(INVERSE)));
        }
    }

    /// The folded text, with one space for each run of them.
    fn fold(&mut self, text: &str) -> String {
        let (mut key, mut before) = (String::with_capacity(text.len()), BREAK);
        for char in text.chars() {
            let entry = self.get(char);
            let kind = kind_of(entry);
            if kind != SPACE || before != SPACE {
                key.push(char::from_u32(folded(entry)).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            before = kind;
        }
        key
    }

    /// The names that texts give to items, in the order of key, surface and item: the keys, the surfaces, and the
    /// numbers of the texts; None where a text is not in the data.
    pub fn sorted_names(&mut self, data: &[u8], offsets: &[i32], items: &[i64]) -> Option<([Strings; 2], Numbers)> {
        let mut names = Vec::with_capacity(items.len());
        for (number, &item) in items.iter().enumerate() {
            let range = position(*offsets.get(number)?)?..position(*offsets.get(number + 1)?)?;
            let surface = simdutf8::basic::from_utf8(data.get(range)?).ok()?;
            let key = self.fold(surface);
            let key = if key.contains('\0') { self.fold(&surface.replace('\0', " ")) } else { key };
            let key = key.trim_matches(' ').to_owned();
            names.push((head(&key), key, surface, item, number));
        }
        names.sort_unstable();
        let (mut strings, mut order) = ([Strings::default(), Strings::default()], Numbers::default());
        for (_, key, surface, _, number) in names {
            strings[0].push(&key);
            strings[1].push(surface);
            order.push_long(number as i64);
        }
        Some((strings, order))
    }
}

/// The first bytes of a text, which are in its order.
fn head(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

fn kind_of(entry: u32) -> u8 {
    (entry >> POINT_BITS & 0xF) as u8
}

fn folded(entry: u32) -> u32 {
    entry & ((1 << POINT_BITS) - 1)
}

/// The finaliser of splitmix64.
fn mixed(point: u32) -> u64 {
    let state = (u64::from(point) + 1).wrapping_mul(BASE);
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// The inverse of an odd number modulo 2^64: each step doubles the number of correct bits.
const fn inverse(number: u64) -> u64 {
    let mut inverse = number;
    let mut step = 0;
    while step < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(number.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// Texts with their links, as buffers of Arrow: offsets of the texts in `data`, the texts that are read, by page, whether
/// each of these begins a page, offsets of each text's links, and by link where it begins and ends, as code points of
/// the text.
pub struct Texts<'a> {
    pub data: &'a [u8],
    pub offsets: &'a [i32],
    pub order: &'a [i32],
    pub heads: &'a [u8],
    pub links: &'a [i32],
    pub starts: &'a [i32],
    pub ends: &'a [i32],
}

impl<'a> Texts<'a> {
    /// The texts that are read, and whether each begins a page; None where a column has another length.
    fn rows(&self) -> Option<impl Iterator<Item = (usize, bool)> + 'a> {
        let fits = self.heads.len() == self.order.len() && self.starts.len() == self.ends.len();
        let heads = self.heads.iter().map(|&head| head != 0);
        // A number below 0 is that of no text.
        fits.then(|| self.order.iter().map(|&row| row as usize).zip(heads))
    }

    fn text(&self, row: usize) -> Option<&'a str> {
        let range = self.range(self.offsets, row)?;
        simdutf8::basic::from_utf8(self.data.get(range)?).ok()
    }

    /// The links of a text, as their numbers.
    fn links(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let range = self.range(self.links, row)?;
        (range.start <= range.end && range.end <= self.starts.len()).then_some(range)
    }

    fn range(&self, offsets: &[i32], row: usize) -> Option<std::ops::Range<usize>> {
        Some(position(*offsets.get(row)?)?..position(*offsets.get(row.checked_add(1)?)?)?)
    }

    /// Where a link begins and ends.
    fn span(&self, link: usize) -> Option<(usize, usize)> {
        Some((position(self.starts[link])?, position(self.ends[link])?))
    }
}

fn position(number: i32) -> Option<usize> {
    usize::try_from(number).ok()
}

/// A link without quotation marks at its edges; one with others within stays as it is. None where it is not in the
/// text.
///
/// `entries` are the descriptions of the text's characters.
fn without_quotes(entries: &[u32], (first, last): (usize, usize)) -> Option<(usize, usize)> {
    let is_quote = |entry: &&u32| **entry & QUOTE != 0;
    let link = entries.get(first..last)?;
    if link.len() <= 2 {
        return Some((first, last));
    }
    let (opened, closed) = (is_quote(&link.first()?), is_quote(&link.last()?));
    let trimmed = (first + usize::from(opened), last - usize::from(closed));
    let inside = &entries[trimmed.0..trimmed.1];
    Some(if inside.iter().any(|entry| is_quote(&entry)) { (first, last) } else { trimmed })
}

/// The names of a wiki: the arrays of a `NameTable`, as bytes.
pub struct NameTable<'a> {
    hashes: &'a [u8],
    values: &'a [u8],
    buckets: &'a [u8],
    shift: u32,
}

impl<'a> NameTable<'a> {
    /// None where the arrays are not those of a table.
    pub fn new(hashes: &'a [u8], values: &'a [u8], buckets: &'a [u8]) -> Option<NameTable<'a>> {
        let (nodes, number) = (hashes.len() / 8, buckets.len() / 4);
        let is_table = number.is_power_of_two() && number > 1 && nodes > 0 && values.len() == 4 * nodes;
        is_table.then(|| NameTable { hashes, values, buckets, shift: 64 - number.trailing_zeros() })
    }

    /// The value of a node; None where no prefix of a name has the hash.
    fn value(&self, hash: u64) -> Option<i32> {
        self.value_from(self.node(hash), hash)
    }

    /// The first node that may have a hash.
    fn node(&self, hash: u64) -> usize {
        read(self.buckets, (hash >> self.shift) as usize).map_or(usize::MAX, |node| u32::from_le_bytes(node) as usize)
    }

    /// The hash of a node.
    fn hash(&self, node: usize) -> Option<u64> {
        read(self.hashes, node).map(u64::from_le_bytes)
    }

    fn value_from(&self, mut node: usize, hash: u64) -> Option<i32> {
        loop {
            let other = self.hash(node)?;
            if other >= hash {
                return if other == hash { read(self.values, node).map(i32::from_le_bytes) } else { None };
            }
            node += 1;
        }
    }
}

fn read<const SIZE: usize>(array: &[u8], index: usize) -> Option<[u8; SIZE]> {
    let first = index.checked_mul(SIZE)?;
    array.get(first..first.checked_add(SIZE)?)?.try_into().ok()
}

/// A unit with which a name may begin and end, in a folded text.
struct Atom {
    /// The hashes of the text before the atom, and with it.
    before: u64,
    after: u64,
    /// What makes a difference of these the hash of a name.
    factor: u64,
    /// Where it begins and ends.
    first: u32,
    last: u32,
    begins: bool,
    ends: bool,
    ends_text: bool,
}

impl Atom {
    /// The hash from this atom to the end of another.
    fn hash_to(&self, end: &Atom) -> u64 {
        end.after.wrapping_sub(self.before).wrapping_mul(self.factor)
    }
}

/// Cut a text into atoms, and add them to others. Return whether the folded text is shorter.
fn cut(text: &str, characters: &mut Characters, atoms: &mut Vec<Atom>) -> bool {
    let first_atom = atoms.len();
    characters.reach(text.len());
    let (mut before, mut sum) = (BREAK, 0u64);
    let (mut at, mut is_shorter) = (0, false);
    for char in text.chars() {
        let (entry, hash) = characters.with_hash(char);
        let kind = kind_of(entry);
        let (power, factor) = characters.powers[at as usize];
        if !(kind == WORD && before == WORD || continues(before, kind)) {
            if before != SPACE {
                finish(&mut atoms[first_atom..], sum, before, at);
            } else if kind == SPACE {
                is_shorter = true;
                continue;
            }
            if kind != SPACE {
                let follows = before == SYLLABLE || before == MARK;
                let begins = kind != MARK && !(kind == SYLLABLE && follows);
                let (ends, ends_text) = (false, false);
                atoms.push(Atom { before: sum, after: 0, factor, first: at, last: at, begins, ends, ends_text });
            }
        }
        sum = sum.wrapping_add(hash.wrapping_mul(power));
        (at, before) = (at + 1, kind);
    }
    if before != SPACE {
        finish(&mut atoms[first_atom..], sum, before, at);
    }
    if let Some(atom) = atoms[first_atom..].last_mut() {
        atom.ends_text = true;
    }
    is_shorter
}

/// End the last atom.
fn finish(atoms: &mut [Atom], sum: u64, before: u8, at: u32) {
    if let Some(atom) = atoms.last_mut() {
        (atom.after, atom.ends, atom.last) = (sum, before != VOWEL_BEFORE, at);
    }
}

/// The characters of a text, for its links.
#[derive(Default)]
struct Points {
    /// The descriptions of all.
    entries: Vec<u32>,
    /// The numbers in the text of the characters that are kept when it is folded, and the number of all.
    kept: Vec<usize>,
}

impl Points {
    fn read(&mut self, text: &str, characters: &mut Characters) {
        self.entries.clear();
        self.entries.extend(text.chars().map(|char| characters.get(char)));
        self.kept.clear();
        let mut before = BREAK;
        for (number, kind) in self.entries.iter().copied().map(kind_of).enumerate() {
            if kind != SPACE || before != SPACE {
                self.kept.push(number);
            }
            before = kind;
        }
        self.kept.push(self.entries.len());
    }

    /// A link without quotation marks, as a range of the folded text; None where it is not in the text.
    fn folded(&self, span: (usize, usize)) -> Option<(usize, usize)> {
        let (first, last) = without_quotes(&self.entries, span)?;
        let place = |offset| self.kept.partition_point(|&kept| kept < offset);
        Some((place(first), place(last)))
    }

    /// The hash of a range of the folded text.
    fn hash(&self, (first, last): (usize, usize)) -> u64 {
        let (mut hash, mut power) = (0u64, 1u64);
        for &kept in self.kept.get(first..last).unwrap_or_default() {
            hash = hash.wrapping_add(mixed(folded(self.entries[kept])).wrapping_mul(power));
            power = power.wrapping_mul(BASE);
        }
        hash
    }
}

/// Whether a name may begin and end at places of a folded text, given its atoms.
fn on_atoms((first, last): (usize, usize), atoms: &[Atom]) -> bool {
    let begins = atoms.binary_search_by_key(&first, |atom| atom.first as usize);
    let ends = atoms.binary_search_by_key(&last, |atom| atom.last as usize);
    begins.is_ok_and(|number| atoms[number].begins) && ends.is_ok_and(|number| atoms[number].ends)
}

/// Whether a character belongs to the atom of the one before it.
fn continues(before: u8, kind: u8) -> bool {
    match kind {
        MARK => before != SPACE && before != BREAK,
        WORD => before == WORD || before == MARK,
        KATAKANA => before == KATAKANA,
        _ => false,
    }
}

#[derive(Default)]
struct Occurrences {
    number: u32,
    pages: u32,
    last_page: u32,
}

/// Some atoms one after the other, the hash of these, where it would be in the table, and the hash that is there.
struct Run {
    first: usize,
    last: usize,
    hash: u64,
    node: usize,
    there: u64,
}

/// Counts how often each name of a table occurs, linked or not, and on how many pages.
#[derive(Default)]
pub struct OccurrenceCounter {
    counts: FxHashMap<i32, Occurrences>,
    page: u32,
    atoms: Vec<Atom>,
    points: Points,
    /// Those that are looked up together, and the longer ones after them.
    runs: Vec<Run>,
    longer: Vec<Run>,
}

/// Atoms that are looked up together, so that the processor waits for several at a time.
const TOGETHER: usize = 512;

impl OccurrenceCounter {
    /// Count the names in texts; None where a text or a link is not in the data.
    pub fn add(&mut self, characters: &mut Characters, table: &NameTable<'_>, texts: &Texts<'_>) -> Option<()> {
        for (row, begins_page) in texts.rows()? {
            if begins_page || self.atoms.len() >= TOGETHER {
                self.count_names(table);
                self.page += u32::from(begins_page);
            }
            let (text, links, first_atom) = (texts.text(row)?, texts.links(row)?, self.atoms.len());
            let is_shorter = cut(text, characters, &mut self.atoms);
            if links.is_empty() {
                continue;
            }
            let is_simple = !is_shorter && text.is_ascii();
            let mut is_read = false;
            for link in links {
                let span = texts.span(link)?;
                let bytes = text.as_bytes().get(span.0..span.1);
                // Most links are at the bounds of atoms: those inside words are not.
                let is_simple = is_simple && bytes.is_some_and(|link| is_without_quotes(link, characters));
                if is_simple && on_atoms(span, &self.atoms[first_atom..]) {
                    continue;
                }
                if !is_read {
                    self.points.read(text, characters);
                    is_read = true;
                }
                let span = self.points.folded(span)?;
                if !on_atoms(span, &self.atoms[first_atom..]) {
                    if let Some(value) = table.value(self.points.hash(span)) {
                        self.count(value);
                    }
                }
            }
        }
        self.count_names(table);
        Some(())
    }

    /// Count the names that atoms of one page begin with: first those of one atom, then those of two, and so on.
    fn count_names(&mut self, table: &NameTable<'_>) {
        let atoms = std::mem::take(&mut self.atoms);
        let (mut runs, mut longer) = (std::mem::take(&mut self.runs), std::mem::take(&mut self.longer));
        let run_of = |first: usize, last: usize| {
            let hash = atoms[first].hash_to(&atoms[last]);
            Run { first, last, hash, node: table.node(hash), there: 0 }
        };
        runs.extend((0..atoms.len()).filter(|&number| atoms[number].begins).map(|number| run_of(number, number)));
        while !runs.is_empty() {
            // A loop of its own, so that the processor waits for all of them at once.
            runs.iter_mut().for_each(|run| run.there = table.hash(run.node).unwrap_or(u64::MAX));
            for run in runs.drain(..) {
                let value = if run.there > run.hash { None } else { table.value_from(run.node, run.hash) };
                let Some(value) = value else { continue };
                if atoms[run.last].ends {
                    self.count(value);
                }
                if value & 1 != 0 && !atoms[run.last].ends_text {
                    longer.push(run_of(run.first, run.last + 1));
                }
            }
            std::mem::swap(&mut runs, &mut longer);
        }
        (self.runs, self.longer, self.atoms) = (runs, longer, atoms);
        self.atoms.clear();
    }

    /// Count an occurrence of a name, given by the value of its node.
    fn count(&mut self, value: i32) {
        if value >= 0 {
            let counts = self.counts.entry(value >> 1).or_default();
            counts.number += 1;
            counts.pages += u32::from(counts.last_page != self.page);
            counts.last_page = self.page;
        }
    }

    /// The names by number, with their numbers of occurrences and of pages.
    pub fn take(&mut self) -> [Numbers; 3] {
        let mut counts: Vec<_> = std::mem::take(&mut self.counts).into_iter().collect();
        counts.sort_unstable_by_key(|&(name, _)| name);
        let mut columns = [(); 3].map(|()| Numbers::default());
        for (name, counts) in counts {
            for (column, number) in
                columns.iter_mut().zip([i64::from(name), i64::from(counts.number), i64::from(counts.pages)])
            {
                column.push_long(number);
            }
        }
        columns
    }
}

/// Whether a link in ASCII has no quotation mark at its edges.
fn is_without_quotes(link: &[u8], characters: &mut Characters) -> bool {
    let edges = [link.first(), link.last()].into_iter().flatten();
    edges.fold(0, |bits, &byte| bits | characters.get(char::from(byte))) & QUOTE == 0
}

/// What a surface is: its key, the length of that, and whether it has a gap and a letter.
#[derive(Clone, Copy)]
struct Surface {
    key: u32,
    length: usize,
    has_gap: bool,
    has_letters: bool,
}

struct LinkCounts {
    links: i64,
    pages: i64,
    pages_of_key: i64,
    /// The number of the key with the item.
    target: u32,
}

/// Why a link does not count.
pub const TOO_LONG: u8 = 1;
pub const HAS_GAP: u8 = 2;
pub const IS_NUMBER: u8 = 3;
/// Its text is not read.
pub const NOT_READ: u8 = 4;

/// Counts links by anchor text and item.
pub struct AnchorCounter {
    max_length: usize,
    page: u64,
    surfaces: FxHashMap<Box<str>, u32>,
    facts: Vec<Surface>,
    /// Keys as they are hashed: with white space at their edges.
    keys: FxHashMap<Box<str>, u32>,
    /// The numbers of keys with an item.
    targets: FxHashMap<(u32, i64), u32>,
    /// The last page with a key, and with a key and an item.
    pages_of_keys: Vec<u64>,
    pages: Vec<u64>,
    counts: FxHashMap<(u32, i64), LinkCounts>,
}

/// Columns of names: key and surface, item, and numbers of links, of pages with such a link, and of those with the key.
pub struct AnchorColumns {
    pub strings: [Strings; 2],
    pub numbers: [Numbers; 4],
}

impl AnchorCounter {
    pub fn new(max_length: usize) -> AnchorCounter {
        AnchorCounter {
            max_length,
            page: 0,
            surfaces: FxHashMap::default(),
            facts: Vec::new(),
            keys: FxHashMap::default(),
            targets: FxHashMap::default(),
            pages_of_keys: Vec::new(),
            pages: Vec::new(),
            counts: FxHashMap::default(),
        }
    }

    /// Count the links of texts, given their items and for each whether it counts only if it has a letter. Return for
    /// each link why it does not count, or 0; None where a text or a link is not in the data.
    pub fn add(
        &mut self,
        characters: &mut Characters,
        texts: &Texts<'_>,
        items: &[i64],
        needs_letter: &[u8],
    ) -> Option<Vec<u8>> {
        let mut reasons = vec![NOT_READ; items.len()];
        if items.len() != texts.starts.len() || items.len() != needs_letter.len() {
            return None;
        }
        let mut places = Vec::new();
        for (row, begins_page) in texts.rows()? {
            self.page += u64::from(begins_page);
            let links = texts.links(row)?;
            if links.is_empty() {
                continue;
            }
            let text = texts.text(row)?;
            let is_ascii = text.is_ascii();
            if !is_ascii {
                places.clear();
                places.extend(text.char_indices().map(|(place, _)| place).chain([text.len()]));
            }
            for link in links {
                let (first, last) = texts.span(link)?;
                let span = if is_ascii { first..last } else { *places.get(first)?..*places.get(last)? };
                let surface = self.surface(text.get(span)?, characters);
                reasons[link] = self.count(surface, items[link], needs_letter[link] != 0);
            }
        }
        Some(reasons)
    }

    fn count(&mut self, surface: u32, item: i64, needs_letter: bool) -> u8 {
        let Surface { key, length, has_gap, has_letters } = self.facts[surface as usize];
        if has_gap {
            return HAS_GAP;
        }
        if length > self.max_length {
            return TOO_LONG;
        }
        if needs_letter && !has_letters {
            return IS_NUMBER;
        }
        let counts = self.counts.entry((surface, item)).or_insert_with(|| {
            let next = self.pages.len() as u32;
            let target = *self.targets.entry((key, item)).or_insert(next);
            self.pages.resize(self.pages.len() + usize::from(target == next), 0);
            LinkCounts { links: 0, pages: 0, pages_of_key: 0, target }
        });
        counts.links += 1;
        let last_page = &mut self.pages[counts.target as usize];
        counts.pages += i64::from(*last_page != self.page);
        *last_page = self.page;
        let last_page = &mut self.pages_of_keys[key as usize];
        counts.pages_of_key += i64::from(*last_page != self.page);
        *last_page = self.page;
        0
    }

    /// The number of a link's surface.
    fn surface(&mut self, link: &str, characters: &mut Characters) -> u32 {
        let surface = link_without_quotes(link, characters);
        if let Some(&number) = self.surfaces.get(surface) {
            return number;
        }
        let key = characters.fold(surface);
        let (length, next) = (key.chars().count(), self.keys.len() as u32);
        let key = *self.keys.entry(key.into_boxed_str()).or_insert(next);
        if key == next {
            self.pages_of_keys.push(0);
        }
        let of_any = surface.chars().fold(0, |bits, char| bits | characters.get(char));
        self.facts.push(Surface { key, length, has_gap: of_any & GAP != 0, has_letters: of_any & LETTER != 0 });
        let number = self.surfaces.len() as u32;
        self.surfaces.insert(surface.into(), number);
        number
    }

    /// The names in the order of key, surface and item.
    pub fn take(&mut self, characters: &mut Characters) -> AnchorColumns {
        self.targets.clear();
        self.pages.clear();
        let mut keys = vec![Box::default(); self.keys.len()];
        for (key, number) in std::mem::take(&mut self.keys) {
            keys[number as usize] = key;
        }
        // Other separators than those between texts are spaces.
        let surfaces: Vec<(Box<str>, u32)> = std::mem::take(&mut self.surfaces).into_iter().collect();
        let with_zero = |surface: &str| surface.contains('\0').then(|| surface.replace('\0', " "));
        let others: FxHashMap<u32, String> = surfaces
            .iter()
            .filter_map(|(surface, number)| Some((*number, characters.fold(&with_zero(surface)?))))
            .collect();
        let mut names: Vec<(u64, &str, &str, u32)> = surfaces
            .iter()
            .map(|(surface, number)| {
                let key = others.get(number).map_or(&*keys[self.facts[*number as usize].key as usize], |key| key);
                let key = key.trim_matches(' ');
                (head(key), key, &**surface, *number)
            })
            .collect();
        names.sort_unstable();
        let mut ranks = vec![0; names.len()];
        for (rank, (_, _, _, number)) in names.iter().enumerate() {
            ranks[*number as usize] = rank;
        }
        let mut rows: Vec<_> = std::mem::take(&mut self.counts)
            .into_iter()
            .map(|((surface, item), counts)| (ranks[surface as usize], item, counts))
            .collect();
        rows.sort_unstable_by_key(|&(rank, item, _)| (rank, item));
        let mut columns = AnchorColumns {
            strings: [Strings::default(), Strings::default()],
            numbers: [(); 4].map(|()| Numbers::default()),
        };
        for (rank, item, counts) in rows {
            let (_, key, surface, _) = names[rank];
            columns.strings[0].push(key);
            columns.strings[1].push(surface);
            let numbers = [item, counts.links, counts.pages, counts.pages_of_key];
            for (column, number) in columns.numbers.iter_mut().zip(numbers) {
                column.push_long(number);
            }
        }
        self.facts.clear();
        self.pages_of_keys.clear();
        columns
    }
}

/// A link without quotation marks at its edges, see `without_quotes`.
fn link_without_quotes<'a>(link: &'a str, characters: &mut Characters) -> &'a str {
    let edges = [link.chars().next(), link.chars().next_back()].into_iter().flatten();
    if edges.fold(0, |bits, char| bits | characters.get(char)) & QUOTE == 0 {
        return link;
    }
    let entries: Vec<u32> = link.chars().map(|char| characters.get(char)).collect();
    let (first, last) = without_quotes(&entries, (0, entries.len())).unwrap_or((0, entries.len()));
    let place = |number| link.char_indices().nth(number).map_or(link.len(), |(place, _)| place);
    &link[place(first)..place(last)]
}
