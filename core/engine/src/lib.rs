//! Wikitext to sentences and links. Each module states its rule with an example. The module of the same name in
//! `pipelines/wikimedia/wikitext` or `pipelines/text` has the rule in Python, which is the reference: what differs from
//! it is a fault here. Names and tables are in data files that both read (`shared`).
//!
//! Offsets in this crate are bytes of UTF-8; the binding gives code points to Python.

#![forbid(unsafe_code)]

pub mod anchors;
pub mod bzip2;
pub mod columns;
pub mod counts;
pub mod json;
pub mod minhash;
pub mod names;
pub mod page;
pub mod page_kinds;
pub mod reader;
pub mod rules;
pub mod shared;
pub mod text;
pub mod titles;
pub mod unicode;
pub mod wikidata;
pub mod wikitext;
pub mod words;
