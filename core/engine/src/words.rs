//! The words of pages as bitmaps, in which the names of entities are looked up: `pipelines/pairs/words.py` and
//! `pipelines/pairs/page_bitmaps.py`, which say how.
//!
//! Each page is read twice: eight bytes at a time for the bits of bytes that are in words, and word by word.

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
const NEXT: u64 = 0xBF58_476D_1CE4_E5B9;
const LOWEST: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = 0x8080_8080_8080_8080;
/// Gathers the lowest bits of eight bytes in the highest byte.
const GATHER: u64 = 0x0102_0408_1020_4080;
/// Letters by which words are compared, and by which words next to each other are.
const STEM: u64 = 4;
const SHORT: u64 = 3;
/// A word of ASCII with fewer bytes may be a name of three letters with an ending.
const SEVEN_BYTES: u64 = 1 << 48;
const FEWEST_BITS: usize = 64;

/// The bitmaps of pages.
#[derive(Default)]
pub struct Bitmaps {
    /// Those of all pages, one after the other; the first bit is the lowest of the first byte.
    pub bits: Vec<u8>,
    /// The binary logarithm of the number of bits of each page.
    pub exponents: Vec<u8>,
}

/// Makes the bitmaps of pages from their texts.
pub struct Searcher<'a> {
    data: &'a [u8],
    first_single: u8,
    bits_per_word: usize,
    /// Bits of 64 bytes of the texts of a page; each text begins with a number of its own.
    blocks: Vec<Block>,
}

/// Bits of 64 bytes.
#[derive(Clone, Copy, Default)]
struct Block {
    /// Those in words of several characters.
    inside: u64,
    /// Those with which words begin.
    begins: u64,
}

impl Searcher<'_> {
    /// Characters whose UTF-8 begins with `first_single` or a greater byte are words by themselves.
    pub fn new(data: &[u8], first_single: u8, bits_per_word: usize) -> Searcher<'_> {
        Searcher { data, first_single, bits_per_word, blocks: Vec::new() }
    }

    /// Add the bitmap of a page, given the offsets of its texts and the end of the last; None where one is not in the
    /// data.
    pub fn add(&mut self, offsets: &[usize], bitmaps: &mut Bitmaps) -> Option<()> {
        self.blocks.clear();
        for pair in offsets.windows(2) {
            self.find_words(pair[0], pair[1])?;
        }
        let words: usize = self.blocks.iter().map(|block| block.begins.count_ones() as usize).sum();
        let exponent = (words * self.bits_per_word).max(FEWEST_BITS).next_power_of_two().trailing_zeros();
        let first = bitmaps.bits.len();
        bitmaps.bits.resize(first + (1 << (exponent - 3)), 0);
        bitmaps.exponents.push(exponent as u8);
        let mut page = Page { bits: &mut bitmaps.bits[first..], shift: 64 - exponent, before: None };
        let mut blocks = self.blocks.as_slice();
        for pair in offsets.windows(2) {
            let (text, rest) = blocks.split_at((pair[1] - pair[0]).div_ceil(64));
            self.set_words(pair[0], text, &mut page);
            blocks = rest;
        }
        Some(())
    }

    /// Append the blocks of a text.
    fn find_words(&mut self, start: usize, end: usize) -> Option<()> {
        let text = self.data.get(start..end)?;
        let first = self.blocks.len();
        self.blocks.resize(first + text.len().div_ceil(64), Block::default());
        let blocks = &mut self.blocks[first..];
        let mut singles = false;
        for (number, block) in blocks.iter_mut().enumerate() {
            let part = &text[64 * number..];
            for byte in (0..part.len().min(64)).step_by(8) {
                let eight = window(part, byte);
                block.inside |= letters(eight) << byte;
                singles |= leads(eight) != 0;
            }
        }
        if singles {
            clear_signs(text, self.first_single, blocks);
        }
        let mut before = 0;
        for block in blocks {
            block.begins |= block.inside & !(block.inside << 1 | before);
            before = block.inside >> 63;
        }
        Some(())
    }

    /// Set the bits of the words of a text.
    fn set_words(&self, start: usize, blocks: &[Block], page: &mut Page<'_>) {
        for (number, block) in blocks.iter().enumerate() {
            let mut begins = block.begins;
            while begins != 0 {
                let bit = begins.trailing_zeros();
                begins &= begins - 1;
                let at = start + 64 * number + bit as usize;
                let mut length = (!(block.inside >> bit)).trailing_zeros() as usize;
                if length == 0 {
                    page.set_single(window(self.data, at) & 0xFF_FFFF);
                    continue;
                }
                if length + bit as usize == 64 {
                    let next = blocks.get(number + 1).map_or(0, |block| (!block.inside).trailing_zeros());
                    length += next as usize;
                }
                let head = folded(window(self.data, at)) & u64::MAX >> (64 - 8 * length.min(8));
                if head & HIGHEST == 0 {
                    page.set_ascii(head);
                } else {
                    let tail = match length {
                        0..=8 => 0,
                        _ => folded(window(self.data, at + 8)) & u64::MAX >> (64 - 8 * (length - 8).min(8)),
                    };
                    page.set_wide(head, tail);
                }
            }
        }
    }
}

/// Take the bits of characters that are in no word of several, and let those that are words by themselves begin one.
fn clear_signs(text: &[u8], first_single: u8, blocks: &mut [Block]) {
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let is_single = byte >= first_single && byte != 0xE2;
        let length = match byte {
            0xE2 => 3,
            0xC2 => 2,
            // The Arabic comma, semicolon and question mark.
            0xD8 if matches!(text.get(at + 1), Some(0x8C | 0x9B | 0x9F)) => 2,
            _ if is_single => 3,
            _ => 0,
        };
        if is_single {
            blocks[at / 64].begins |= 1 << (at % 64);
        }
        for cleared in at..(at + length).min(text.len()) {
            blocks[cleared / 64].inside &= !(1 << (cleared % 64));
        }
        at += length.max(1);
    }
}

/// The bitmap of a page.
struct Page<'a> {
    bits: &'a mut [u8],
    shift: u32,
    /// The hash of the word before.
    before: Option<u64>,
}

impl Page<'_> {
    fn set(&mut self, hash: u64) {
        let bit = hash >> self.shift;
        self.bits[(bit >> 3) as usize] |= 1 << (bit & 7);
    }

    /// Set the bit of a word and the one before, given the hash of its first letters.
    fn set_pair(&mut self, short: u64) {
        if let Some(before) = self.before {
            self.set(before.wrapping_mul(NEXT).wrapping_add(short));
        }
        self.before = Some(short);
    }

    fn set_single(&mut self, character: u64) {
        self.set_pair(character.wrapping_mul(STEP));
    }

    /// Set the bits of a word whose first eight bytes are ASCII.
    fn set_ascii(&mut self, head: u64) {
        let (stem, short) = ((head & 0xFFFF_FFFF).wrapping_mul(STEP), (head & 0xFF_FFFF).wrapping_mul(STEP));
        self.set(stem);
        // Setting a bit twice is faster than a jump.
        self.set(if head < SEVEN_BYTES { short } else { stem });
        self.set_pair(short);
    }

    /// Set the bits of another word, given its first eight bytes and the next.
    fn set_wide(&mut self, head: u64, tail: u64) {
        let short = wide(head, tail, SHORT);
        self.set(wide(head, tail, STEM));
        self.set(short);
        self.set_pair(short);
    }
}

/// A hash of the first letters of a word with others than those of ASCII.
fn wide(head: u64, tail: u64, letters: u64) -> u64 {
    let ordinals = ordinals(head);
    let mut hash = until(head, ordinals, letters);
    let before = ordinals >> 56;
    if before <= letters {
        let later = self::ordinals(tail).wrapping_add(before.wrapping_mul(LOWEST));
        hash = hash.wrapping_add(until(tail, later, letters).wrapping_mul(NEXT));
    }
    hash.wrapping_mul(STEP)
}

/// For each byte of eight the number of letters that begin up to it, in bytes.
fn ordinals(bytes: u64) -> u64 {
    ((!(bytes & !(bytes << 1)) >> 7) & LOWEST).wrapping_mul(LOWEST)
}

/// Eight bytes without those of letters after the first `letters`.
fn until(bytes: u64, ordinals: u64, letters: u64) -> u64 {
    let beyond = ordinals.wrapping_add(LOWEST * (0x7F - letters)) & HIGHEST;
    bytes & !((beyond >> 7) * 0xFF)
}

/// Eight bytes from an offset, with zeros behind the text.
fn window(text: &[u8], at: usize) -> u64 {
    if let Some(Ok(bytes)) = text.get(at..at + 8).map(TryInto::try_into) {
        return u64::from_le_bytes(bytes);
    }
    let mut bytes = [0; 8];
    let rest = text.get(at..).unwrap_or_default();
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}

/// The bits of bytes that are letters, digits or not ASCII.
fn letters(bytes: u64) -> u64 {
    let (ascii, other) = (bytes & !HIGHEST, bytes & HIGHEST);
    let lower = ascii | (LOWEST * 0x20);
    let letter = (lower + LOWEST * (0x80 - 0x61)) & !(lower + LOWEST * (0x80 - 0x7B));
    let digit = (ascii + LOWEST * (0x80 - 0x30)) & !(ascii + LOWEST * (0x80 - 0x3A));
    (((letter | digit | other) & HIGHEST) >> 7).wrapping_mul(GATHER) >> 56
}

/// Not 0 where a byte may begin a character that is in no word of several.
fn leads(bytes: u64) -> u64 {
    let equal = |byte: u64| {
        let other = bytes ^ (LOWEST * byte);
        !(((other & !HIGHEST) + (LOWEST * 0x7F)) | other) & HIGHEST
    };
    (bytes & bytes << 1 & bytes << 2 & HIGHEST) | equal(0xC2) | equal(0xD8)
}

/// Bytes with the letters of ASCII in lower case; all bytes of ASCII are letters or digits.
fn folded(bytes: u64) -> u64 {
    bytes | ((!bytes & HIGHEST) >> 2)
}
