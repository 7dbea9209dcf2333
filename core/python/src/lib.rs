//! The Python module `wikianchor_core`.

use std::sync::OnceLock;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wikianchor_engine::page;
use wikianchor_engine::shared::set_shared;
use wikianchor_engine::unicode::{self, Case, Forms, Tables, ALNUM, ALPHA, NEEDS_NFC, PRINTABLE};

mod anchors;
mod bzip2;
mod gzip;
mod names;
mod reader;
mod template_pages;
mod wikidata;
mod words;

/// Lower case by the running Python, for Greek alone.
fn lower_text(text: &str) -> String {
    let by_python =
        |py: Python<'_>| -> PyResult<String> { pyo3::types::PyString::new(py, text).call_method0("lower")?.extract() };
    Python::attach(by_python).unwrap_or_else(|_| text.to_owned())
}

static EVALUATE: OnceLock<Py<PyAny>> = OnceLock::new();

/// The value of an expression that is left to Python, which is rare.
fn evaluate(expression: &str) -> Option<String> {
    let evaluate = EVALUATE.get()?;
    Python::attach(|py| evaluate.call1(py, (expression,)).and_then(|value| value.extract(py)).ok())
}

/// Characters with what a method of `str` makes of them.
type Changes = Vec<(char, String)>;

/// Characters with the classes, cases and normal forms that the running Python gives them, as `core_tables.py` collects
/// them.
#[derive(FromPyObject)]
struct CharacterTables {
    letters: String,
    others: String,
    classes: Vec<Vec<u8>>,
    lower: Changes,
    upper: Changes,
    title: Changes,
    zeros: Vec<char>,
    combining: Vec<(char, u8)>,
    decomposed: Vec<(char, String)>,
    composed: Vec<((char, char), char)>,
    needs_nfc: String,
}

/// Take the character classes of the running Python, what evaluates expressions, and the rules that are the same on
/// every wiki. The first call counts.
#[pyfunction]
fn set_up(tables: CharacterTables, evaluator: Py<PyAny>, rules: &str) -> PyResult<()> {
    set_shared(rules).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let _ = EVALUATE.set(evaluator);
    // A fault becomes an error of Python, which names the page; the default hook would print lines of its own.
    std::panic::set_hook(Box::new(|_| {}));
    let mut bits = vec![0; 0xE0200];
    for (index, char) in tables.others.chars().enumerate() {
        for (number, class) in tables.classes.iter().enumerate() {
            bits[char as usize] |= u16::from(class[index]) << number;
        }
    }
    for char in tables.letters.chars() {
        bits[char as usize] |= ALNUM | ALPHA | PRINTABLE;
    }
    for char in tables.needs_nfc.chars() {
        bits[char as usize] |= NEEDS_NFC;
    }
    let case = |changes: Changes| changes.into_iter().collect::<Case>();
    unicode::set_tables(Tables {
        bits,
        lower: case(tables.lower),
        upper: case(tables.upper),
        title: case(tables.title),
        lower_text,
        evaluate,
        zeros: tables.zeros,
        forms: Forms {
            decompositions: tables.decomposed.into_iter().collect(),
            compositions: tables.composed.into_iter().collect(),
            classes: tables.combining.into_iter().collect(),
        },
    });
    Ok(())
}

/// Do as `PageReader.read_pages`, but read no page: pass over those of none of these namespaces.
#[pyfunction]
fn skip_pages(
    data: &[u8],
    begin: usize,
    inside: bool,
    _status: i32,
    number: usize,
    namespaces: Vec<i64>,
) -> (usize, usize, usize) {
    let (pages, end) = if inside { (0, 0) } else { page::skip_pages(&data[begin..], &namespaces) };
    (begin + end, page::page_end(data, begin + end), number + pages)
}

#[pymodule]
fn wikianchor_core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("sources", env!("WIKIANCHOR_CORE_SOURCES"))?;
    module.add_function(wrap_pyfunction!(set_up, module)?)?;
    module.add_function(wrap_pyfunction!(skip_pages, module)?)?;
    anchors::register(module)?;
    bzip2::register(module)?;
    gzip::register(module)?;
    names::register(module)?;
    reader::register(module)?;
    template_pages::register(module)?;
    wikidata::register(module)?;
    words::register(module)
}
