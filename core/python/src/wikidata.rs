//! The class `ItemReader`, which `entities` reads Wikidata's JSON dump with.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use wikianchor_engine::wikidata::{Item as Rows, Lists, Position, Reader, Words, LABELS};

use crate::reader::{guarded, Buffers};

/// `wikidata.Item`, which Python has read.
#[derive(FromPyObject)]
struct Item {
    qid: i64,
    types: Vec<i64>,
    type_route: String,
    instance_of_any_rank: Vec<i64>,
    superclasses: Vec<i64>,
    occupations: Vec<i64>,
    sitelinks: Vec<(String, String)>,
    labels: Vec<(String, String)>,
    lastrevid: i64,
    descriptions: Vec<(String, String)>,
    aliases: Vec<(String, String)>,
}

/// `wikidata.WORDS`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct WordLists {
    properties: [String; 3],
    routes: [String; 3],
    ranks: [String; 2],
    keys: [String; 8],
}

impl From<WordLists> for Words {
    fn from(WordLists { properties, routes, ranks, keys }: WordLists) -> Words {
        let [instance_of, subclass_of, occupation] = properties;
        let [preferred, normal] = ranks;
        let [claims, sitelinks, lastrevid, rank, mainsnak, datavalue, entity_type, numeric_id] = keys;
        Words {
            instance_of,
            subclass_of,
            occupation,
            routes,
            preferred,
            normal,
            claims,
            sitelinks,
            lastrevid,
            rank,
            mainsnak,
            datavalue,
            entity_type,
            numeric_id,
        }
    }
}

/// Reads the lines of a dump into rows, but leaves lines to Python that are no entities of the usual form.
///
/// Wikis and languages are sorted; `texts` are the names of labels, descriptions and aliases, and whether they are read.
#[pyclass]
struct ItemReader {
    reader: Reader,
}

/// The rows of a table, and its buffers by column.
type Table<'py> = (usize, Bound<'py, PyDict>);

#[pymethods]
impl ItemReader {
    #[new]
    fn new(
        wikis: Vec<String>,
        languages: Vec<String>,
        texts: [(String, bool); 3],
        words: WordLists,
        row_group: usize,
    ) -> ItemReader {
        ItemReader { reader: Reader::new(wikis, languages, texts, words.into(), row_group) }
    }

    /// Read the lines of a block from a position on, up to its end, up to a line that is left to Python, or until `take`
    /// has rows of a row group; return the next position, and the line, or nothing. The first line is left unless one is `known` to
    /// be an entity.
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        block: &[u8],
        position: usize,
        known: bool,
    ) -> PyResult<(usize, Bound<'py, PyBytes>)> {
        let (position, line): Position<'_> = py.detach(|| guarded(|| self.reader.read(block, position, known)))?;
        Ok((position, PyBytes::new(py, line)))
    }

    /// Add the rows of an item that Python has read.
    fn add(&mut self, item: Item) -> PyResult<()> {
        let texts = |texts, are_sitelinks| {
            let texts = self.reader.texts_of(texts, are_sitelinks);
            texts.ok_or_else(|| PyValueError::new_err("an item with a text that is not wanted"))
        };
        let item = Rows {
            sitelinks: texts(&item.sitelinks, true)?,
            texts: [texts(&item.labels, false)?, texts(&item.descriptions, false)?, texts(&item.aliases, false)?],
            qid: item.qid,
            types: item.types,
            type_route: item.type_route,
            instance_of_any_rank: item.instance_of_any_rank,
            superclasses: item.superclasses,
            occupations: item.occupations,
            lastrevid: item.lastrevid,
        };
        guarded(|| self.reader.push(&item))
    }

    /// Empty the tables that have the rows of a row group, or all: `entities`, and `sitelinks` by wiki.
    fn take<'py>(&mut self, py: Python<'py>, every: bool) -> PyResult<(Table<'py>, Vec<(String, Table<'py>)>)> {
        let texts = self.reader.texts.clone();
        let (entities, full) = self.reader.take(every);
        let buffers = Buffers(PyDict::new(py));
        if entities.rows > 0 {
            let lists = |name: &str, column: &Lists| {
                buffers.numbers(name, &column.ends)?;
                buffers.numbers(&format!("{name}.item"), &column.values)
            };
            buffers.numbers("qid", &entities.qids)?;
            lists("types", &entities.types)?;
            buffers.strings("type_route", &entities.type_routes)?;
            lists("any_rank_types", &entities.any_rank_types)?;
            lists("superclasses", &entities.superclasses)?;
            lists("occupations", &entities.occupations)?;
            buffers.numbers("lastrevid", &entities.lastrevids)?;
            for (kind, ((name, is_read), column)) in texts.iter().zip(&entities.texts).enumerate() {
                // A column of labels is never null.
                if *is_read || kind == LABELS {
                    buffers.numbers(name, &column.ends)?;
                    buffers.strings(&format!("{name}.language"), &column.languages)?;
                    buffers.strings(&format!("{name}.text"), &column.texts)?;
                }
            }
        }
        let mut sitelinks = Vec::new();
        for (wiki, rows) in full {
            let buffers = Buffers(PyDict::new(py));
            buffers.numbers("qid", &rows.qids)?;
            buffers.strings("title", &rows.titles)?;
            sitelinks.push((wiki.to_owned(), (rows.rows, buffers.0)));
        }
        Ok(((entities.rows, buffers.0), sitelinks))
    }

    /// Return the numbers of lines read since the last call: all, kept, and those that are not, by reason.
    fn take_lines(&mut self) -> [u64; 5] {
        std::mem::take(&mut self.reader.lines).0
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ItemReader>()
}
