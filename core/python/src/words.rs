//! The function `page_bitmaps`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wikianchor_engine::words::{Bitmaps, Searcher};

use crate::reader::guarded;

/// Return the bitmaps of pages, and the binary logarithm of the number of bits of each, a byte each.
///
/// `offsets` are those of texts in `data`, int32, with the end of the last; `firsts` and `lasts` are the number of the
/// first text of each page, and of the first one behind it, int64. Characters whose first byte is `first_single` or more
/// are words by themselves.
#[pyfunction]
fn page_bitmaps<'py>(
    py: Python<'py>,
    data: &[u8],
    offsets: &[u8],
    firsts: &[u8],
    lasts: &[u8],
    first_single: u8,
    bits_per_word: usize,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let bitmaps = py.detach(|| guarded(|| bitmaps_of(data, offsets, firsts, lasts, first_single, bits_per_word)))?;
    let bitmaps = bitmaps.ok_or_else(|| PyValueError::new_err("a text is not in the data"))?;
    Ok((PyBytes::new(py, &bitmaps.bits), PyBytes::new(py, &bitmaps.exponents)))
}

/// None where an offset or a number is out of its range.
fn bitmaps_of(
    data: &[u8],
    offsets: &[u8],
    firsts: &[u8],
    lasts: &[u8],
    first_single: u8,
    bits_per_word: usize,
) -> Option<Bitmaps> {
    let offsets: Vec<i32> =
        offsets.chunks_exact(4).filter_map(|bytes| bytes.try_into().map(i32::from_le_bytes).ok()).collect();
    let first = *offsets.first()?;
    let offsets =
        offsets.iter().map(|end| usize::try_from(end.checked_sub(first)?).ok()).collect::<Option<Vec<_>>>()?;
    let (mut searcher, mut bitmaps) = (Searcher::new(data, first_single, bits_per_word), Bitmaps::default());
    for (first, last) in firsts.chunks_exact(8).zip(lasts.chunks_exact(8)) {
        searcher.add(offsets.get(number(first)?..number(last)?.checked_add(1)?)?, &mut bitmaps)?;
    }
    Some(bitmaps)
}

fn number(bytes: &[u8]) -> Option<usize> {
    i64::from_le_bytes(bytes.try_into().ok()?).try_into().ok()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(page_bitmaps, module)?)
}
