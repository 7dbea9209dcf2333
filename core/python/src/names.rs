//! The classes `NameCharacters`, `NameCounter` and `LinkCounter`, which `mentions` counts names with.

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memmap2::Mmap;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use serde_json::Value;
use wikianchor_engine::columns::{Numbers, Strings};
use wikianchor_engine::names::{AnchorCounter as Anchors, Characters, NameTable, OccurrenceCounter as Counter, Texts};

use crate::reader::guarded;

/// Columns of texts and links, as buffers of Arrow: see `names::Texts`.
#[derive(FromPyObject)]
struct Columns<'py>(
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// Call a function with texts; it returns None where these are not in the data.
fn with_texts<T: Send>(
    py: Python<'_>,
    columns: &Columns<'_>,
    run: impl FnOnce(&Texts<'_>) -> Option<T> + Send,
) -> PyResult<T> {
    let Columns(data, offsets, order, heads, links, starts, ends) = columns;
    let [data, offsets, order, heads, links, starts, ends] =
        [data, offsets, order, heads, links, starts, ends].map(|column| column.as_bytes());
    let result = py.detach(|| {
        let [offsets, order, links, starts, ends] = [offsets, order, links, starts, ends].map(ints);
        let texts =
            Texts { data, offsets: &offsets, order: &order, heads, links: &links, starts: &starts, ends: &ends };
        guarded(|| run(&texts))
    })?;
    result.ok_or_else(|| PyValueError::new_err("a text or a link is not in the data"))
}

pub fn ints(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).filter_map(|bytes| bytes.try_into().map(i32::from_le_bytes).ok()).collect()
}

pub fn longs(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(8).filter_map(|bytes| bytes.try_into().map(i64::from_le_bytes).ok()).collect()
}

type Shared = Arc<Mutex<Characters>>;

/// The lock of characters. It is taken without the GIL, because a new character takes that.
fn locked(characters: &Shared) -> MutexGuard<'_, Characters> {
    characters.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Characters, which the counters of a process share. `describe` returns the description of a code point.
#[pyclass(frozen)]
struct NameCharacters(Shared);

#[pymethods]
impl NameCharacters {
    #[new]
    fn new(describe: Py<PyAny>) -> NameCharacters {
        let characters = Characters::new(Box::new(move |char| {
            let by_python = |py: Python<'_>| -> PyResult<u32> { describe.call1(py, (u32::from(char),))?.extract(py) };
            Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
        }));
        NameCharacters(Arc::new(Mutex::new(characters)))
    }

    /// Return the names that texts give to items, int64, in the order of key, surface and item: ends and bytes of the
    /// keys, of the surfaces; numbers of the texts, int64.
    fn sorted_names<'py>(
        &self,
        py: Python<'py>,
        texts: (Bound<'py, PyBytes>, Bound<'py, PyBytes>),
        items: &[u8],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (data, offsets) = (texts.0.as_bytes(), texts.1.as_bytes());
        let names = py.detach(|| guarded(|| locked(&self.0).sorted_names(data, &ints(offsets), &longs(items))))?;
        let (strings, order) = names.ok_or_else(|| PyValueError::new_err("a text is not in the data"))?;
        let [keys, surfaces] = strings.map(|column| buffers(py, &column));
        (keys, surfaces, PyBytes::new(py, &order.0)).into_pyobject(py)
    }
}

fn buffers<'py>(py: Python<'py>, strings: &Strings) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
    (PyBytes::new(py, &strings.ends.0), PyBytes::new(py, &strings.data))
}

fn bytes<'py>(py: Python<'py>, columns: &[Numbers]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, columns.iter().map(|column| PyBytes::new(py, &column.0)))
}

/// Counts how often each name of a table occurs in texts, and on how many pages.
///
/// The table is a local file of `arrays/tables.py`.
#[pyclass]
struct NameCounter {
    characters: Shared,
    table: Mmap,
    arrays: [Range<usize>; 3],
    counter: Counter,
}

#[pymethods]
impl NameCounter {
    #[new]
    fn new(path: &str, characters: &NameCharacters) -> PyResult<NameCounter> {
        let file = File::open(path)?;
        // SAFETY: a table is written once, under a name of its own, and never changed or cut off.
        let table = unsafe { Mmap::map(&file)? };
        let arrays = arrays(&table).ok_or_else(|| PyValueError::new_err(format!("{path} is no table of names")))?;
        Ok(NameCounter { characters: characters.0.clone(), table, arrays, counter: Counter::default() })
    }

    /// Count the names in texts.
    fn add(&mut self, py: Python<'_>, columns: Columns<'_>) -> PyResult<()> {
        let NameCounter { characters, table, arrays, counter } = self;
        let [hashes, values, buckets] = arrays.clone().map(|range| &table[range]);
        let table = NameTable::new(hashes, values, buckets);
        let table = table.ok_or_else(|| PyValueError::new_err("the table of names is damaged"))?;
        with_texts(py, &columns, |texts| counter.add(&mut locked(characters), &table, texts))
    }

    /// Return the numbers of the names, ascending, with their numbers of occurrences and of pages.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        bytes(py, &self.counter.take())
    }
}

/// Where the arrays of a table of names are in its file; None for another file.
fn arrays(file: &[u8]) -> Option<[Range<usize>; 3]> {
    let (rest, length) = file.split_last_chunk::<8>()?;
    let start = rest.len().checked_sub(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let index: Value = serde_json::from_slice(&rest[start..]).ok()?;
    let range = |name: &str, kind: &str, size: usize| {
        let array = index.get(name)?;
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let (length, offset) = (number(array.get(1)?.get(0)?)?, number(array.get(2)?)?);
        let end = length.checked_mul(size)?.checked_add(offset)?;
        (array.get(0)?.as_str()? == kind && end <= start).then_some(offset..end)
    };
    Some([range("hashes", "<u8", 8)?, range("values", "<i4", 4)?, range("buckets", "<u4", 4)?])
}

/// Counts links by anchor text and item.
#[pyclass]
struct LinkCounter {
    characters: Shared,
    counter: Anchors,
}

#[pymethods]
impl LinkCounter {
    #[new]
    fn new(characters: &NameCharacters, max_length: usize) -> LinkCounter {
        LinkCounter { characters: characters.0.clone(), counter: Anchors::new(max_length) }
    }

    /// Count the links of texts, given their items, int64, and for each whether it counts only if it has a letter.
    ///
    /// Return a byte for each link: 0 where it counts, 1 where it is too long, 2 where it has a gap, 3 where it lacks a
    /// letter, 4 where its text is not read.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        columns: Columns<'py>,
        items: &[u8],
        needs_letter: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let LinkCounter { characters, counter } = self;
        let items = longs(items);
        let reasons =
            with_texts(py, &columns, |texts| counter.add(&mut locked(characters), texts, &items, needs_letter))?;
        Ok(PyBytes::new(py, &reasons))
    }

    /// Return the names, in the order of key, surface and item: ends and bytes of the keys, of the surfaces; items,
    /// numbers of links, of pages with such a link, and of pages on which it is the first one with the key.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let LinkCounter { characters, counter } = self;
        let columns = py.detach(|| counter.take(&mut locked(characters)));
        let [keys, surfaces] = columns.strings.map(|column| buffers(py, &column));
        (keys, surfaces, bytes(py, &columns.numbers)?).into_pyobject(py)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NameCharacters>()?;
    module.add_class::<NameCounter>()?;
    module.add_class::<LinkCounter>()
}
