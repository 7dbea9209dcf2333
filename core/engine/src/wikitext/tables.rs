//! Remove tables: `{| wiki tables |}` and HTML tables, with those nested in them.
//!
//! A browser shows text of a table that is in no cell and no caption before the table, so it stays: of "{|", "lost", "|
//! a", "|}", each on its line, "lost" is left.

use crate::counts::Counts;
use crate::shared::{shared, Html, Name};
use crate::unicode::{is_space, strip};
use crate::wikitext::placeholders::{GAP, NAMED};
use crate::wikitext::search::{count_doubles, find_double};
use crate::wikitext::tags::{ends_name, name_end, space_end, tag_end};
use memchr::{memchr, memchr2, memchr2_iter, memchr3, memchr_iter};
use std::sync::LazyLock;

const GAP_BYTE: u8 = GAP as u8;

/// A mark of a table.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    /// `{|` with its line.
    Opening,
    /// `|}`
    Closing,
    /// `|-` with its line.
    Row,
    /// `|`, `!` or `|+`
    Cell,
    /// A line that begins with a `GAP`.
    Gap,
    /// `<table>` or `</table>`
    HtmlTable { closes: bool },
    /// An HTML tag of a cell or caption.
    HtmlCell { closes: bool },
    /// An HTML tag of a row.
    HtmlRow,
}

/// Where a table is, which decides what text in it is in no cell.
#[derive(Clone, Copy, PartialEq)]
enum Loose {
    /// In a page without HTML tables.
    Wiki,
    WikiBesideHtml,
    Html,
}

/// Remove tables; an unclosed one extends to the end of the page, as in MediaWiki.
///
/// The text begins with a line feed. The links in tables are counted as "table"; the wikitext of tables, or of cells,
/// that contain links is appended to `tables`.
pub fn strip_tables(text: String, dropped: &mut Counts, tables: &mut Vec<String>) -> String {
    let bytes = text.as_bytes();
    // Tags in small letters, or all in capitals: others are rare.
    let is_tag = |tag: &[u8]| {
        let mut names = shared().tags.html_of(|kind| kind == Html::Table).map(|(name, _)| name.as_bytes());
        names.any(|name| tag.starts_with(name) || tag.starts_with(&name.to_ascii_uppercase()))
    };
    let is_opening = |start: usize| match bytes[start] {
        b'{' => bytes.get(start + 1) == Some(&b'|'),
        _ => is_tag(&bytes[start + 1..]),
    };
    if !memchr2_iter(b'{', b'<', bytes).any(is_opening) {
        return text;
    }
    let has_html = memchr_iter(b'<', bytes).any(|start| is_html_part(&text, start + 1));
    let mut result = String::with_capacity(text.len());
    let mut position = 0;
    for (start, end) in Tables::new(&text, has_html) {
        let loose = match (has_html, bytes[start]) {
            (false, _) => Loose::Wiki,
            (true, b'<') => Loose::Html,
            (true, _) => Loose::WikiBesideHtml,
        };
        let Some(end) = end.filter(|&end| !has_loose_text(&text[..end], start, loose)) else {
            result += &text[position..start];
            // Where this table ends depends on its cells, so all tables from here on are read in full.
            without_cells(&text, start, dropped, tables, &mut result);
            return result;
        };
        result += &text[position..start];
        result.push('\n');
        let table = &text[start..end];
        let links = count_doubles(table.as_bytes(), b'[');
        if links > 0 {
            dropped.add(Name::Table, links as i64);
            tables.push(table.to_owned());
        }
        position = end;
    }
    if position == 0 {
        return text;
    }
    result += &text[position..];
    result
}

/// Return whether a tag of a table may begin at a position, after its `<`: "/TD>", "tr ", "tax".
fn is_html_part(text: &str, position: usize) -> bool {
    let position = position + usize::from(text.as_bytes().get(position) == Some(&b'/'));
    let Some(first) = text.as_bytes().get(position) else { return false };
    // A quick test first. To Python's `re`, some letters outside of ASCII are equal to ASCII letters.
    let may_begin = |beginning: &&String| !first.is_ascii() || beginning.as_bytes()[0] == first.to_ascii_lowercase();
    let mut beginnings = shared().tags.table_beginnings.iter().filter(may_begin);
    beginnings.any(|beginning| name_end(text, position, beginning).is_some())
}

/// `[ \t]*`
fn blanks_end(bytes: &[u8], position: usize) -> usize {
    position + bytes[position..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn line_end(bytes: &[u8], position: usize) -> usize {
    memchr(b'\n', &bytes[position..]).map_or(bytes.len(), |length| position + length)
}

/// `(?::+[ \t]*)?\{\|`: return the offset after the mark.
fn wiki_opening(bytes: &[u8], position: usize) -> Option<usize> {
    let colons = bytes[position..].iter().take_while(|&&byte| byte == b':').count();
    let position = if colons > 0 { blanks_end(bytes, position + colons) } else { position };
    bytes[position..].starts_with(b"{|").then_some(position + 2)
}

/// The HTML tags of tables.
static PARTS: LazyLock<Vec<(&str, Html)>> = LazyLock::new(|| {
    let is_part = |kind| matches!(kind, Html::Table | Html::Row | Html::Rows | Html::Cell | Html::Caption);
    shared().tags.html_of(is_part).collect()
});

/// An HTML tag of a table.
struct HtmlMark {
    kind: Html,
    closes: bool,
    /// Whether its name is in letters that `str.lower` knows.
    is_ascii: bool,
    end: usize,
}

/// `</?(?i:name)(?=[\s>/])[^<>]*>` for the HTML tags of some kinds.
fn html_mark(text: &str, start: usize, is_wanted: impl Fn(Html) -> bool) -> Option<HtmlMark> {
    let closes = text.as_bytes().get(start + 1) == Some(&b'/');
    let position = start + 1 + usize::from(closes);
    PARTS.iter().filter(|(_, kind)| is_wanted(*kind)).find_map(|&(name, kind)| {
        let end = name_end(text, position, name).filter(|&end| ends_name(text, end))?;
        let is_ascii = text[position..end].is_ascii();
        Some(HtmlMark { kind, closes, is_ascii, end: tag_end(text, end)? })
    })
}

/// Whether a tag is that of a table, a row, a cell or a caption.
fn is_mark(kind: Html) -> bool {
    matches!(kind, Html::Table | Html::Row | Html::Cell | Html::Caption)
}

/// The start and end of each table that is in no other, if all text of tables is in cells.
///
/// There is no end of a wiki table that `</table>` ends.
struct Tables<'a> {
    text: &'a str,
    has_html: bool,
    position: usize,
    start: usize,
    depth: usize,
    wiki_depth: usize,
}

impl<'a> Tables<'a> {
    fn new(text: &'a str, has_html: bool) -> Self {
        Tables { text, has_html, position: 0, start: 0, depth: 0, wiki_depth: 0 }
    }

    /// Return the start and end of the next mark of a table, whether it opens, and whether it is an HTML tag.
    fn next_mark(&mut self) -> Option<(usize, usize, bool, bool)> {
        let bytes = self.text.as_bytes();
        loop {
            let rest = &bytes[self.position..];
            let offset = if self.has_html { memchr2(b'\n', b'<', rest) } else { memchr(b'\n', rest) };
            let start = self.position + offset?;
            self.position = start + 1;
            let mark = if bytes[start] == b'<' {
                html_mark(self.text, start, |kind| kind == Html::Table).map(|mark| (mark.end, !mark.closes, true))
            } else {
                let mark = blanks_end(bytes, start + 1);
                match bytes[mark..] {
                    [b'|', b'}', ..] => Some((mark + 2, false, false)),
                    [b':' | b'{', ..] => wiki_opening(bytes, mark).map(|end| (end, true, false)),
                    _ => None,
                }
            };
            if let Some((end, opens, is_html)) = mark {
                self.position = end;
                return Some((start, end, opens, is_html));
            }
        }
    }
}

impl Iterator for Tables<'_> {
    type Item = (usize, Option<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some((start, end, opens, is_html)) = self.next_mark() {
            if opens {
                if self.depth == 0 {
                    self.start = start;
                }
                self.depth += 1;
                self.wiki_depth += usize::from(!is_html);
            } else if self.depth > 0 && (is_html || self.wiki_depth > 0) {
                self.depth -= 1;
                self.wiki_depth -= usize::from(!is_html);
                if self.depth == 0 {
                    return Some((self.start, (self.wiki_depth == 0).then_some(end)));
                }
            }
        }
        if self.depth == 0 {
            return None;
        }
        self.depth = 0;
        Some((self.start, Some(self.text.len())))
    }
}

/// Return whether, from a position on, the beginning of a table or row, or the end of a cell, is followed by something
/// that begins no cell and no row.
fn has_loose_text(text: &str, mut position: usize, loose: Loose) -> bool {
    let bytes = text.as_bytes();
    loop {
        let rest = &bytes[position..];
        let offset = if loose == Loose::Wiki { memchr(b'\n', rest) } else { memchr2(b'\n', b'<', rest) };
        let Some(offset) = offset else { return false };
        let start = position + offset;
        position = start + 1;
        let end = if bytes[start] == b'<' { html_row(text, start) } else { wiki_row(bytes, start) };
        let Some(end) = end else { continue };
        let next = space_end(text, end);
        let is_cell = match bytes.get(next) {
            None | Some(&GAP_BYTE) => true,
            // In an HTML table, "|" begins no cell.
            Some(b'|' | b'!') => loose != Loose::Html,
            Some(b'<') => loose != Loose::Wiki && is_part(text, next),
            Some(_) => false,
        };
        if !is_cell {
            return true;
        }
    }
}

/// `\n[ \t]*(?:(?::+[ \t]*)?\{\||\|-)[^\n]*(?=\n)`: return the end.
fn wiki_row(bytes: &[u8], start: usize) -> Option<usize> {
    let mark = blanks_end(bytes, start + 1);
    let after = if bytes[mark..].starts_with(b"|-") { mark + 2 } else { wiki_opening(bytes, mark)? };
    Some(line_end(bytes, after)).filter(|&end| end < bytes.len())
}

/// `</?(?i:table|tr)(?=[\s>/])[^<>]*>|</(?i:td|th|caption)\s*>`: return the end.
fn html_row(text: &str, start: usize) -> Option<usize> {
    if let Some(mark) = html_mark(text, start, |kind| matches!(kind, Html::Table | Html::Row)) {
        return Some(mark.end);
    }
    if !text[start..].starts_with("</") {
        return None;
    }
    let ends_cell = |kind: &Html| matches!(kind, Html::Cell | Html::Caption);
    let mut names = PARTS.iter().filter(|(_, kind)| ends_cell(kind));
    let name = names.find_map(|(name, _)| name_end(text, start + 2, name))?;
    let end = space_end(text, name);
    (text.as_bytes().get(end) == Some(&b'>')).then_some(end + 1)
}

/// `</?(?i:table|t[rdh]|caption|tbody|thead|tfoot|col|colgroup)[\s>/]`
fn is_part(text: &str, start: usize) -> bool {
    let name = start + 1 + usize::from(text.as_bytes().get(start + 1) == Some(&b'/'));
    let columns = shared().tags.columns.iter().map(String::as_str);
    let mut parts = PARTS.iter().map(|&(part, _)| part).chain(columns);
    parts.any(|part| name_end(text, name, part).is_some_and(|end| ends_name(text, end)))
}

/// The row and the column of a cell, from 0, -1 of a caption.
pub type CellNumbers = (i32, i32);

pub const NO_CELL: CellNumbers = (-1, -1);

/// What separates the cells of a table.
#[derive(Clone, Copy, PartialEq)]
enum Separator {
    /// `{|`, `|}` or an HTML tag.
    Table {
        closes: bool,
    },
    Row,
    Caption,
    /// `|` or `!` at the start of a line.
    LineOfCells(u8),
    /// `||` or `!!`
    Cell(u8),
    /// An HTML tag of a cell.
    HtmlCell {
        closes: bool,
    },
}

/// Return the lines of the cells and captions of a table that contain links, without attributes, with their cells.
///
/// Rows without cells do not count, as in a browser. Of text that `strip_tables` has taken out of a broken table, the cell
/// is not known.
pub fn linked_cells(table: &str) -> Vec<(String, CellNumbers)> {
    let bytes = table.as_bytes();
    let mut cells = Vec::new();
    let next_exclamation = |search| memchr(b'!', &bytes[search..]).map_or(bytes.len(), |length| search + length);
    let (mut copied, mut search, mut exclamation) = (0, 0, next_exclamation(0));
    let mut counter = CellCounter { cell: NO_CELL, open: Vec::new(), sign: 0 };
    loop {
        // Exclamation marks are rare, and each is searched once.
        if exclamation < search {
            exclamation = next_exclamation(search);
        }
        let others = &bytes[search..exclamation];
        let position = memchr3(b'\n', b'|', b'<', others).map_or(exclamation, |length| search + length);
        if position == bytes.len() {
            break;
        }
        match separator_at(table, position) {
            Some((end, separator)) => {
                let before = &table[copied..position];
                add_lines(before, counter.cell, &mut cells);
                counter.pass(separator, before, &table[position..end]);
                (copied, search) = (end, end);
            }
            None => search = position + 1,
        }
    }
    add_lines(&table[copied..], counter.cell, &mut cells);
    cells
}

/// Append the lines with links of what is between two separators.
fn add_lines(text: &str, cell: CellNumbers, cells: &mut Vec<(String, CellNumbers)>) {
    if find_double(text.as_bytes(), b'[').is_some() {
        let has_link = |line: &&str| find_double(line.as_bytes(), b'[').is_some();
        cells.extend(text.split('\n').filter(has_link).map(|line| (strip(line).to_owned(), cell)));
    }
}

/// Counts the rows and columns of a table and of the tables in it.
struct CellCounter {
    /// The cell of what comes next.
    cell: CellNumbers,
    /// Of each open table, the row, and how many of its cells have begun.
    open: Vec<CellNumbers>,
    /// The sign that begins the line of cells; 0 in other lines.
    sign: u8,
}

impl CellCounter {
    /// Read a separator, the text between the last one and it, and what it looks like.
    fn pass(&mut self, separator: Separator, before: &str, mark: &str) {
        if self.sign != 0 && memchr(b'\n', before.as_bytes()).is_some() {
            self.sign = 0;
        }
        // "||" begins a cell in a line of cells, "!!" in one of headings.
        let begins_cell = match separator {
            Separator::LineOfCells(_) => true,
            Separator::Cell(sign) => self.sign == b'!' || self.sign == sign,
            Separator::HtmlCell { closes } => !closes,
            _ => false,
        };
        self.sign = match separator {
            Separator::LineOfCells(sign) => sign,
            Separator::Cell(_) => self.sign,
            _ => 0,
        };
        let mark = mark.trim_start_matches(['\n', '\t', ' ', ':']);
        // Headings before what was taken for the attributes of the next one.
        let more = match separator {
            Separator::LineOfCells(b'!') => mark[1..].matches("!!").count(),
            Separator::Cell(_) if self.sign == b'!' => mark[2..].matches("!!").count(),
            _ => 0,
        };
        match separator {
            Separator::Table { closes: false } => self.open.push((0, 0)),
            Separator::Table { closes: true } => drop(self.open.pop()),
            _ => match self.open.last_mut() {
                Some(numbers) if separator == Separator::Row && numbers.1 > 0 => *numbers = (numbers.0 + 1, 0),
                Some(numbers) if begins_cell => numbers.1 += 1 + more as i32,
                _ => {}
            },
        }
        self.cell = match self.open.last() {
            Some(&(row, cells)) if cells > 0 && separator != Separator::Caption => (row, cells - 1),
            _ => NO_CELL,
        };
    }
}

/// Return the end of what separates the cells of a table, with the attributes of the next cell, and what it is, if it is
/// at a position.
fn separator_at(text: &str, position: usize) -> Option<(usize, Separator)> {
    let bytes = text.as_bytes();
    let limit = shared().limits.attributes;
    match bytes[position] {
        b'\n' => {
            let blanks = bytes[position + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b':')).count();
            let mark = position + 1 + blanks;
            match bytes[mark..] {
                [b'|', b'}', ..] => Some((mark + 2, Separator::Table { closes: true })),
                [b'{', b'|', ..] => Some((line_end(bytes, mark), Separator::Table { closes: false })),
                [b'|', b'-', ..] => Some((line_end(bytes, mark), Separator::Row)),
                [b'|', b'+', ..] => Some((attributes_end(text, mark + 2, limit), Separator::Caption)),
                [sign @ (b'|' | b'!'), ..] => {
                    Some((attributes_end(text, mark + 1, limit), Separator::LineOfCells(sign)))
                }
                _ => None,
            }
        }
        sign @ (b'|' | b'!') if bytes.get(position + 1) == Some(&sign) => {
            Some((attributes_end(text, position + 2, limit), Separator::Cell(sign)))
        }
        b'<' => html_mark(text, position, is_mark).map(|HtmlMark { kind, closes, is_ascii, end }| {
            let separator = match kind {
                Html::Table => Separator::Table { closes },
                Html::Row => Separator::Row,
                Html::Caption if is_ascii => Separator::Caption,
                _ => Separator::HtmlCell { closes },
            };
            (end, separator)
        }),
        _ => None,
    }
}

/// `(?:[^|\[\n]{0,limit}\|(?!\|))?`: return the offset after attributes, or the position itself.
fn attributes_end(text: &str, position: usize, limit: usize) -> usize {
    let is_end = |&(_, char): &(usize, char)| matches!(char, '|' | '[' | '\n');
    let mut chars = text[position..].char_indices();
    let end = if limit < usize::MAX { chars.by_ref().take(limit + 1).find(is_end) } else { chars.find(is_end) };
    match end {
        Some((length, '|')) if text.as_bytes().get(position + length + 1) != Some(&b'|') => position + length + 1,
        _ => position,
    }
}

/// Return the end of a mark and what it is, if one is at a line feed or at a `<`.
fn mark_at(text: &str, start: usize) -> Option<(usize, Mark)> {
    let bytes = text.as_bytes();
    if bytes[start] == b'<' {
        let HtmlMark { kind, closes, is_ascii, end } = html_mark(text, start, is_mark)?;
        let mark = match kind {
            Html::Table => Mark::HtmlTable { closes },
            Html::Row => Mark::HtmlRow,
            // A caption in letters that `str.lower` leaves is no caption to Python, but it ends one as a row does.
            _ if !is_ascii => Mark::HtmlRow,
            _ => Mark::HtmlCell { closes },
        };
        return Some((end, mark));
    }
    let mark = blanks_end(bytes, start + 1);
    match bytes[mark..] {
        [b'|', b'}', ..] => Some((mark + 2, Mark::Closing)),
        [b'|', b'-', ..] => Some((line_end(bytes, mark), Mark::Row)),
        [b'|', b'+', ..] => Some((mark + 2, Mark::Cell)),
        [b'|' | b'!', ..] => Some((mark + 1, Mark::Cell)),
        [b':' | b'{', ..] => wiki_opening(bytes, mark).map(|end| (line_end(bytes, end), Mark::Opening)),
        [GAP_BYTE, ..] if mark == start + 1 => Some((mark + 1, Mark::Gap)),
        _ => None,
    }
}

/// Append the text from a position on that is in no cell and no caption.
///
/// A table within a table, but in no cell, ends the outer one, as in a browser. `</table>` ends a wiki table too, but
/// its lines go on to be read as those of a table.
fn without_cells(text: &str, start: usize, dropped: &mut Counts, tables: &mut Vec<String>, result: &mut String) {
    let bytes = text.as_bytes();
    // For each open table, whether a cell or caption is open in it; and the number of wiki tables that "|}" has to end.
    let mut in_cell: Vec<bool> = Vec::new();
    let mut wiki_depth = 0;
    let (mut position, mut search) = (start, start);
    while let Some(offset) = memchr2(b'\n', b'<', &bytes[search..]) {
        let start = search + offset;
        search = start + 1;
        let Some((end, mark)) = mark_at(text, start) else { continue };
        search = end;
        let is_text = match mark {
            Mark::Opening | Mark::HtmlTable { .. } => false,
            Mark::HtmlCell { .. } | Mark::HtmlRow => in_cell.is_empty(),
            // A line of text that begins as a cell does.
            Mark::Closing | Mark::Row | Mark::Cell => wiki_depth == 0,
            Mark::Gap => wiki_depth == 0 && in_cell.is_empty(),
        };
        if is_text {
            continue;
        }
        show(&text[position..start], &in_cell, dropped, tables, result);
        position = end;
        let in_mark = count_doubles(&bytes[start..end], b'[');
        if in_mark > 0 {
            dropped.add(Name::Table, in_mark as i64);
        }
        match mark {
            Mark::Opening | Mark::HtmlTable { closes: false } => {
                if in_cell.last() == Some(&false) {
                    in_cell.pop();
                }
                in_cell.push(false);
                wiki_depth += usize::from(mark == Mark::Opening);
                result.push('\n');
            }
            Mark::Closing | Mark::HtmlTable { closes: true } => {
                let is_wiki = mark == Mark::Closing;
                wiki_depth -= usize::from(is_wiki);
                if !in_cell.is_empty() || is_wiki {
                    result.push('\n');
                }
                in_cell.pop();
            }
            _ => match in_cell.last_mut() {
                // A template between rows may have begun a cell.
                Some(open) => {
                    *open = matches!(mark, Mark::HtmlCell { closes: false } | Mark::Cell | Mark::Gap);
                }
                None => {
                    result.push('\n');
                    if mark == Mark::Gap {
                        result.push(GAP);
                    }
                    if mark == Mark::Cell {
                        let line = &text[position..cells_end(text, position)];
                        push_cells(&line[attributes_end(line, 0, usize::MAX)..], result);
                        position += line.len();
                    }
                }
            },
        }
    }
    show(&text[position..], &in_cell, dropped, tables, result);
}

/// Return the end of a line of cells outside of tables: a line feed or a tag of a table.
fn cells_end(text: &str, position: usize) -> usize {
    let bytes = text.as_bytes();
    memchr2_iter(b'\n', b'<', &bytes[position..])
        .map(|offset| position + offset)
        .find(|&offset| bytes[offset] == b'\n' || html_mark(text, offset, |kind| kind == Html::Table).is_some())
        .unwrap_or(text.len())
}

/// Append a line of cells, each in a line.
fn push_cells(line: &str, result: &mut String) {
    let bytes = line.as_bytes();
    let (mut copied, mut search) = (0, 0);
    while let Some(offset) = memchr2(b'|', b'!', &bytes[search..]) {
        let mark = search + offset;
        search = mark + 1;
        if bytes.get(search) == Some(&bytes[mark]) {
            *result += &line[copied..mark];
            result.push('\n');
            search += 1;
            copied = search;
        }
    }
    *result += &line[copied..];
}

/// Append a text between marks if it is in no cell.
fn show(text: &str, in_cell: &[bool], dropped: &mut Counts, tables: &mut Vec<String>, result: &mut String) {
    if in_cell.len() > 1 || in_cell.first() == Some(&true) {
        let links = count_doubles(text.as_bytes(), b'[');
        if links > 0 {
            dropped.add(Name::Table, links as i64);
            // The name of a gap that began the cell is no text.
            tables.push(format!("\n|{}", text.trim_start_matches(NAMED)));
        }
    } else if in_cell.is_empty() || !text.chars().all(is_space) {
        *result += text;
    } else {
        result.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> (String, i64, usize) {
        let (mut dropped, mut tables) = (Counts::default(), Vec::new());
        let text = strip_tables(text.to_owned(), &mut dropped, &mut tables);
        (text, dropped.get(Name::Table), tables.len())
    }

    #[test]
    fn only_text_outside_of_cells_stays() {
        assert_eq!(stripped("\na\n{|\n| [[b]]\n{|\n|c\n|}\n|}\nd"), ("\na\n\nd".to_owned(), 1, 1));
        assert_eq!(stripped("\n{|\nloose\n| [[b]]\n|}\nd"), ("\n\nloose\n\nd".to_owned(), 1, 1));
        assert_eq!(stripped("a<table><tr><td>[[b]]</td></tr></table>c"), ("a\nc".to_owned(), 1, 1));
    }

    #[test]
    fn cells_have_no_attributes() {
        let table = "\n{| class=a\n|+ [[A]]\n|-\n! B !! style=c | [[D|d]]\n|}";
        assert_eq!(linked_cells(table), [("[[A]]".to_owned(), NO_CELL), ("[[D|d]]".to_owned(), (0, 1))]);
    }
}
