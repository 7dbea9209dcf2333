//! Decompress bz2 in less CPU than libbz2, which takes a third of a whole build.
//!
//! A block is a Burrows-Wheeler transform of up to 900,000 bytes (M. Burrows, D. Wheeler, 1994), run-length coded before
//! and after it, in Huffman codes. To undo the transform is to follow a chain through 3.6 MB: each step waits for the
//! memory. So the chains of several blocks are followed at the same time.
//!
//! Checked as libbz2 does: the magic of stream and blocks, each table and length, and the sums of blocks and stream.
//! Blocks that are "randomised", which only bzip2 before 0.9.5 of 1999 wrote, are an error.

const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
/// Most bits of a code, symbols of an alphabet, tables of a block, and symbols that a table serves in turn.
const LONGEST: usize = 20;
const SYMBOLS: usize = 258;
const TABLES: usize = 6;
const GROUP: usize = 50;
/// Selectors beyond these are read and not used: blocks of 900,000 symbols need no more.
const SELECTORS: usize = 18_002;
/// Codes up to this length are looked up.
const SHORT: usize = 10;
/// Pieces of a chain that are followed at the same time; how many there are of a block, at most; and their shortest
/// mean length.
const LANES: usize = 8;
const PIECES: usize = 256;
const PIECE: usize = 1024;
/// In a chain, where a piece begins.
const MARK: u32 = 1 << 31;
/// A run of one byte is longer than any block from here on.
const LONGEST_RUN: usize = 1 << 21;
/// What lets eight bytes be read at any byte of the input.
const PADDING: usize = 8;

/// Why data cannot be decompressed.
pub type Fault = &'static str;

enum Stop {
    /// The data goes on beyond the input so far.
    Short,
    Fault(Fault),
}

type Read<T> = Result<T, Stop>;

/// The input that has not been decoded, and the position in it.
#[derive(Default)]
struct Input {
    /// Followed by `PADDING` zeros.
    data: Vec<u8>,
    length: usize,
    bit: usize,
}

impl Input {
    fn feed(&mut self, data: &[u8]) {
        let done = self.bit / 8;
        self.data.truncate(self.length);
        self.data.drain(..done);
        self.bit -= done * 8;
        self.data.extend_from_slice(data);
        self.length = self.data.len();
        self.data.extend_from_slice(&[0; PADDING]);
    }

    /// The next 57 bits or more, the first of them on top; zeros follow the end.
    #[inline]
    fn peek(&self) -> u64 {
        let at = self.bit / 8;
        match self.data.get(at..at + 8) {
            Some(bytes) => u64::from_be_bytes(bytes.try_into().expect("eight bytes")) << (self.bit % 8),
            None => 0,
        }
    }

    #[inline]
    fn skip(&mut self, bits: usize) -> Read<()> {
        self.bit += bits;
        if self.bit > self.length * 8 {
            return Err(Stop::Short);
        }
        Ok(())
    }

    /// The number of the next bits, at most 48.
    #[inline]
    fn take(&mut self, bits: usize) -> Read<u64> {
        let value = self.peek() >> (64 - bits);
        self.skip(bits)?;
        Ok(value)
    }
}

/// The Huffman codes of one table: canonical, shorter ones first.
struct Codes {
    /// By the next `SHORT` bits: symbol and length of the code that they begin with, 0 if it is longer.
    short: Box<[u16; 1 << SHORT]>,
    /// By length: the first code, how many there are, and the index of its symbol.
    lengths: [(u32, u32, u32); LONGEST + 1],
    symbols: Vec<u16>,
}

impl Codes {
    fn new(lengths: &[u8]) -> Codes {
        let mut by_length = [(0, 0, 0); LONGEST + 1];
        let mut symbols = Vec::with_capacity(lengths.len());
        let mut code = 0u32;
        for (length, entry) in by_length.iter_mut().enumerate().skip(1) {
            code <<= 1;
            let first = symbols.len();
            symbols
                .extend((0..lengths.len()).filter(|&symbol| usize::from(lengths[symbol]) == length).map(|s| s as u16));
            let count = (symbols.len() - first) as u32;
            *entry = (code, count, first as u32);
            code = code.wrapping_add(count);
        }
        let mut codes = Codes { short: Box::new([0; 1 << SHORT]), lengths: by_length, symbols };
        for prefix in 0..1usize << SHORT {
            if let Some((symbol, length)) = codes.find((prefix as u64) << (64 - SHORT), SHORT) {
                codes.short[prefix] = symbol << 5 | length as u16;
            }
        }
        codes
    }

    /// The symbol whose code the bits begin with, and the length of the code.
    fn find(&self, bits: u64, longest: usize) -> Option<(u16, usize)> {
        for (length, &(first, count, index)) in self.lengths.iter().enumerate().take(longest + 1).skip(1) {
            let code = (bits >> (64 - length)) as u32;
            if code.wrapping_sub(first) < count {
                return Some((self.symbols[(index + code - first) as usize], length));
            }
        }
        None
    }
}

/// A block whose symbols are being read.
struct Block {
    sum: u32,
    origin: usize,
    tables: Vec<Codes>,
    selectors: Vec<u8>,
    /// Symbols read.
    read: usize,
    /// Bytes by when they were used last.
    recent: [u8; 256],
    run: usize,
    weight: usize,
    end: u16,
    /// The last column of the transform, and how often each byte is in it.
    last: Vec<u8>,
    counts: [u32; 256],
}

/// A block whose transform is undone.
struct Text {
    bytes: Vec<u8>,
    sum: u32,
}

enum State {
    Begin,
    Between,
    Block(Box<Block>),
    Ended,
    Failed(Fault),
}

/// Decompress one stream of bz2, given in pieces.
///
/// ```
/// use wikianchor_engine::bzip2::Decompressor;
/// let empty = *b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0and more";
/// let mut decompressor = Decompressor::default();
/// decompressor.feed(&empty);
/// assert_eq!(decompressor.read(10), Ok(vec![]));
/// assert!(decompressor.ended());
/// assert_eq!(decompressor.unused(), b"and more");
/// ```
pub struct Decompressor {
    input: Input,
    state: State,
    block_bytes: usize,
    /// What is read of a block and not yet returned.
    text: Option<Text>,
    output: Output,
    /// The sum of the stream so far, as its blocks say.
    sum: u32,
    chains: Chains,
    spare: Vec<u8>,
}

impl Default for Decompressor {
    fn default() -> Decompressor {
        let (input, output, chains) = (Input::default(), Output::default(), Chains::default());
        let (state, block_bytes, text, sum, spare) = (State::Begin, 0, None, 0, Vec::new());
        Decompressor { input, state, block_bytes, text, output, sum, chains, spare }
    }
}

impl Decompressor {
    /// Give the next piece of the stream.
    pub fn feed(&mut self, data: &[u8]) {
        self.input.feed(data);
    }

    /// Return at most this many bytes, or one; none if the stream has ended or more of it is needed.
    ///
    /// # Errors
    ///
    /// The stream is damaged. The blocks before the damaged one have been returned.
    pub fn read(&mut self, longest: usize) -> Result<Vec<u8>, Fault> {
        loop {
            if let Some(text) = &self.text {
                let mut bytes = Vec::with_capacity(longest.min(text.bytes.len() + text.bytes.len() / 8));
                if self.output.write(text, &mut bytes, longest.max(1)) {
                    if !self.output.sum != text.sum {
                        self.state = State::Failed("the checksum of a block is wrong");
                        // A reader of damaged text would find other faults in it.
                        bytes.clear();
                    }
                    self.output = Output::default();
                    self.spare = self.text.take().map(|text| text.bytes).unwrap_or_default();
                }
                if self.text.is_none() {
                    // Whether the stream ends here.
                    self.advance();
                }
                if !bytes.is_empty() {
                    return Ok(bytes);
                }
            } else if !self.advance() {
                return match self.state {
                    State::Failed(fault) => Err(fault),
                    _ => Ok(Vec::new()),
                };
            }
        }
    }

    /// Read what comes next of the stream, and return whether there was any.
    fn advance(&mut self) -> bool {
        let bit = self.input.bit;
        match self.step() {
            Ok(changed) => changed,
            Err(Stop::Fault(fault)) => {
                self.state = State::Failed(fault);
                false
            }
            Err(Stop::Short) => {
                // A block keeps its own position; the rest is short, and is read again.
                if !matches!(self.state, State::Block(_)) {
                    self.input.bit = bit;
                }
                false
            }
        }
    }

    /// Whether the stream has ended and all of it has been returned.
    pub fn ended(&self) -> bool {
        matches!(self.state, State::Ended) && self.text.is_none()
    }

    /// What follows the stream in the input.
    pub fn unused(&self) -> &[u8] {
        if self.ended() {
            &self.input.data[self.input.bit / 8..self.input.length]
        } else {
            &[]
        }
    }

    fn step(&mut self) -> Read<bool> {
        match &mut self.state {
            State::Begin => {
                let magic = self.input.take(32)?;
                let level = (magic & 0xFF) as u8;
                if magic >> 8 != 0x42_5A68 || !level.is_ascii_digit() || level == b'0' {
                    return Err(Stop::Fault("no bz2 stream"));
                }
                self.block_bytes = usize::from(level - b'0') * 100_000;
                self.state = State::Between;
            }
            State::Between => match self.input.take(48)? {
                BLOCK => {
                    let last = std::mem::take(&mut self.spare);
                    let block = Block::read_head(&mut self.input, self.block_bytes, last)?;
                    self.sum = self.sum.rotate_left(1) ^ block.sum;
                    self.state = State::Block(Box::new(block));
                }
                END => {
                    if self.input.take(32)? != u64::from(self.sum) {
                        return Err(Stop::Fault("the checksum of the stream is wrong"));
                    }
                    self.input.bit = self.input.bit.next_multiple_of(8);
                    self.state = State::Ended;
                }
                _ => return Err(Stop::Fault("no block where one has to begin")),
            },
            State::Block(block) => {
                block.read_symbols(&mut self.input, self.block_bytes)?;
                if block.origin >= block.last.len() {
                    return Err(Stop::Fault("a block begins outside of itself"));
                }
                self.chains.undo(&mut block.last, &block.counts, block.origin);
                self.text = Some(Text { bytes: std::mem::take(&mut block.last), sum: block.sum });
                self.state = State::Between;
            }
            State::Ended | State::Failed(_) => return Ok(false),
        }
        Ok(true)
    }
}

/// Space to undo transforms in.
#[derive(Default)]
struct Chains {
    /// By row of the sorted rotations of a block: its last byte, and from bit 8 on the row of the rotation by one byte.
    rows: Vec<u32>,
    lanes: [Vec<u8>; LANES],
}

/// A piece of a chain: its first row, the bytes of a lane that it says, and the row behind them.
#[derive(Clone, Default)]
struct Piece {
    row: u32,
    lane: usize,
    start: usize,
    end: usize,
    next: u32,
}

impl Chains {
    /// Replace the last column of a transform by the text.
    fn undo(&mut self, column: &mut [u8], counts: &[u32; 256], origin: usize) {
        self.link(column, counts);
        let mut row = self.rows[origin] >> 8;
        let pieces = self.follow(column.len(), row);
        // If the text repeats itself, the chain comes back before the end, and is followed again.
        let mut done = 0;
        while done < column.len() {
            let Ok(number) = pieces.binary_search_by_key(&row, |piece| piece.row) else { return };
            let piece = &pieces[number];
            let bytes = &self.lanes[piece.lane][piece.start..piece.end];
            let bytes = &bytes[..bytes.len().min(column.len() - done)];
            column[done..done + bytes.len()].copy_from_slice(bytes);
            done += bytes.len();
            row = piece.next;
        }
    }

    fn link(&mut self, column: &[u8], counts: &[u32; 256]) {
        self.rows.clear();
        self.rows.extend(column.iter().map(|&byte| u32::from(byte)));
        let mut next = [0u32; 256];
        let mut sum = 0;
        for (start, count) in next.iter_mut().zip(counts) {
            *start = sum;
            sum += count;
        }
        for (row, &byte) in column.iter().enumerate() {
            let at = &mut next[usize::from(byte)];
            self.rows[*at as usize] |= (row as u32) << 8;
            *at += 1;
        }
    }

    /// Follow the chain from many rows, among them the first, and return the pieces by row.
    fn follow(&mut self, length: usize, first: u32) -> Vec<Piece> {
        let number = (length / PIECE).clamp(1, PIECES);
        let mut rows: Vec<u32> = (0..number).map(|piece| (piece * length / number) as u32).chain([first]).collect();
        rows.sort_unstable();
        rows.dedup();
        for &row in &rows {
            self.rows[row as usize] |= MARK;
        }
        let mut pieces: Vec<Piece> = rows.into_iter().map(|row| Piece { row, ..Piece::default() }).collect();
        for lane in &mut self.lanes {
            if lane.len() < length {
                *lane = vec![0; length];
            }
        }
        let mut open: [Lane; LANES] = std::array::from_fn(|number| Lane { number, ..Lane::default() });
        let mut waiting = 0..pieces.len();
        if pieces.len() >= LANES {
            for lane in &mut open {
                if let Some(piece) = waiting.next() {
                    lane.begin(&mut pieces, piece, &self.rows);
                }
            }
            let last = 'all: loop {
                for (lane, bytes) in open.iter_mut().zip(&mut self.lanes) {
                    if lane.step(&self.rows, bytes) {
                        lane.end(&mut pieces);
                        let Some(piece) = waiting.next() else { break 'all lane.number };
                        lane.begin(&mut pieces, piece, &self.rows);
                    }
                }
            };
            for lane in open.iter_mut().filter(|lane| lane.number != last) {
                while !lane.step(&self.rows, &mut self.lanes[lane.number]) {}
                lane.end(&mut pieces);
            }
        }
        for piece in waiting {
            open[0].begin(&mut pieces, piece, &self.rows);
            while !open[0].step(&self.rows, &mut self.lanes[0]) {}
            open[0].end(&mut pieces);
        }
        pieces
    }
}

/// What follows one piece after the other.
#[derive(Default)]
struct Lane {
    number: usize,
    piece: usize,
    /// The row whose entry is next, and the entry.
    row: u32,
    entry: u32,
    /// Bytes written.
    at: usize,
}

impl Lane {
    fn begin(&mut self, pieces: &mut [Piece], piece: usize, rows: &[u32]) {
        (self.piece, self.row) = (piece, pieces[piece].row);
        self.entry = rows[self.row as usize] & !MARK;
        (pieces[piece].lane, pieces[piece].start) = (self.number, self.at);
    }

    /// Write a byte and go to the next row; return whether another piece begins there.
    #[inline(always)]
    fn step(&mut self, rows: &[u32], bytes: &mut [u8]) -> bool {
        bytes[self.at] = self.entry as u8;
        self.at += 1;
        self.row = self.entry >> 8;
        self.entry = rows[self.row as usize];
        self.entry & MARK != 0
    }

    fn end(&self, pieces: &mut [Piece]) {
        let piece = &mut pieces[self.piece];
        (piece.end, piece.next) = (self.at, self.row);
    }
}

impl Block {
    fn read_head(input: &mut Input, block_bytes: usize, mut last: Vec<u8>) -> Read<Block> {
        let sum = input.take(32)? as u32;
        if input.take(1)? == 1 {
            return Err(Stop::Fault("a randomised block, which bzip2 wrote before 1999"));
        }
        let origin = input.take(24)? as usize;
        if origin > block_bytes + 10 {
            return Err(Stop::Fault("a block begins outside of itself"));
        }
        let mut recent = [0; 256];
        let mut used = 0;
        let sixteens = input.take(16)?;
        for high in (0..16).filter(|high| sixteens >> (15 - high) & 1 == 1) {
            let bytes = input.take(16)?;
            for low in (0..16).filter(|low| bytes >> (15 - low) & 1 == 1) {
                recent[used] = (high * 16 + low) as u8;
                used += 1;
            }
        }
        if used == 0 {
            return Err(Stop::Fault("a block without bytes"));
        }
        let tables = input.take(3)? as usize;
        let selectors = input.take(15)? as usize;
        if !(2..=TABLES).contains(&tables) || selectors == 0 {
            return Err(Stop::Fault("a block with a wrong number of tables"));
        }
        let selectors = read_selectors(input, tables, selectors)?;
        let tables = (0..tables).map(|_| read_lengths(input, used + 2).map(|lengths| Codes::new(&lengths)));
        let tables = tables.collect::<Read<_>>()?;
        last.clear();
        last.reserve(block_bytes);
        let (end, counts) = ((used + 1) as u16, [0; 256]);
        Ok(Block { sum, origin, tables, selectors, read: 0, recent, run: 0, weight: 1, end, last, counts })
    }

    /// Read the symbols of the block up to its end; called again after `Stop::Short`.
    fn read_symbols(&mut self, input: &mut Input, block_bytes: usize) -> Read<()> {
        loop {
            let Some(&selector) = self.selectors.get(self.read / GROUP) else {
                return Err(Stop::Fault("a block that goes on beyond its tables"));
            };
            let codes = &self.tables[usize::from(selector)];
            for _ in self.read % GROUP..GROUP {
                let bits = input.peek();
                let (symbol, length) = match codes.short[(bits >> (64 - SHORT)) as usize] {
                    0 => match codes.find(bits, LONGEST) {
                        Some(found) => found,
                        // Zeros after the end of the input may be no code.
                        None if input.bit + LONGEST > input.length * 8 => return Err(Stop::Short),
                        None => return Err(Stop::Fault("a code that is in no table")),
                    },
                    entry => (entry >> 5, usize::from(entry & 31)),
                };
                if input.bit + length > input.length * 8 {
                    return Err(Stop::Short);
                }
                input.bit += length;
                self.read += 1;
                if symbol <= 1 {
                    if self.run >= LONGEST_RUN {
                        return Err(Stop::Fault("a run that is longer than a block"));
                    }
                    self.run += self.weight << symbol;
                    self.weight <<= 1;
                    continue;
                }
                if self.run > 0 {
                    if self.last.len() + self.run > block_bytes {
                        return Err(Stop::Fault("a block that is too long"));
                    }
                    let byte = self.recent[0];
                    self.counts[usize::from(byte)] += self.run as u32;
                    self.last.resize(self.last.len() + self.run, byte);
                    (self.run, self.weight) = (0, 1);
                }
                if symbol == self.end {
                    return Ok(());
                }
                if self.last.len() >= block_bytes {
                    return Err(Stop::Fault("a block that is too long"));
                }
                let index = usize::from(symbol - 1);
                let byte = self.recent[index];
                self.recent.copy_within(..index, 1);
                self.recent[0] = byte;
                self.counts[usize::from(byte)] += 1;
                self.last.push(byte);
            }
        }
    }
}

/// The table of each group of symbols: its number among those used last, in ones up to a zero.
fn read_selectors(input: &mut Input, tables: usize, count: usize) -> Read<Vec<u8>> {
    let mut recent: Vec<u8> = (0..tables as u8).collect();
    let mut selectors = Vec::with_capacity(count.min(SELECTORS));
    for _ in 0..count {
        let ones = input.peek().leading_ones() as usize;
        if ones >= tables {
            return Err(Stop::Fault("a table that the block does not have"));
        }
        input.skip(ones + 1)?;
        recent[..=ones].rotate_right(1);
        if selectors.len() < SELECTORS {
            selectors.push(recent[0]);
        }
    }
    Ok(selectors)
}

/// The length of the code of each symbol: the first in five bits, then 10 for one more and 11 for one less, up to a 0.
fn read_lengths(input: &mut Input, symbols: usize) -> Read<Vec<u8>> {
    debug_assert!(symbols <= SYMBOLS);
    let mut length = input.take(5)? as usize;
    let mut lengths = Vec::with_capacity(symbols);
    for _ in 0..symbols {
        loop {
            if !(1..=LONGEST).contains(&length) {
                return Err(Stop::Fault("a code of a wrong length"));
            }
            match input.peek() >> 62 {
                0 | 1 => break,
                2 => length += 1,
                _ => length -= 1,
            }
            input.skip(2)?;
        }
        input.skip(1)?;
        lengths.push(length as u8);
    }
    Ok(lengths)
}

/// Where the first run-length code of a block is being undone: after four equal bytes comes how often more.
struct Output {
    at: usize,
    /// Equal bytes at the end of what is written, of the byte.
    equal: u8,
    byte: u8,
    /// Bytes of a run still to write.
    run: usize,
    sum: u32,
}

impl Default for Output {
    fn default() -> Output {
        Output { at: 0, equal: 0, byte: 0, run: 0, sum: u32::MAX }
    }
}

impl Output {
    /// Append bytes of a block up to a length, and return whether they are all written.
    fn write(&mut self, text: &Text, bytes: &mut Vec<u8>, longest: usize) -> bool {
        let start = bytes.len();
        loop {
            if self.run > 0 {
                let count = self.run.min(longest - bytes.len());
                bytes.resize(bytes.len() + count, self.byte);
                self.run -= count;
            }
            let room = longest - bytes.len();
            if room == 0 || self.at == text.bytes.len() {
                break;
            }
            if self.equal == 4 {
                (self.run, self.equal) = (usize::from(text.bytes[self.at]), 0);
                self.at += 1;
                continue;
            }
            // Copy up to the fourth equal byte.
            let part = &text.bytes[self.at..text.bytes.len().min(self.at + room)];
            let mut count = 0;
            for &byte in part {
                count += 1;
                self.equal = if byte == self.byte { self.equal + 1 } else { 1 };
                self.byte = byte;
                if self.equal == 4 {
                    break;
                }
            }
            bytes.extend_from_slice(&part[..count]);
            self.at += count;
        }
        self.sum = add_to_sum(self.sum, &bytes[start..]);
        self.run == 0 && self.at == text.bytes.len()
    }
}

/// By the number of bytes behind it and the byte, what it adds to the sum.
static SUMS: [[u32; 256]; 8] = sums();

const fn sums() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            sum = sum << 1 ^ if sum >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[behind - 1][byte];
            tables[behind][byte] = before << 8 ^ tables[0][(before >> 24) as usize];
            byte += 1;
        }
        behind += 1;
    }
    tables
}

/// The cyclic redundancy check of bz2: that of Ethernet, with the first bit on top.
fn add_to_sum(mut sum: u32, bytes: &[u8]) -> u32 {
    let mut eights = bytes.chunks_exact(8);
    for eight in &mut eights {
        let value = u64::from_be_bytes(eight.try_into().expect("eight bytes")) ^ u64::from(sum) << 32;
        sum = 0;
        for (table, byte) in SUMS.iter().zip(value.to_le_bytes()) {
            sum ^= table[usize::from(byte)];
        }
    }
    for &byte in eights.remainder() {
        sum = sum << 8 ^ SUMS[0][(sum >> 24) as usize ^ usize::from(byte)];
    }
    sum
}
