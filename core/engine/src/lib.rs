//! Wikitext to sentences and links: the passes of `pipelines/wikimedia/wikitext` and `pipelines/text`, file by file and
//! name by name. The Python code is the reference; what differs from it is a fault here.
//!
//! Offsets in this crate are bytes of UTF-8; the binding gives code points to Python.

#![forbid(unsafe_code)]

pub mod columns;
pub mod counts;
pub mod page;
pub mod page_kinds;
pub mod reader;
pub mod rules;
pub mod text;
pub mod titles;
pub mod unicode;
pub mod wikitext;
