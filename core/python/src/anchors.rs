//! The class `SentenceComparer`, which `export` compares texts with.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wikianchor_engine::anchors::{Characters, Comparer, Sentences, Texts};

use crate::names::{ints, longs};
use crate::reader::guarded;

/// Texts as buffers of Arrow: their bytes, and their offsets, int32.
#[derive(FromPyObject)]
struct Strings<'py>(Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Texts with a link each: where it begins and ends, int32.
#[derive(FromPyObject)]
struct Linked<'py>(Strings<'py>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn checked<T>(result: Option<T>) -> PyResult<T> {
    result.ok_or_else(|| PyValueError::new_err("a text or a link is not in the data"))
}

fn numbers<'py>(py: Python<'py>, numbers: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * numbers.len(), |bytes| {
        for (bytes, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    })
}

/// Compares texts. `describe` returns what a code point is folded to, and properties.
#[pyclass]
struct SentenceComparer {
    comparer: Comparer,
}

impl SentenceComparer {
    fn with_sentences<T: Send>(
        &mut self,
        py: Python<'_>,
        linked: &Linked<'_>,
        run: impl FnOnce(&mut Comparer, &Sentences<'_>) -> Option<T> + Send,
    ) -> PyResult<T> {
        let Linked(Strings(data, offsets), starts, ends) = linked;
        let (data, offsets, starts, ends) = (data.as_bytes(), offsets.as_bytes(), starts.as_bytes(), ends.as_bytes());
        let comparer = &mut self.comparer;
        checked(py.detach(|| {
            let (offsets, starts, ends) = (ints(offsets), ints(starts), ints(ends));
            let texts = Texts { data, offsets: &offsets };
            guarded(|| run(comparer, &Sentences { texts, starts: &starts, ends: &ends }))
        })?)
    }
}

#[pymethods]
impl SentenceComparer {
    #[new]
    fn new(describe: Py<PyAny>) -> SentenceComparer {
        let characters = Characters::new(Box::new(move |char| {
            let by_python = |py: Python<'_>| -> PyResult<(bool, Vec<u32>)> { describe.call1(py, (char,))?.extract(py) };
            Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
        }));
        SentenceComparer { comparer: Comparer::new(characters) }
    }

    /// Return a hash of each text, uint64. Texts that differ in case or white space only have the same.
    fn text_keys<'py>(&mut self, py: Python<'py>, texts: Strings<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let (data, offsets, comparer) = (texts.0.as_bytes(), texts.1.as_bytes(), &mut self.comparer);
        let keys = py.detach(|| guarded(|| comparer.text_keys(Texts { data, offsets: &ints(offsets) })))?;
        numbers(py, &checked(keys)?)
    }

    /// Return a byte for each sentence: 1 where it says what the page with a title is about. `is_first` has a byte for
    /// each: whether no sentence before it was lost.
    fn leads<'py>(
        &mut self,
        py: Python<'py>,
        titles: Strings<'py>,
        texts: Strings<'py>,
        is_first: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (titles, of_titles) = (titles.0.as_bytes(), ints(titles.1.as_bytes()));
        let (data, offsets, comparer) = (texts.0.as_bytes(), ints(texts.1.as_bytes()), &mut self.comparer);
        let leads = py.detach(|| {
            let titles = Texts { data: titles, offsets: &of_titles };
            guarded(|| comparer.leads(titles, Texts { data, offsets: &offsets }, is_first))
        })?;
        Ok(PyBytes::new(py, &checked(leads)?))
    }

    /// Return a byte for each sentence: 1 where it says too little of the entity that its link leads to.
    fn weak<'py>(&mut self, py: Python<'py>, sentences: Linked<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with_sentences(py, &sentences, |comparer, sentences| comparer.weak(sentences))?))
    }

    /// Return a byte for each sentence: how many words it has in common with its positive, given by number, int64.
    fn closeness<'py>(
        &mut self,
        py: Python<'py>,
        sentences: Linked<'py>,
        positives: Strings<'py>,
        of_sentence: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, offsets) = (positives.0.as_bytes(), ints(positives.1.as_bytes()));
        let of_sentence = longs(of_sentence);
        let common = self.with_sentences(py, &sentences, |comparer, sentences| {
            comparer.closeness(sentences, Texts { data, offsets: &offsets }, &of_sentence)
        })?;
        Ok(PyBytes::new(py, &common))
    }

    /// Return keys of nearly equal sentences, uint64, as many as `bands` of each sentence. Links and the names in the
    /// titles of their pages do not count; sentences of other `scopes`, uint64, have other keys.
    fn masked_keys<'py>(
        &mut self,
        py: Python<'py>,
        sentences: Linked<'py>,
        titles: Strings<'py>,
        scopes: &[u8],
        bands: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, offsets) = (titles.0.as_bytes(), ints(titles.1.as_bytes()));
        let scopes: Vec<u64> = longs(scopes).into_iter().map(|scope| scope as u64).collect();
        let keys = self.with_sentences(py, &sentences, |comparer, sentences| {
            comparer.masked_keys(sentences, Texts { data, offsets: &offsets }, &scopes, bands)
        })?;
        numbers(py, &keys)
    }
}

/// Return a hash of each string, uint64 (xxh3).
#[pyfunction]
fn hash_strings<'py>(py: Python<'py>, strings: Strings<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let (data, offsets) = (strings.0.as_bytes(), ints(strings.1.as_bytes()));
    numbers(py, &checked(Texts { data, offsets: &offsets }.hashes())?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(hash_strings, module)?)?;
    module.add_class::<SentenceComparer>()
}
