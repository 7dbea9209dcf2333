//! The words of pages as bitmaps, in which the names of entities are looked up: `pipelines/pairs/words.py` and
//! `pipelines/pairs/page_bitmaps.py`, which say how.
//!
//! Each page is read twice: a block of bytes at a time for the bits of those that are in words, and word by word.

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
/// Bytes whose bits are found at a time, simple enough for the compiler to take many in one instruction.
const BLOCK: usize = 64;

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
    /// Bits of BLOCK bytes of the texts of a page; each text begins with a number of its own.
    blocks: Vec<Block>,
    /// Where characters may begin that are in no word of several.
    signs: Vec<usize>,
}

/// Bits of BLOCK bytes.
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
        Searcher { data, first_single, bits_per_word, blocks: Vec::new(), signs: Vec::new() }
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
            let (text, rest) = blocks.split_at((pair[1] - pair[0]).div_ceil(BLOCK));
            self.set_words(pair[0], text, &mut page);
            blocks = rest;
        }
        Some(())
    }

    /// Append the blocks of a text.
    fn find_words(&mut self, start: usize, end: usize) -> Option<()> {
        let text = self.data.get(start..end)?;
        let first = self.blocks.len();
        let parts = text.chunks_exact(BLOCK);
        let mut last = [0; BLOCK];
        let rest = parts.remainder();
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(&last[..]);
        for (number, part) in parts.chain(last).filter_map(|part| part.try_into().ok()).enumerate() {
            self.blocks.push(Block { inside: letters(part), begins: 0 });
            let mut leads = leads(part);
            while leads != 0 {
                self.signs.push(BLOCK * number + leads.trailing_zeros() as usize);
                leads &= leads - 1;
            }
        }
        let blocks = &mut self.blocks[first..];
        for at in self.signs.drain(..) {
            clear_sign(text, at, self.first_single, blocks);
        }
        let mut before = 0;
        for block in blocks {
            block.begins |= block.inside & !(block.inside << 1 | before);
            before = block.inside >> 63;
        }
        Some(())
    }

    /// Set the bits of the words of a text.
    // Apart, so that the registers suffice.
    #[inline(never)]
    fn set_words(&self, start: usize, blocks: &[Block], all: &mut Page<'_>) {
        let mut page = Page { bits: &mut *all.bits, shift: all.shift, before: all.before };
        for (number, block) in blocks.iter().enumerate() {
            let mut begins = block.begins;
            while begins != 0 {
                let bit = begins.trailing_zeros();
                begins &= begins - 1;
                let at = start + BLOCK * number + bit as usize;
                let mut length = (!(block.inside >> bit)).trailing_zeros() as usize;
                if length == 0 {
                    page.set_single(window(self.data, at) & 0xFF_FFFF);
                    continue;
                }
                if length + bit as usize == BLOCK {
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
        all.before = page.before;
    }
}

/// Take the bits of a character that is in no word of several, and let one that is a word by itself begin one.
fn clear_sign(text: &[u8], at: usize, first_single: u8, blocks: &mut [Block]) {
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
        blocks[at / BLOCK].begins |= 1 << (at % BLOCK);
    }
    for cleared in at..(at + length).min(text.len()) {
        blocks[cleared / BLOCK].inside &= !(1 << (cleared % BLOCK));
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
    last_window(text, at)
}

#[cold]
fn last_window(text: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = text.get(at..).unwrap_or_default();
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}

/// The bits of bytes that are letters, digits or not ASCII.
fn letters(bytes: &[u8; BLOCK]) -> u64 {
    gathered(&bytes.map(|byte| {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        u8::from(letter) | u8::from(byte.wrapping_sub(b'0') < 10) | byte >> 7
    }))
}

/// The bits of bytes that may begin a character that is in no word of several.
fn leads(bytes: &[u8; BLOCK]) -> u64 {
    if bytes.is_ascii() {
        return 0;
    }
    gathered(&bytes.map(|byte| u8::from(byte == 0xC2) | u8::from(byte == 0xD8) | u8::from(byte >= 0xE0)))
}

/// The lowest bits of bytes.
fn gathered(bytes: &[u8; BLOCK]) -> u64 {
    let mut bits = 0;
    for (number, eight) in bytes.chunks_exact(8).enumerate() {
        let eight = eight.try_into().map_or(0, u64::from_le_bytes);
        bits |= (eight.wrapping_mul(GATHER) >> 56) << (8 * number);
    }
    bits
}

/// Bytes with the letters of ASCII in lower case; all bytes of ASCII are letters or digits.
fn folded(bytes: u64) -> u64 {
    bytes | ((!bytes & HIGHEST) >> 2)
}
