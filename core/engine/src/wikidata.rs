//! Items of Wikidata's JSON dump as rows of `entities` and `sitelinks`. In Python: `pipelines/wikimedia/wikidata.py` and
//! `pipelines/entities/steps.py`, which say why.
//!
//! A line that is no entity of the usual form is left to Python, which names what is wrong with it: so only lines that
//! are read have to be read alike.

use std::collections::HashSet;
use std::mem::take;

use memchr::{memchr, memchr_iter, memmem};
use rustc_hash::FxHashMap;

use crate::columns::{Numbers, Strings};
use crate::json::{Json, Parsed, Unsure};

/// No number of an item has more digits.
const LONGEST_ID: usize = 10;
/// What is before and after an entity on its line.
const AROUND: &[u8] = b" \t\r,[]";

/// Words of the dump and of the rows, which `WORDS` in `pipelines/wikimedia/wikidata.py` hands over.
pub struct Words {
    pub instance_of: String,
    pub subclass_of: String,
    pub occupation: String,
    /// What a row has as `type_route`: its types are of `instance_of`, of `subclass_of`, or there are none.
    pub routes: [String; 3],
    /// Ranks of statements.
    pub preferred: String,
    pub normal: String,
    // Keys of the JSON.
    pub claims: String,
    pub sitelinks: String,
    pub lastrevid: String,
    pub rank: String,
    pub mainsnak: String,
    pub datavalue: String,
    pub entity_type: String,
    pub numeric_id: String,
}

/// Kinds of texts by number: labels, descriptions and aliases, of which a language has several.
pub const LABELS: usize = 0;
const ALIASES: usize = 2;

/// Names to look for, sorted, with their numbers.
pub struct Names {
    names: Vec<String>,
    numbers: FxHashMap<Box<[u8]>, usize>,
    longest: usize,
}

impl Names {
    pub fn new(names: Vec<String>) -> Names {
        let numbers = names.iter().enumerate().map(|(number, name)| (name.as_bytes().into(), number)).collect();
        Names { numbers, longest: names.iter().map(String::len).max().unwrap_or(0), names }
    }

    fn number(&self, name: &[u8]) -> Option<usize> {
        if name.len() > self.longest {
            return None;
        }
        self.numbers.get(name).copied()
    }
}

/// Texts with the numbers of their languages or wikis, ascending.
pub type Texts = Vec<(usize, Vec<u8>)>;

/// An item as the rows have it.
#[derive(Default)]
pub struct Item {
    pub qid: i64,
    pub types: Vec<i64>,
    pub type_route: String,
    pub instance_of_any_rank: Vec<i64>,
    pub superclasses: Vec<i64>,
    pub occupations: Vec<i64>,
    pub sitelinks: Texts,
    /// By kind.
    pub texts: [Texts; 3],
    pub lastrevid: i64,
}

/// A column of lists of integers.
pub struct Lists {
    pub ends: Numbers,
    pub values: Numbers,
    length: usize,
}

impl Default for Lists {
    fn default() -> Lists {
        let mut ends = Numbers::default();
        ends.push(0);
        Lists { ends, values: Numbers::default(), length: 0 }
    }
}

impl Lists {
    fn push(&mut self, values: &[i64]) {
        values.iter().for_each(|&value| self.values.push_long(value));
        self.length += values.len();
        self.ends.push(self.length);
    }
}

/// A column of lists of texts with their languages.
pub struct TextLists {
    pub ends: Numbers,
    pub languages: Strings,
    pub texts: Strings,
    length: usize,
}

impl Default for TextLists {
    fn default() -> TextLists {
        TextLists { ends: Lists::default().ends, languages: Strings::default(), texts: Strings::default(), length: 0 }
    }
}

/// Rows of `entities`.
#[derive(Default)]
pub struct Entities {
    pub rows: usize,
    pub qids: Numbers,
    pub types: Lists,
    pub type_routes: Strings,
    pub any_rank_types: Lists,
    pub superclasses: Lists,
    pub occupations: Lists,
    pub texts: [TextLists; 3],
    pub lastrevids: Numbers,
}

/// Rows of `sitelinks` of one wiki.
#[derive(Default)]
pub struct Sitelinks {
    pub rows: usize,
    pub qids: Numbers,
    pub titles: Strings,
}

/// What is known of lines by number: in all, kept, without a wanted sitelink, of no item, of redirects.
#[derive(Default)]
pub struct Lines(pub [u64; 5]);

const LINES: usize = 0;
const KEPT: usize = 1;
const NO_SITELINK: usize = 2;
const NOT_AN_ITEM: usize = 3;
const REDIRECT: usize = 4;

/// Reads lines of a dump.
pub struct Reader {
    wikis: Names,
    languages: Names,
    /// The names of the kinds of texts, and whether they are read.
    pub texts: [(String, bool); 3],
    words: Words,
    /// The key of sitelinks as it is written.
    sitelinks_key: Vec<u8>,
    row_group: usize,
    pub lines: Lines,
    entities: Entities,
    /// By the number of their wiki.
    sitelinks: Vec<Sitelinks>,
    is_full: bool,
}

/// Where the next line begins, and a line that is left to another reader, or nothing.
pub type Position<'a> = (usize, &'a [u8]);

impl Reader {
    /// Languages and wikis are sorted.
    pub fn new(
        wikis: Vec<String>,
        languages: Vec<String>,
        texts: [(String, bool); 3],
        words: Words,
        row_group: usize,
    ) -> Reader {
        let sitelinks = wikis.iter().map(|_| Sitelinks::default()).collect();
        let (wikis, languages) = (Names::new(wikis), Names::new(languages));
        Reader {
            wikis,
            languages,
            texts,
            sitelinks_key: format!("\"{}\"", words.sitelinks).into_bytes(),
            words,
            row_group,
            lines: Lines::default(),
            entities: Entities::default(),
            sitelinks,
            is_full: false,
        }
    }

    /// Read the lines of a block from a position on, up to its end, up to a line that is left, or until there are rows for
    /// a row group. If no line is `known` to be an entity yet, the first one is left.
    pub fn read<'a>(&mut self, block: &'a [u8], mut position: usize, known: bool) -> Position<'a> {
        while position < block.len() && !self.is_full {
            let end = memchr(b'\n', &block[position..]).map_or(block.len(), |length| position + length);
            let whole = &block[position..end];
            let start = whole.iter().position(|byte| !AROUND.contains(byte)).unwrap_or(whole.len());
            let length = whole.iter().rposition(|byte| !AROUND.contains(byte)).map_or(start, |last| last + 1);
            let line = &whole[start..length];
            position = end + 1;
            if line.is_empty() {
                continue;
            }
            if !known || line.len() < 2 || line[0] != b'{' || line[line.len() - 1] != b'}' {
                return (position, line);
            }
            let kind = if self.may_have_sitelink(line) {
                match self.read_line(line) {
                    Ok(kind) => kind,
                    Err(Unsure) => return (position, line),
                }
            } else {
                NO_SITELINK
            };
            self.lines.0[LINES] += 1;
            self.lines.0[kind] += 1;
        }
        (position, b"")
    }

    /// Whether a key of a wanted wiki comes after the last key of sitelinks.
    fn may_have_sitelink(&self, line: &[u8]) -> bool {
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0B;
        let is_key = |&at: &usize| {
            let after = &line[at + self.sitelinks_key.len()..];
            after.iter().find(|byte| !is_space(byte)) == Some(&b':')
        };
        let Some(at) = memmem::rfind_iter(line, &self.sitelinks_key).find(is_key) else {
            return false;
        };
        // Each text between two quotes, the outside of texts included.
        let (rest, mut begin) = (&line[at..], 0);
        memchr_iter(b'"', rest).any(|quote| {
            let between = &rest[begin..quote];
            begin = quote + 1;
            self.wikis.number(between).is_some()
        })
    }

    fn read_line(&mut self, line: &[u8]) -> Parsed<usize> {
        simdutf8::basic::from_utf8(line).map_err(|_| Unsure)?;
        let mut item = Item::default();
        let words = &self.words;
        let (mut kind, mut is_redirect, mut id) = (None, false, None);
        let (mut instance_of, mut subclass_of, mut occupations) = Default::default();
        let mut json = Json::new(line);
        json.members(|json, key| {
            match key {
                b"redirect" => {
                    is_redirect = true;
                    json.skip()?;
                }
                b"type" => kind = Some(json.text()?.plain()?),
                b"id" => id = Some(json.text()?.plain()?),
                key if words.lastrevid.as_bytes() == key => {
                    item.lastrevid =
                        whole_number(json.number()?).and_then(|id| i64::try_from(id).ok()).ok_or(Unsure)?;
                }
                key if words.sitelinks.as_bytes() == key => item.sitelinks = texts(json, &self.wikis, b"title", false)?,
                key if words.claims.as_bytes() == key => {
                    (instance_of, subclass_of, occupations) = Default::default();
                    if !is_empty_map(json)? {
                        json.members(|json, property| {
                            if words.instance_of.as_bytes() == property {
                                instance_of = words.statements(json)?;
                            } else if words.subclass_of.as_bytes() == property {
                                subclass_of = words.statements(json)?;
                            } else if words.occupation.as_bytes() == property {
                                occupations = words.statements(json)?;
                            } else {
                                json.skip()?;
                            }
                            Ok(())
                        })?;
                    }
                }
                key => match self.texts.iter().position(|(name, is_read)| *is_read && name.as_bytes() == key) {
                    Some(kind) => {
                        item.texts[kind] = texts(json, &self.languages, b"value", kind == ALIASES)?;
                    }
                    None => json.skip()?,
                },
            }
            Ok(())
        })?;
        json.end()?;
        if is_redirect {
            return Ok(REDIRECT);
        }
        if kind.ok_or(Unsure)? != b"item" {
            return Ok(NOT_AN_ITEM);
        }
        item.qid = id.and_then(qid).ok_or(Unsure)?;
        if item.sitelinks.is_empty() {
            return Ok(NO_SITELINK);
        }
        item.instance_of_any_rank = distinct(instance_of.iter().filter_map(|statement: &Statement| statement.value));
        item.superclasses = best(&subclass_of);
        item.occupations = best(&occupations);
        item.types = best(&instance_of);
        let [of_instance, of_subclass, none] = &words.routes;
        item.type_route.clone_from(of_instance);
        if item.types.is_empty() {
            item.type_route.clone_from(if item.superclasses.is_empty() { none } else { of_subclass });
            item.types.clone_from(&item.superclasses);
        }
        self.push(&item);
        Ok(KEPT)
    }

    /// The numbers of wikis or languages and the texts of what Python has read; None for an unknown name.
    pub fn texts_of(&self, texts: &[(String, String)], are_sitelinks: bool) -> Option<Texts> {
        let names = if are_sitelinks { &self.wikis } else { &self.languages };
        texts.iter().map(|(name, text)| Some((names.number(name.as_bytes())?, text.as_bytes().to_vec()))).collect()
    }

    /// Add the rows of an item.
    pub fn push(&mut self, item: &Item) {
        let rows = &mut self.entities;
        rows.rows += 1;
        rows.qids.push_long(item.qid);
        rows.types.push(&item.types);
        rows.type_routes.push(&item.type_route);
        rows.any_rank_types.push(&item.instance_of_any_rank);
        rows.superclasses.push(&item.superclasses);
        rows.occupations.push(&item.occupations);
        rows.lastrevids.push_long(item.lastrevid);
        for (column, texts) in rows.texts.iter_mut().zip(&item.texts) {
            for (language, text) in texts {
                column.languages.push(&self.languages.names[*language]);
                push_bytes(&mut column.texts, text);
            }
            column.length += texts.len();
            column.ends.push(column.length);
        }
        self.is_full = rows.rows >= self.row_group;
        for (wiki, title) in &item.sitelinks {
            let rows = &mut self.sitelinks[*wiki];
            rows.rows += 1;
            rows.qids.push_long(item.qid);
            push_bytes(&mut rows.titles, title);
            self.is_full |= rows.rows >= self.row_group;
        }
    }

    /// Empty the tables that have the rows of a row group, or all: `entities`, and `sitelinks` by wiki.
    pub fn take(&mut self, every: bool) -> (Entities, Vec<(&str, Sitelinks)>) {
        self.is_full = false;
        let least = if every { 1 } else { self.row_group };
        let entities = if self.entities.rows >= least { take(&mut self.entities) } else { Entities::default() };
        let full = self.wikis.names.iter().zip(&mut self.sitelinks).filter(|(_, rows)| rows.rows >= least);
        (entities, full.map(|(wiki, rows)| (wiki.as_str(), take(rows))).collect())
    }
}

fn push_bytes(column: &mut Strings, text: &[u8]) {
    column.data.extend_from_slice(text);
    assert!(i32::try_from(column.data.len()).is_ok(), "the texts of a row group have 2 GB");
    column.ends.push(column.data.len());
}

/// Whether a value is what an empty map may be: null or an empty list, as PHP writes it.
fn is_empty_map(json: &mut Json<'_>) -> Parsed<bool> {
    match json.peek() {
        b'[' => json.elements(|_| Err(Unsure))?,
        b'n' => json.literal(b"null")?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The texts of the wanted entries of a map such as `{"enwiki": {"title": "Douglas Adams"}}`, sorted by name; several of
/// each, in order, where an entry is a list.
fn texts(json: &mut Json<'_>, names: &Names, field: &[u8], several: bool) -> Parsed<Texts> {
    let (mut texts, mut entries) = (Texts::new(), Vec::new());
    if is_empty_map(json)? {
        return Ok(texts);
    }
    json.members(|json, name| {
        let Some(number) = names.number(name) else {
            return json.skip();
        };
        entries.push(number);
        let mut read = |json: &mut Json<'_>| {
            let mut text = None;
            json.members(|json, key| {
                if key != field {
                    return json.skip();
                }
                text = Some(json.text()?);
                Ok(())
            })?;
            let mut bytes = Vec::new();
            text.ok_or(Unsure)?.append_to(&mut bytes);
            texts.push((number, bytes));
            Ok(())
        };
        if several {
            json.elements(read)
        } else {
            read(json)
        }
    })?;
    entries.sort_unstable();
    // Of a repeated name, the last entry counts.
    if entries.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Unsure);
    }
    texts.sort_by_key(|(number, _)| *number);
    if several {
        let mut seen = HashSet::new();
        let first: Vec<bool> = texts.iter().map(|text| seen.insert(text)).collect();
        let mut first = first.into_iter();
        texts.retain(|_| first.next() == Some(true));
    }
    Ok(texts)
}

#[derive(Clone, Copy, PartialEq)]
enum Rank {
    Preferred,
    Normal,
    Other,
}

/// A statement: its rank, and the item that is its value.
struct Statement {
    rank: Rank,
    value: Option<i64>,
}

impl Words {
    fn statements(&self, json: &mut Json<'_>) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        json.elements(|json| {
            let mut statement = Statement { rank: Rank::Normal, value: None };
            json.members(|json, key| {
                if self.rank.as_bytes() == key {
                    statement.rank = self.rank_of(json.text()?.plain()?);
                } else if self.mainsnak.as_bytes() == key {
                    statement.value = self.snak(json)?;
                } else {
                    json.skip()?;
                }
                Ok(())
            })?;
            statements.push(statement);
            Ok(())
        })?;
        Ok(statements)
    }

    fn rank_of(&self, name: &[u8]) -> Rank {
        if self.preferred.as_bytes() == name {
            Rank::Preferred
        } else if self.normal.as_bytes() == name {
            Rank::Normal
        } else {
            Rank::Other
        }
    }

    /// The item that is the value of a snak.
    fn snak(&self, json: &mut Json<'_>) -> Parsed<Option<i64>> {
        let mut item = None;
        json.members(|json, key| {
            if self.datavalue.as_bytes() != key {
                return json.skip();
            }
            item = None;
            json.members(|json, key| {
                if key != b"value" {
                    return json.skip();
                }
                item = None;
                if json.peek() != b'{' {
                    return json.skip();
                }
                item = self.entity_id(json)?;
                Ok(())
            })
        })?;
        Ok(item)
    }

    /// The item of a value such as `{"entity-type": "item", "numeric-id": 5, "id": "Q5"}`.
    fn entity_id(&self, json: &mut Json<'_>) -> Parsed<Option<i64>> {
        let (mut id, mut number, mut is_item) = (None, None, true);
        json.members(|json, key| {
            match key {
                b"id" => id = Some(json.text()?.plain()?),
                key if self.entity_type.as_bytes() == key => is_item = json.text()?.plain()? == b"item",
                key if self.numeric_id.as_bytes() == key => number = Some(json.number()?),
                _ => json.skip()?,
            }
            Ok(())
        })?;
        Ok(match id {
            Some(id) => qid(id),
            None => number.filter(|_| is_item).and_then(item_number),
        })
    }
}

/// The number of an id such as Q42.
fn qid(id: &[u8]) -> Option<i64> {
    match id {
        [b'Q' | b'q', number @ ..] => item_number(number),
        _ => None,
    }
}

fn item_number(digits: &[u8]) -> Option<i64> {
    let is_number = digits.len() <= LONGEST_ID && digits.first() != Some(&b'0');
    whole_number(digits).filter(|_| is_number).and_then(|number| i64::try_from(number).ok())
}

fn whole_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The items of best rank: of preferred statements, or if there is none of normal ones.
fn best(statements: &[Statement]) -> Vec<i64> {
    let has_preferred = statements.iter().any(|statement| statement.rank == Rank::Preferred);
    let rank = if has_preferred { Rank::Preferred } else { Rank::Normal };
    distinct(statements.iter().filter(|statement| statement.rank == rank).filter_map(|statement| statement.value))
}

fn distinct(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut seen = HashSet::new();
    values.filter(|value| seen.insert(*value)).collect()
}
