//! The class `Bz2Decompressor`, with the methods of Python's `bz2.BZ2Decompressor`.

use pyo3::exceptions::{PyEOFError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use wikianchor_engine::bzip2::Decompressor;

/// Decompress one stream of bz2, given in pieces.
#[pyclass]
#[derive(Default)]
struct Bz2Decompressor {
    decompressor: Decompressor,
    drained: bool,
}

#[pymethods]
impl Bz2Decompressor {
    #[new]
    fn new() -> Bz2Decompressor {
        Bz2Decompressor { drained: true, ..Bz2Decompressor::default() }
    }

    /// Take more of the stream and return at most so many bytes; OSError if it is damaged.
    fn decompress<'py>(&mut self, py: Python<'py>, data: &[u8], max_length: usize) -> PyResult<Bound<'py, PyBytes>> {
        if self.decompressor.ended() {
            return Err(PyEOFError::new_err("End of stream already reached"));
        }
        let bytes = py.detach(|| {
            if !data.is_empty() {
                self.decompressor.feed(data);
            }
            self.decompressor.read(max_length)
        });
        let bytes = bytes.map_err(PyOSError::new_err)?;
        self.drained = bytes.is_empty();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Whether the stream has ended, and all of it has been returned.
    #[getter]
    fn eof(&self) -> bool {
        self.decompressor.ended()
    }

    /// Whether nothing more can be returned without more of the stream.
    #[getter]
    fn needs_input(&self) -> bool {
        self.drained && !self.decompressor.ended()
    }

    /// What follows the stream.
    #[getter]
    fn unused_data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.decompressor.unused())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Bz2Decompressor>()
}
