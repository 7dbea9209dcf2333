//! The row of `documents` of a page: its text with sections, blocks, sentences and links.
//!
//! "A [[bus]] runs.\n== History ==\n* Old" is the text "A bus runs.\nHistory\nOld" of a paragraph, a heading and a list
//! item. Offsets come in as bytes and go out as code points.

use crate::columns::{Block, Documents};
use crate::page::Page;
use crate::shared::Name;
use crate::text::prose::{aside_fragments, line_end, PageText, Sentence, MISSING};
use crate::unicode::length;
use crate::wikitext::breaks::Break;
use crate::wikitext::extractor::{Aside, Extract};
use crate::wikitext::links::{Links, Structure};
use crate::wikitext::placeholders::{GAP, HEADING, LIST, PREFORMATTED};
use crate::wikitext::tables::{CellNumbers, NO_CELL};
use std::borrow::Cow;

/// A section: its title, its level, and where it begins and ends.
type Section = (String, usize, usize, usize);

/// A line of the document: its offset in the extract, in bytes, and in the document.
struct Line {
    start: usize,
    point: usize,
}

/// The lines of a document, from those of an extract without their marks and without empty ones.
#[derive(Default)]
struct Lines {
    text: String,
    blocks: Vec<Block>,
    sections: Vec<Section>,
    /// The indices of the sections that contain the line, one for each level that has a heading.
    open: Vec<usize>,
    /// Code points of the lines that were added, with their line feeds.
    length: usize,
    lines: Vec<Line>,
    quotations: i64,
    /// Whether the next line goes on the last block, if it is of its kind.
    goes_on: bool,
    /// Whether the line of wikitext has a break that is not soft, and its depth if it is a list item.
    in_block: bool,
    depth: usize,
    /// Bytes of the text before the last block, if that shows nothing but marks of missing words.
    before_blank: Option<usize>,
}

impl Lines {
    /// Add the next line of the extract, which begins at an offset, behind a break, or behind a line feed of the wikitext as
    /// an item of a depth, and before other breaks.
    fn add(&mut self, line: &str, offset: usize, before: Option<Break>, item: usize, after: &[(usize, Break)]) {
        let text = line.trim_start_matches([HEADING, LIST, PREFORMATTED, ' ']);
        let start = offset + line.len() - text.len();
        let text = text.trim_end_matches(' ');
        match before {
            Some(Break::Quote) => self.quotations += 1,
            Some(Break::Unquote) => {
                self.quotations -= 1;
                self.depth = 0;
            }
            _ => {}
        }
        if before.is_none() {
            // A line of wikitext. In MediaWiki one with block tags or images is in a paragraph with no other.
            let was_block = self.in_block;
            self.in_block = after.iter().any(|&(_, kind)| kind != Break::Soft);
            self.depth = if line.starts_with(LIST) { item.max(1) } else { 0 };
            // Behind an item or a heading begins another block, also where the line begins with <br>.
            let ends_block = self.blocks.last().is_some_and(|last| !is_long(last.kind));
            if was_block || self.in_block || ends_block || (text.is_empty() && after.is_empty()) {
                self.goes_on = false;
            }
        } else if before != Some(Break::Soft) {
            self.goes_on = false;
        }
        if !text.is_empty() {
            let point = self.add_text(line, text, before);
            self.lines.push(Line { start, point });
        }
    }

    /// Add a line without its marks, and return its offset in the document.
    fn add_text(&mut self, line: &str, text: &str, before: Option<Break>) -> usize {
        let is_blank = text.trim_matches([GAP, ' ']).is_empty();
        let text: &str = &without_gaps(text);
        let kind = match line.chars().next() {
            Some(HEADING) => Name::Heading,
            Some(LIST) => Name::ListItem,
            Some(PREFORMATTED) => Name::Preformatted,
            _ if self.quotations > 0 => Name::Quotation,
            // What stands behind a tag in a list item is in it too.
            _ if self.depth > 0 => Name::ListItem,
            _ => Name::Paragraph,
        };
        let points = length(text);
        if let Some(last) = self
            .blocks
            .last_mut()
            .filter(|last| self.goes_on && (before == Some(Break::Soft) || (kind == last.kind && is_long(kind))))
        {
            last.end = self.length + points;
            if let Some(heading) = self.sections.last_mut().filter(|_| last.kind == Name::Heading) {
                heading.0.push(' ');
                heading.0 += text;
            }
            self.before_blank = self.before_blank.filter(|_| is_blank);
            return self.append(text, points);
        }
        self.drop_blank();
        let level = line.len() - line.trim_start_matches(HEADING).len();
        if level > 0 {
            self.end_sections(level);
            self.open.push(self.sections.len());
            self.sections.push((text.to_owned(), level, self.length, 0));
        }
        self.goes_on = true;
        // A heading is that of its section, also without words.
        self.before_blank = (is_blank && level == 0).then_some(self.text.len());
        let depth = match kind {
            // `<li>`
            Name::ListItem if before.is_some() && line.starts_with(LIST) => 1,
            Name::ListItem => self.depth,
            _ => 0,
        };
        let (start, section) = (self.length, self.sections.len() as i32 - 1);
        self.add_block(text, Block { kind, start, end: start, section, depth, cell: NO_CELL })
    }

    /// Remove the last block if it shows nothing but marks of missing words: no sentence and no link is in it.
    fn drop_blank(&mut self) {
        if let Some((bytes, block)) = self.before_blank.take().zip(self.blocks.last()) {
            self.text.truncate(bytes);
            self.length = block.start;
            self.blocks.pop();
        }
    }

    /// Add a line of an aside as a block.
    fn add_cell(&mut self, kind: Name, text: &str, cell: CellNumbers) {
        let start = self.length;
        self.add_block(text, Block { kind, start, end: start, section: -1, depth: 0, cell });
    }

    /// Add a block, which ends behind a text, and return its offset.
    fn add_block(&mut self, text: &str, block: Block) -> usize {
        let points = length(text);
        self.blocks.push(Block { end: block.start + points, ..block });
        self.append(text, points)
    }

    /// Add the text of a line, and return its offset.
    fn append(&mut self, text: &str, points: usize) -> usize {
        let start = self.length;
        if self.length > 0 {
            self.text.push('\n');
        }
        self.text += text;
        self.length += points + 1;
        start
    }

    /// End the sections of a level and of those below.
    fn end_sections(&mut self, level: usize) {
        while let Some(&last) = self.open.last().filter(|&&last| self.sections[last].1 >= level) {
            self.open.pop();
            self.sections[last].3 = self.length - 1;
        }
    }
}

/// Gives the offsets in the document of ascending offsets in the extract.
struct Cursor<'a> {
    text: &'a str,
    lines: std::iter::Peekable<std::slice::Iter<'a, Line>>,
    bytes: usize,
    points: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str, lines: &'a [Line]) -> Cursor<'a> {
        Cursor { text, lines: lines.iter().peekable(), bytes: 0, points: 0 }
    }

    fn at(&mut self, offset: usize) -> usize {
        while let Some(line) = self.lines.next_if(|line| line.start <= offset) {
            (self.bytes, self.points) = (line.start, line.point);
        }
        self.points += length(&self.text[self.bytes..offset]);
        self.bytes = offset;
        self.points
    }
}

/// Return whether a line of a kind goes on in the next line of wikitext.
fn is_long(kind: Name) -> bool {
    matches!(kind, Name::Paragraph | Name::Quotation | Name::Preformatted)
}

fn without_gaps(text: &str) -> Cow<'_, str> {
    if memchr::memchr(GAP as u8, text.as_bytes()).is_some() {
        Cow::Owned(text.replace(GAP, MISSING))
    } else {
        Cow::Borrowed(text)
    }
}

/// Add the row of a page with the sentences that are kept.
pub fn add_document(rows: &mut Documents, page: &Page, wiki: &str, extract: &Extract, kept: &[Sentence]) {
    let none = Structure::default();
    let structure = extract.structure.as_ref().unwrap_or(&none);
    let mut lines = Lines::default();
    let mut breaks = &structure.breaks[..];
    let (mut offset, mut before, mut item) = (0, None, 0);
    for (number, line) in extract.text.split('\n').enumerate() {
        // Those of the line of wikitext, which are looked at where it begins.
        let is_item = |kind: Break| matches!(kind, Break::Item(_));
        let is_next = |(index, (feed, kind)): &(usize, &(usize, Break))| *feed == number + index && !is_item(*kind);
        let mut run = breaks.iter().enumerate().take_while(is_next);
        let after = if before.is_none() { run.count() } else { usize::from(run.next().is_some()) };
        lines.add(line, offset, before, item, &breaks[..after]);
        let next = breaks.first().filter(|(feed, _)| *feed == number).map(|&(_, kind)| kind);
        breaks = &breaks[usize::from(next.is_some())..];
        (before, item) = match next {
            Some(Break::Item(depth)) => (None, depth),
            _ => (next, 0),
        };
        offset += line.len() + 1;
    }
    lines.drop_blank();
    lines.end_sections(0);
    let mut cursor = Cursor::new(&extract.text, &lines.lines);
    for sentence in kept {
        let (start, end) = (cursor.at(sentence.start), cursor.at(sentence.start + sentence.text.len()));
        rows.add_sentence(sentence.number, sentence.region, start, end);
    }
    let mut writer = LinkWriter { wiki, block: 0 };
    let mut cursor = Cursor::new(&extract.text, &lines.lines);
    for link in page_links(&extract.links, structure) {
        let (start, end) = (cursor.at(link.start()), cursor.at(link.end()));
        writer.write(rows, &link, start, end, &lines.blocks);
    }
    let mut categories: Vec<&str> = structure.categories.iter().map(String::as_str).collect();
    for aside in &extract.asides {
        add_aside(aside, &mut lines, &mut writer, rows);
        categories.extend(aside.structure.iter().flat_map(|structure| &structure.categories).map(String::as_str));
    }
    rows.add_categories(&categories);
    for (title, level, start, end) in &lines.sections {
        rows.add_section(title, *level, *start, *end);
    }
    for block in &lines.blocks {
        rows.add_block(block);
    }
    rows.add(page, &lines.text, lines.length.saturating_sub(1));
}

/// A link to an article of the wiki or of another Wikipedia: the columns that have it, and its index there.
struct PageLink<'a> {
    links: &'a Links,
    wiki: Option<&'a str>,
    index: usize,
}

impl PageLink<'_> {
    fn start(&self) -> usize {
        self.links.starts[self.index]
    }

    fn end(&self) -> usize {
        self.links.ends[self.index]
    }
}

/// Return the links to articles of the wiki and of other Wikipedias, in order.
fn page_links<'a>(links: &'a Links, structure: &'a Structure) -> Vec<PageLink<'a>> {
    let local = (0..links.starts.len()).map(|index| PageLink { links, wiki: None, index });
    let abroad = structure.wikis.iter().enumerate();
    let others = abroad.map(|(index, wiki)| PageLink { links: &structure.wikipedia_links, wiki: Some(wiki), index });
    let mut all: Vec<PageLink> = local.chain(others).collect();
    if !structure.wikis.is_empty() {
        all.sort_by_key(PageLink::start);
    }
    all
}

/// Writes links in order, and finds the block of each.
struct LinkWriter<'a> {
    wiki: &'a str,
    block: usize,
}

impl LinkWriter<'_> {
    fn write(&mut self, rows: &mut Documents, link: &PageLink, start: usize, end: usize, blocks: &[Block]) {
        while blocks.get(self.block + 1).is_some_and(|block| block.start <= start) {
            self.block += 1;
        }
        let (target, fragment) = (link.links.targets.get(link.index), link.links.fragments.get(link.index));
        let section = blocks.get(self.block).map_or(-1, |block| block.section);
        rows.add_link((start, end), link.wiki.unwrap_or(self.wiki), (target, fragment), (section, self.block));
    }
}

/// Add the lines of an aside that contain links as blocks, with their links.
fn add_aside(aside: &Aside, lines: &mut Lines, writer: &mut LinkWriter, rows: &mut Documents) {
    let none = Structure::default();
    let links = page_links(&aside.links, aside.structure.as_ref().unwrap_or(&none));
    let starts: Vec<usize> = links.iter().map(PageLink::start).collect();
    let mut links = links.iter().peekable();
    let text = PageText { text: &aside.text, link_starts: &starts, link_ends: &[], gaps: &[] };
    let kind = if aside.region == Name::Table { Name::TableCell } else { Name::Caption };
    let line_ends = line_ends(&aside.text, aside.structure.as_ref().unwrap_or(&none));
    let has_numbers = aside.cells.len() == line_ends.len() + 1;
    for cell in aside_fragments(&text, aside.region, 0) {
        let line = [Line { start: cell.start, point: lines.length }];
        let end = line_end(&aside.text, cell.start).unwrap_or(aside.text.len());
        let index = line_ends.partition_point(|&end| end <= cell.start);
        lines.add_cell(kind, &cell.text, if has_numbers { aside.cells[index] } else { NO_CELL });
        let mut cursor = Cursor::new(&aside.text, &line);
        while let Some(link) = links.next_if(|link| link.start() < end) {
            if link.start() >= cell.start {
                let (start, stop) = (cursor.at(link.start()), cursor.at(link.end()));
                writer.write(rows, link, start, stop, &lines.blocks);
            }
        }
    }
}

/// Return the ends of the lines of wikitext of an aside, but the last: empty lines that replace no tag.
fn line_ends(text: &str, structure: &Structure) -> Vec<usize> {
    let mut of_tags = structure.breaks.iter().filter(|(_, kind)| !matches!(kind, Break::Item(_))).peekable();
    let mut ends = Vec::new();
    let mut start = None;
    for (number, feed) in memchr::memchr_iter(b'\n', text.as_bytes()).enumerate() {
        start = if of_tags.next_if(|(tag, _)| *tag == number).is_some() {
            None
        } else if start == Some(feed) {
            ends.push(feed);
            None
        } else {
            Some(feed + 1)
        };
    }
    ends
}
