//! The class `GzDecompressor`, with what `gzip_members` uses of the objects of Python's `zlib.decompressobj`.

use pyo3::exceptions::PyEOFError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zlib_rs::{Inflate, InflateError, InflateFlush, Status};

/// The widest window, and 16 for the header and the checksum of gzip.
const WITH_HEADER: u8 = 15 + 16;
/// The first size of the output, which doubles while the input lasts.
const SMALLEST: usize = 1 << 14;

/// Decompress one member of a gzip file, given in pieces.
#[pyclass]
struct GzDecompressor {
    inflate: Inflate,
    output: Vec<u8>,
    /// Whether the member has ended, and all of it has been returned.
    #[pyo3(get)]
    eof: bool,
    /// What is left of the last piece: the rest of the member, or what follows it.
    rest: Vec<u8>,
}

impl GzDecompressor {
    /// Inflate into the output until it has so many bytes or the input is used up; return how many it has, and how much
    /// of the input was used.
    fn inflate(&mut self, data: &[u8], max_length: usize) -> Result<(usize, usize), InflateError> {
        let (mut length, mut used) = (0, 0);
        loop {
            if length == self.output.len() {
                self.output.resize((2 * length).max(SMALLEST), 0);
            }
            let end = self.output.len().min(max_length);
            let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
            let status =
                self.inflate.decompress(&data[used..], &mut self.output[length..end], InflateFlush::SyncFlush)?;
            used += (self.inflate.total_in() - read) as usize;
            length += (self.inflate.total_out() - written) as usize;
            self.eof = status == Status::StreamEnd;
            // An output with room left has all that the input gives.
            if self.eof || length == max_length || length < end {
                return Ok((length, used));
            }
        }
    }

    fn rest_if<'py>(&self, py: Python<'py>, asked: bool) -> Bound<'py, PyBytes> {
        PyBytes::new(py, if asked { &self.rest } else { b"" })
    }
}

#[pymethods]
impl GzDecompressor {
    #[new]
    fn new() -> GzDecompressor {
        GzDecompressor { inflate: Inflate::new(true, WITH_HEADER), output: Vec::new(), eof: false, rest: Vec::new() }
    }

    /// Take more of the member and return at most so many bytes; zlib.error if it is damaged.
    fn decompress<'py>(&mut self, py: Python<'py>, data: &[u8], max_length: usize) -> PyResult<Bound<'py, PyBytes>> {
        if self.eof {
            return Err(PyEOFError::new_err("End of member already reached"));
        }
        match py.detach(|| self.inflate(data, max_length)) {
            Ok((length, used)) => {
                self.rest = data[used..].to_vec();
                Ok(PyBytes::new(py, &self.output[..length]))
            }
            Err(error) => {
                let reason = self.inflate.error_message().unwrap_or_else(|| error.as_str());
                let message = format!("Error -3 while decompressing data: {reason}");
                Err(PyErr::from_value(py.import("zlib")?.getattr("error")?.call1((message,))?))
            }
        }
    }

    /// The rest of the last piece, where more can be returned of it.
    #[getter]
    fn unconsumed_tail<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.rest_if(py, !self.eof)
    }

    /// What follows the member.
    #[getter]
    fn unused_data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.rest_if(py, self.eof)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GzDecompressor>()
}
