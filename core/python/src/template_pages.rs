//! The class `TemplateReader`, of the pages of the namespace Template.

use std::sync::Arc;

use pyo3::prelude::*;
use wikianchor_engine::page::parse_page;
use wikianchor_engine::rules::Site;
use wikianchor_engine::wikitext::definitions::{template_title, title_of_message};
use wikianchor_engine::wikitext::template_pages::{template_facts, transcluded};

use crate::reader::{fields_of, guarded, site_of, PageFields};

/// Reads templates of one wiki, as `template_pages.py` does.
#[pyclass(frozen)]
struct TemplateReader {
    site: Arc<Site>,
}

#[pymethods]
impl TemplateReader {
    #[new]
    fn new(rules: &str) -> PyResult<TemplateReader> {
        Ok(TemplateReader { site: site_of(rules)? })
    }

    /// Return the fields of a page; None for one that Python refuses.
    fn parse(&self, raw: &[u8]) -> PyResult<Option<PageFields>> {
        guarded(|| parse_page(raw).map(|page| fields_of(&page, true)))
    }

    /// Return what a page shows where it is transcluded.
    fn transcluded(&self, text: &str) -> PyResult<String> {
        guarded(|| transcluded(text, &self.site.entities))
    }

    /// Return what that says of the definition: whether it is a block, whether it marks disambiguation pages, the call
    /// that it begins with, whether that is all, and the names of all calls.
    fn facts(&self, body: &str) -> PyResult<(bool, bool, String, bool, Vec<String>)> {
        let facts = guarded(|| template_facts(body))?;
        Ok((facts.block, facts.disambiguation, facts.first, facts.is_call, facts.names))
    }

    /// Return the normalised title of the template that a call names; "" if it names none.
    fn title(&self, name: &str) -> PyResult<String> {
        guarded(|| title_of_message(name).unwrap_or_else(|| template_title(name, &self.site)))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TemplateReader>()
}
