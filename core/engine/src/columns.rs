//! Rows of `sentences`, `fragments`, `titles`, `ledger` and `documents` as the buffers of Arrow arrays.
//! A string column is the ends of all strings and their bytes: "bus" and "car" are [0, 3, 6] and "buscar".
//!
//! https://arrow.apache.org/docs/format/Columnar.html

use crate::counts::Counts;
use crate::page::Page;
use crate::shared::Name;
use crate::text::prose::Sentence;
use crate::unicode::length;
use crate::wikitext::links::Links;
use crate::wikitext::tables::CellNumbers;
use rustc_hash::FxHashSet;

/// Numbers in the machine's order of bytes, as Arrow has them.
#[derive(Default)]
pub struct Numbers(pub Vec<u8>);

impl Numbers {
    pub fn push_long(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    pub fn push(&mut self, number: usize) {
        self.push_signed(i32::try_from(number).unwrap_or(i32::MAX));
    }

    pub fn push_signed(&mut self, number: i32) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }
}

/// Strings: where each ends, and all of them.
pub struct Strings {
    pub ends: Numbers,
    pub data: Vec<u8>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { ends: from_zero(), data: Vec::new() }
    }
}

impl Strings {
    pub fn push(&mut self, text: &str) {
        self.data.extend_from_slice(text.as_bytes());
        self.ends.push(self.data.len());
    }
}

/// The ends of a list begin with 0.
fn from_zero() -> Numbers {
    let mut ends = Numbers::default();
    ends.push(0);
    ends
}

/// `sentences` or `fragments`.
pub struct Sentences {
    pub rows: usize,
    pub page_ids: Numbers,
    pub rev_ids: Numbers,
    pub titles: Strings,
    pub regions: Strings,
    pub numbers: Numbers,
    pub texts: Strings,
    pub link_ends: Numbers,
    pub links: usize,
    pub starts: Numbers,
    pub ends: Numbers,
    pub targets: Strings,
    pub fragments: Strings,
}

impl Default for Sentences {
    fn default() -> Sentences {
        Sentences {
            rows: 0,
            page_ids: Numbers::default(),
            rev_ids: Numbers::default(),
            titles: Strings::default(),
            regions: Strings::default(),
            numbers: Numbers::default(),
            texts: Strings::default(),
            link_ends: from_zero(),
            links: 0,
            starts: Numbers::default(),
            ends: Numbers::default(),
            targets: Strings::default(),
            fragments: Strings::default(),
        }
    }
}

impl Sentences {
    /// Add the sentences of a page, or of an aside; the offsets of links become code points of the sentence.
    pub fn add(&mut self, page: &Page, text: &str, sentences: &[Sentence], links: &Links) {
        for sentence in sentences {
            self.rows += 1;
            self.page_ids.push_long(page.page_id);
            self.rev_ids.push_long(page.rev_id);
            self.titles.push(&page.title);
            self.regions.push(sentence.region.text());
            self.numbers.push(sentence.number as usize);
            self.texts.push(&sentence.text);
            // Code points up to the last offset: a text is counted once.
            let (mut bytes, mut points) = (sentence.start, 0);
            let end = links.ends[..sentence.last].last().map_or(bytes, |&end| end.max(bytes));
            let is_ascii = text[bytes..end].is_ascii();
            let mut points_at = |offset: usize| {
                points += if is_ascii { offset - bytes } else { length(&text[bytes..offset]) };
                bytes = offset;
                points
            };
            for link in sentence.first..sentence.last {
                self.starts.push(points_at(links.starts[link]));
                self.ends.push(points_at(links.ends[link]));
                self.targets.push(links.targets.get(link));
                self.fragments.push(links.fragments.get(link));
            }
            self.links += sentence.last - sentence.first;
            self.link_ends.push(self.links);
        }
    }
}

/// Strings of which some are null.
#[derive(Default)]
pub struct Nullable {
    pub strings: Strings,
    /// A bit for each string, set if it is no null.
    pub valid: Vec<u8>,
}

impl Nullable {
    fn push(&mut self, row: usize, text: Option<&str>) {
        if row % 8 == 0 {
            self.valid.push(0);
        }
        self.valid[row / 8] |= u8::from(text.is_some()) << (row % 8);
        self.strings.push(text.unwrap_or(""));
    }
}

pub struct Titles {
    pub rows: usize,
    pub page_ids: Numbers,
    pub rev_ids: Numbers,
    pub titles: Strings,
    pub redirects: Nullable,
    pub redirect_fragments: Nullable,
    pub flag_ends: Numbers,
    pub flags: usize,
    pub flag_names: Strings,
    pub link_ends: Numbers,
    pub links: usize,
    pub link_titles: Strings,
}

impl Default for Titles {
    fn default() -> Titles {
        Titles {
            rows: 0,
            page_ids: Numbers::default(),
            rev_ids: Numbers::default(),
            titles: Strings::default(),
            redirects: Nullable::default(),
            redirect_fragments: Nullable::default(),
            flag_ends: from_zero(),
            flags: 0,
            flag_names: Strings::default(),
            link_ends: from_zero(),
            links: 0,
            link_titles: Strings::default(),
        }
    }
}

impl Titles {
    pub fn add_article<S: AsRef<str>>(&mut self, page: &Page, flags: &[&str], links: &[S]) {
        for flag in flags {
            self.flag_names.push(flag);
        }
        for link in links {
            self.link_titles.push(link.as_ref());
        }
        self.flags += flags.len();
        self.links += links.len();
        self.add(page, None);
    }

    /// Add a redirect with the title and the section of its target.
    pub fn add_redirect(&mut self, page: &Page, target: &str, fragment: &str) {
        self.add(page, Some((target, fragment)));
    }

    fn add(&mut self, page: &Page, redirect: Option<(&str, &str)>) {
        self.page_ids.push_long(page.page_id);
        self.rev_ids.push_long(page.rev_id);
        self.titles.push(&page.title);
        self.redirects.push(self.rows, redirect.map(|(target, _)| target));
        self.redirect_fragments.push(self.rows, redirect.map(|(_, fragment)| fragment));
        self.flag_ends.push(self.flags);
        self.link_ends.push(self.links);
        self.rows += 1;
    }
}

/// The ledger of each article.
pub struct Ledger {
    pub rows: usize,
    pub page_ids: Numbers,
    pub rev_ids: Numbers,
    pub count_ends: Numbers,
    pub counts: usize,
    pub names: Strings,
    pub numbers: Numbers,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            rows: 0,
            page_ids: Numbers::default(),
            rev_ids: Numbers::default(),
            count_ends: from_zero(),
            counts: 0,
            names: Strings::default(),
            numbers: Numbers::default(),
        }
    }
}

impl Ledger {
    pub fn add(&mut self, page: &Page, counts: &Counts) {
        self.page_ids.push_long(page.page_id);
        self.rev_ids.push_long(page.rev_id);
        for (name, &number) in &counts.0 {
            self.names.push(name);
            // The caller refuses a page with a negative number.
            self.numbers.push(number.max(0) as usize);
        }
        self.counts += counts.0.len();
        self.count_ends.push(self.counts);
        self.rows += 1;
    }
}

/// Where the lists of a column end, and how many values they hold.
pub struct Lists {
    pub ends: Numbers,
    values: usize,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists { ends: from_zero(), values: 0 }
    }
}

impl Lists {
    fn end(&mut self) {
        self.ends.push(self.values);
    }
}

/// Offsets of texts, and offsets after them.
#[derive(Default)]
pub struct Spans {
    pub starts: Numbers,
    pub ends: Numbers,
}

impl Spans {
    fn push(&mut self, start: usize, end: usize) {
        self.starts.push(start);
        self.ends.push(end);
    }
}

/// A block of a document: its kind, its offsets, the index of its section, -1 for none, and the depth of a list item, 0 of
/// other blocks; the row and the column of a cell, -1 of other blocks.
pub struct Block {
    pub kind: Name,
    pub start: usize,
    pub end: usize,
    pub section: i32,
    pub depth: usize,
    pub cell: CellNumbers,
}

/// The document of each article: the values of its lists are added first, then the row.
#[derive(Default)]
pub struct Documents {
    pub rows: usize,
    /// Code points in all texts.
    pub points: usize,
    pub page_ids: Numbers,
    pub rev_ids: Numbers,
    pub timestamps: Strings,
    pub titles: Strings,
    pub texts: Strings,
    pub categories: Lists,
    pub category_names: Strings,
    pub sections: Lists,
    pub section_titles: Strings,
    pub section_levels: Numbers,
    pub section_spans: Spans,
    pub blocks: Lists,
    pub block_kinds: Strings,
    pub block_spans: Spans,
    pub block_sections: Numbers,
    pub block_depths: Numbers,
    pub block_rows: Numbers,
    pub block_columns: Numbers,
    pub sentences: Lists,
    pub sentence_numbers: Numbers,
    pub sentence_regions: Strings,
    pub sentence_spans: Spans,
    pub links: Lists,
    pub link_spans: Spans,
    pub link_wikis: Strings,
    pub link_targets: Strings,
    pub link_fragments: Strings,
    pub link_sections: Numbers,
    pub link_blocks: Numbers,
}

impl Documents {
    /// Add categories, each once.
    pub fn add_categories(&mut self, names: &[&str]) {
        let mut seen = FxHashSet::default();
        for name in names.iter().filter(|&&name| seen.insert(name)) {
            self.category_names.push(name);
            self.categories.values += 1;
        }
    }

    pub fn add_section(&mut self, title: &str, level: usize, start: usize, end: usize) {
        self.section_titles.push(title);
        self.section_levels.push(level);
        self.section_spans.push(start, end);
        self.sections.values += 1;
    }

    pub fn add_block(&mut self, block: &Block) {
        self.block_kinds.push(block.kind.text());
        self.block_spans.push(block.start, block.end);
        self.block_sections.push_signed(block.section);
        self.block_depths.push(block.depth);
        self.block_rows.push_signed(block.cell.0);
        self.block_columns.push_signed(block.cell.1);
        self.blocks.values += 1;
    }

    pub fn add_sentence(&mut self, number: u32, region: Name, start: usize, end: usize) {
        self.sentence_numbers.push(number as usize);
        self.sentence_regions.push(region.text());
        self.sentence_spans.push(start, end);
        self.sentences.values += 1;
    }

    /// Add a link by its offsets, the title and the section of its target, and its section and block.
    pub fn add_link(&mut self, span: (usize, usize), wiki: &str, target: (&str, &str), indices: (i32, usize)) {
        self.link_spans.push(span.0, span.1);
        self.link_wikis.push(wiki);
        self.link_targets.push(target.0);
        self.link_fragments.push(target.1);
        self.link_sections.push_signed(indices.0);
        self.link_blocks.push(indices.1);
        self.links.values += 1;
    }

    /// Add the row of a page, with a text of so many code points.
    pub fn add(&mut self, page: &Page, text: &str, points: usize) {
        self.page_ids.push_long(page.page_id);
        self.rev_ids.push_long(page.rev_id);
        self.timestamps.push(&page.timestamp);
        self.titles.push(&page.title);
        self.texts.push(text);
        for lists in [&mut self.categories, &mut self.sections, &mut self.blocks, &mut self.sentences, &mut self.links]
        {
            lists.end();
        }
        self.points += points;
        self.rows += 1;
    }
}
