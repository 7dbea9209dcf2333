//! The classes that the pipelines use: `Extractor` of one page, and `PageReader` of the pages of a dump.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use memmap2::{MmapMut, MmapOptions};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use wikianchor_engine::columns::{Nullable, Numbers, Spans, Strings};
use wikianchor_engine::counts::Counts;
use wikianchor_engine::page::{namespace_of, next_page, page_end, parse_page, Page};
use wikianchor_engine::page_kinds::PageKinds;
use wikianchor_engine::reader::Reader;
use wikianchor_engine::rules::Site;
use wikianchor_engine::shared::Name;
use wikianchor_engine::unicode::length;
use wikianchor_engine::wikitext::definitions::{Arguments, Invocation, Server};
use wikianchor_engine::wikitext::extractor::{Extract, Extractor as Engine};
use wikianchor_engine::wikitext::link_counts::balances;
use wikianchor_engine::wikitext::links::{LinkReader, Links, Texts};

/// Run the engine; a fault in it becomes an error of Python.
pub fn guarded<T>(run: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| PyRuntimeError::new_err(message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the compiled core failed: {}", text.unwrap_or("without a message"))
}

pub fn site_of(rules: &str) -> PyResult<Arc<Site>> {
    serde_json::from_str(rules).map(Arc::new).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn engine_of(
    py: Python<'_>,
    site: &Arc<Site>,
    find_template: Option<Py<PyAny>>,
    server: Py<PyAny>,
    asides: bool,
) -> PyResult<Engine> {
    let find = find_template.map(|find| -> wikianchor_engine::wikitext::definitions::FindTemplate {
        Box::new(move |title: &str| {
            let by_python = |py: Python<'_>| -> PyResult<Option<String>> { find.call1(py, (title,))?.extract(py) };
            Python::attach(by_python).unwrap_or_else(|error| panic!("{error}")).map(Arc::from)
        })
    });
    let mut engine = Engine::new(site.clone(), find, asides);
    engine.templates.definitions.server = Some(server_of(py, server)?);
    if LinkReader::needs_trail(site) {
        // A trail of a form that the engine does not know.
        let matches = py.import("re")?.call_method1("compile", (&site.link_trail,))?.getattr("match")?.unbind();
        let trail = move |text: &str| Python::attach(|py| trail_length(matches.bind(py), text));
        engine.links.set_trail(Box::new(move |text| trail(text).unwrap_or_else(|error| panic!("{error}"))));
    }
    Ok(engine)
}

/// What Python shows for the engine: `wikitext.definitions.Definitions` of the wiki.
fn server_of(py: Python<'_>, definitions: Py<PyAny>) -> PyResult<Server> {
    let runs_modules = definitions.getattr(py, "runs_modules")?.extract(py)?;
    let (of_serve, of_choose, of_invoke) = (definitions.clone_ref(py), definitions.clone_ref(py), definitions);
    let serve = move |name: &str, arguments: &[String]| {
        let by_python = |py: Python<'_>| -> PyResult<String> {
            let texts = PyList::new(py, arguments)?;
            of_serve.call_method1(py, "serve", (name, texts))?.extract(py)
        };
        Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
    };
    let choose = move |texts: [&str; 4]| {
        let by_python = |py: Python<'_>| -> PyResult<String> {
            of_choose.call_method1(py, "choose", (texts[0], texts[1], texts[2], texts[3]))?.extract(py)
        };
        Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
    };
    let invoke = move |call: &Invocation| {
        let by_python = |py: Python<'_>| -> PyResult<String> {
            if let Some(length) = call.begins {
                of_invoke.call_method1(py, "begin", (length,))?;
            }
            let (arguments, given) = (given_of(py, call.arguments)?, given_of(py, call.given)?);
            let call = (call.module, call.function, arguments, call.title, given, call.page, call.depth);
            of_invoke.call_method1(py, "invoke", call)?.extract(py)
        };
        Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
    };
    Ok(Server { serve: Box::new(serve), choose: Box::new(choose), invoke: Box::new(invoke), runs_modules })
}

/// The arguments of a call as a `dict`, in their order.
fn given_of<'py>(py: Python<'py>, arguments: &Arguments) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in arguments.iter() {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The number of bytes at the beginning of a text that a pattern matches.
fn trail_length(matches: &Bound<'_, PyAny>, text: &str) -> PyResult<usize> {
    let trail = matches.call1((text,))?;
    Ok(if trail.is_none() { 0 } else { trail.call_method0("group")?.extract::<String>()?.len() })
}

fn dict_of<'py>(py: Python<'py>, counts: &Counts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, number) in &counts.0 {
        dict.set_item(name.as_ref(), number)?;
    }
    Ok(dict)
}

/// Offsets as code points, from ascending offsets as bytes.
fn points(text: &str, offsets: &[usize]) -> Vec<usize> {
    let (mut bytes, mut points) = (0, 0);
    offsets
        .iter()
        .map(|&offset| {
            points += length(&text[bytes..offset]);
            bytes = offset;
            points
        })
        .collect()
}

/// The columns of `links.Links`.
fn columns_of<'py>(py: Python<'py>, text: &str, links: &Links) -> PyResult<Bound<'py, PyTuple>> {
    let strings = |column: &Texts| PyList::new(py, column.iter());
    let (starts, ends) = (points(text, &links.starts), points(text, &links.ends));
    (starts, ends, strings(&links.targets)?, strings(&links.fragments)?).into_pyobject(py)
}

/// The fields of `Page` of Python.
pub type PageFields = (String, Option<i64>, i64, i64, String, Option<String>, String, String);

/// The fields of a page, with its wikitext or without.
pub fn fields_of(page: &Page, with_text: bool) -> PageFields {
    (
        page.title.clone(),
        page.namespace,
        page.page_id,
        page.rev_id,
        page.timestamp.clone(),
        page.redirect.clone(),
        page.model.clone(),
        if with_text { page.text.clone() } else { String::new() },
    )
}

/// Extracts the pages of one wiki: the visible text of each and its links.
#[pyclass]
struct Extractor {
    engine: Engine,
}

#[pymethods]
impl Extractor {
    #[new]
    #[pyo3(signature = (rules, find_template, server, asides))]
    fn new(
        py: Python<'_>,
        rules: &str,
        find_template: Option<Py<PyAny>>,
        server: Py<PyAny>,
        asides: bool,
    ) -> PyResult<Extractor> {
        Ok(Extractor { engine: engine_of(py, &site_of(rules)?, find_template, server, asides)? })
    }

    /// Return text, links, other links, gaps, counts and asides, each aside as region, text and links.
    fn extract<'py>(&mut self, py: Python<'py>, text: &str, title: &str) -> PyResult<Bound<'py, PyTuple>> {
        let Extract { text, links, other_links, gaps, counts, asides, .. } =
            guarded(|| self.engine.extract(text.to_owned(), title))?;
        let beside = PyList::empty(py);
        for aside in &asides {
            beside.append((aside.region.text(), &aside.text, columns_of(py, &aside.text, &aside.links)?))?;
        }
        let (links, others) = (columns_of(py, &text, &links)?, columns_of(py, &text, &other_links)?);
        (text, links, others, gaps, dict_of(py, &counts)?, beside).into_pyobject(py)
    }

    fn linked_titles<'py>(&mut self, py: Python<'py>, text: &str, title: &str) -> PyResult<Bound<'py, PyList>> {
        let titles = guarded(|| self.engine.links.linked_titles(text, title))?;
        PyList::new(py, titles.iter().map(|title| title.as_ref()))
    }
}

/// Reads pages into the tables of a dump, a page at a time: `parse`, then `read_article` or `add_redirect`; or many, by
/// `read_pages`. `take` empties a table.
#[pyclass]
struct PageReader {
    reader: Reader,
    page: Option<Page>,
    rules: Option<PageRules>,
    status: Option<Status>,
}

/// What Python says of each page that `read_pages` reads.
struct PageRules {
    /// Whether an article is a list, by its title.
    is_list: Py<PyAny>,
    /// The title and the fragment of the target of a redirect, by what the export says and the text.
    redirect_of: Py<PyAny>,
    /// Takes the time of the revision.
    read_revision: Py<PyAny>,
    /// Raises an error for a title and a ledger that does not balance.
    check: Py<PyAny>,
}

/// Where the launcher looks for the page that is read: the memory of `worker_status.WorkerStatus`.
struct Status(MmapMut);

impl Status {
    const HEAD: usize = 2048;

    fn begin_page(&mut self, number: u64, raw: &[u8]) {
        let head = raw.len().min(self.0.len() - Status::HEAD);
        self.0[Status::HEAD..Status::HEAD + head].copy_from_slice(&raw[..head]);
        self.0[8..16].copy_from_slice(&number.to_le_bytes());
        self.0[16..24].copy_from_slice(&number.to_le_bytes());
    }

    fn end_page(&mut self) {
        self.0[16..24].fill(0);
    }
}

/// What `read_pages` has read.
#[derive(Default)]
struct Batch {
    end: usize,
    is_full: bool,
    pages: u64,
    page_ids: Numbers,
    counts: Counts,
    /// A page whose ledger does not balance.
    unbalanced: Option<(String, Counts)>,
}

const WIKITEXT: &str = "wikitext";
const SENTENCES: u8 = 0;
const FRAGMENTS: u8 = 1;
const TITLES: u8 = 2;
const LEDGER: u8 = 3;

#[pymethods]
impl PageReader {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        rules: &str,
        text_rules: &str,
        disambiguation: Vec<String>,
        find_template: Option<Py<PyAny>>,
        server: Py<PyAny>,
        marks_disambiguation: Option<Py<PyAny>>,
        fragments: bool,
    ) -> PyResult<PageReader> {
        let site = site_of(rules)?;
        let text = serde_json::from_str(text_rules).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let marks = marks_disambiguation.map(|marks| -> wikianchor_engine::page_kinds::MarksDisambiguation {
            Box::new(move |name: &str| {
                let by_python = |py: Python<'_>| -> PyResult<bool> { marks.call1(py, (name,))?.extract(py) };
                Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
            })
        });
        let kinds = PageKinds::new(&disambiguation, marks);
        let reader = Reader::new(engine_of(py, &site, find_template, server, fragments)?, text, kinds, fragments);
        Ok(PageReader { reader, page: None, rules: None, status: None })
    }

    /// Take what `read_pages` needs: see `PageRules`.
    fn set_page_rules(
        &mut self,
        is_list: Py<PyAny>,
        redirect_of: Py<PyAny>,
        read_revision: Py<PyAny>,
        check: Py<PyAny>,
    ) {
        self.rules = Some(PageRules { is_list, redirect_of, read_revision, check });
    }

    /// Read the pages that some bytes begin with, up to one that is not whole, or that is for `parse`.
    ///
    /// Args:
    ///     data: the bytes.
    ///     begin: where to begin in them.
    ///     inside: whether that may be inside a page, so that none is read.
    ///     status: the descriptor of the file that the launcher looks at, -1 for none.
    ///     number: the number of pages before.
    ///     limits: by table, how many rows it has at most, and values in its lists, 0 for any number.
    ///     add: takes the ids of articles and redirects and the sums of the counts, and what is full of the tables; returns
    ///         how many names the counts may get until it is called again.
    ///
    /// Returns:
    ///     Where the last page that was read ends; where the one after it ends, or the bytes; and the number of pages up
    ///     to there, without that one.
    #[allow(clippy::too_many_arguments)]
    fn read_pages<'py>(
        slf: &Bound<'py, PageReader>,
        data: &Bound<'py, PyBytes>,
        mut begin: usize,
        inside: bool,
        status: i32,
        mut number: u64,
        limits: Vec<(usize, usize)>,
        add: Bound<'py, PyAny>,
    ) -> PyResult<(usize, usize, u64)> {
        let py = slf.py();
        if status >= 0 && slf.borrow().status.is_none() {
            // Safe: the launcher only reads it, and its length stays.
            slf.borrow_mut().status = Some(Status(unsafe { MmapOptions::new().map_mut(status)? }));
        }
        let bytes = data.as_bytes();
        let mut batch = Batch { is_full: !inside, ..Batch::default() };
        while batch.is_full {
            let counts = dict_of(py, &batch.counts)?;
            let names_left = add.call1((PyBytes::new(py, &batch.page_ids.0), counts))?.extract::<i64>()?;
            let names_left = usize::try_from(names_left).unwrap_or(0);
            // `add` takes the tables, so that the reader is not borrowed then.
            let reader = &mut *slf.borrow_mut();
            batch = py.detach(|| reader.read_batch(bytes, begin, number, &limits, names_left));
            if let (Some((title, counts)), Some(rules)) = (&batch.unbalanced, &reader.rules) {
                rules.check.call1(py, (title, dict_of(py, counts)?))?;
            }
            (begin, number) = (batch.end, number + batch.pages);
        }
        if !inside {
            add.call1((PyBytes::new(py, &batch.page_ids.0), dict_of(py, &batch.counts)?))?;
        }
        Ok((begin, page_end(bytes, begin), number))
    }

    /// Read documents too, and links to other Wikipedias by a function of Python.
    fn read_documents(&mut self, read_wikipedia: Py<PyAny>) {
        self.reader.read_documents(Box::new(move |raw: &str| {
            let by_python = |py: Python<'_>| -> PyResult<Option<(String, String, String)>> {
                read_wikipedia.call1(py, (raw,))?.extract(py)
            };
            Python::attach(by_python).unwrap_or_else(|error| panic!("{error}"))
        }));
    }

    /// Forget all rows.
    fn clear(&mut self) {
        self.reader.clear();
    }

    /// Return the fields of `pages.Page`; None for a page that `pages.parse_page` refuses.
    ///
    /// Wikitext is left out where only the core reads it.
    fn parse(&mut self, raw: &[u8]) -> PyResult<Option<PageFields>> {
        self.page = guarded(|| parse_page(raw))?;
        Ok(self.page.as_ref().map(|page| fields_of(page, page.redirect.is_some() || page.namespace.is_none())))
    }

    /// Add the page that was parsed last as a redirect.
    fn add_redirect(&mut self, target: &str, fragment: &str) -> PyResult<()> {
        let page = self.parsed()?;
        self.reader.titles.add_redirect(&page, target, fragment);
        Ok(())
    }

    /// Add the title, the sentences, the fragments, the ledger and the document of the article that was parsed last.
    fn read_article<'py>(&mut self, py: Python<'py>, is_list: bool) -> PyResult<Bound<'py, PyDict>> {
        let mut page = self.parsed()?;
        let counts = guarded(|| self.reader.read_article(&mut page, is_list))?;
        dict_of(py, &counts)
    }

    /// Return the number of rows of a table, and that of the values in its lists where these count.
    fn size(&self, table: u8) -> (usize, usize) {
        let reader = &self.reader;
        match table {
            SENTENCES => (reader.sentences.rows, 0),
            FRAGMENTS => (reader.fragments.rows, 0),
            TITLES => (reader.titles.rows, reader.titles.links),
            LEDGER => (reader.ledger.rows, reader.ledger.counts),
            _ => (reader.documents.rows, reader.documents.points),
        }
    }

    /// Return the buffers of a table by their names, and empty it.
    fn take<'py>(&mut self, py: Python<'py>, table: u8) -> PyResult<Bound<'py, PyDict>> {
        let buffers = Buffers(PyDict::new(py));
        match table {
            SENTENCES | FRAGMENTS => {
                let whole = if table == SENTENCES { &mut self.reader.sentences } else { &mut self.reader.fragments };
                let rows = std::mem::take(whole);
                buffers.numbers("page_id", &rows.page_ids)?;
                buffers.numbers("rev_id", &rows.rev_ids)?;
                buffers.strings("title", &rows.titles)?;
                buffers.strings("region", &rows.regions)?;
                buffers.numbers("sentence_index", &rows.numbers)?;
                buffers.strings("text", &rows.texts)?;
                buffers.numbers("links", &rows.link_ends)?;
                buffers.numbers("start", &rows.starts)?;
                buffers.numbers("end", &rows.ends)?;
                buffers.strings("target", &rows.targets)?;
                buffers.strings("fragment", &rows.fragments)?;
            }
            TITLES => {
                let rows = std::mem::take(&mut self.reader.titles);
                buffers.numbers("page_id", &rows.page_ids)?;
                buffers.numbers("rev_id", &rows.rev_ids)?;
                buffers.strings("title", &rows.titles)?;
                buffers.nullable("redirect", &rows.redirects)?;
                buffers.nullable("redirect_fragment", &rows.redirect_fragments)?;
                buffers.numbers("flags", &rows.flag_ends)?;
                buffers.strings("flag", &rows.flag_names)?;
                buffers.numbers("links", &rows.link_ends)?;
                buffers.strings("link", &rows.link_titles)?;
            }
            LEDGER => {
                let rows = std::mem::take(&mut self.reader.ledger);
                buffers.numbers("page_id", &rows.page_ids)?;
                buffers.numbers("rev_id", &rows.rev_ids)?;
                buffers.numbers("counts", &rows.count_ends)?;
                buffers.strings("name", &rows.names)?;
                buffers.numbers("number", &rows.numbers)?;
            }
            _ => {
                let rows = std::mem::take(&mut self.reader.documents);
                buffers.numbers("page_id", &rows.page_ids)?;
                buffers.numbers("rev_id", &rows.rev_ids)?;
                buffers.strings("timestamp", &rows.timestamps)?;
                buffers.strings("title", &rows.titles)?;
                buffers.strings("text", &rows.texts)?;
                buffers.numbers("categories", &rows.categories.ends)?;
                buffers.strings("category", &rows.category_names)?;
                buffers.numbers("sections", &rows.sections.ends)?;
                buffers.strings("sections.title", &rows.section_titles)?;
                buffers.numbers("sections.level", &rows.section_levels)?;
                buffers.spans("sections", &rows.section_spans)?;
                buffers.numbers("blocks", &rows.blocks.ends)?;
                buffers.strings("blocks.kind", &rows.block_kinds)?;
                buffers.spans("blocks", &rows.block_spans)?;
                buffers.numbers("blocks.section", &rows.block_sections)?;
                buffers.numbers("blocks.depth", &rows.block_depths)?;
                buffers.numbers("blocks.row", &rows.block_rows)?;
                buffers.numbers("blocks.column", &rows.block_columns)?;
                buffers.numbers("sentences", &rows.sentences.ends)?;
                buffers.numbers("sentences.sentence_index", &rows.sentence_numbers)?;
                buffers.strings("sentences.region", &rows.sentence_regions)?;
                buffers.spans("sentences", &rows.sentence_spans)?;
                buffers.numbers("links", &rows.links.ends)?;
                buffers.spans("links", &rows.link_spans)?;
                buffers.strings("links.wiki", &rows.link_wikis)?;
                buffers.strings("links.target", &rows.link_targets)?;
                buffers.strings("links.fragment", &rows.link_fragments)?;
                buffers.numbers("links.section", &rows.link_sections)?;
                buffers.numbers("links.block", &rows.link_blocks)?;
            }
        }
        Ok(buffers.0)
    }
}

impl PageReader {
    fn read_batch(
        &mut self,
        data: &[u8],
        begin: usize,
        number: u64,
        limits: &[(usize, usize)],
        names_left: usize,
    ) -> Batch {
        let mut batch = Batch { end: begin, ..Batch::default() };
        while let Some((start, stop)) = next_page(&data[batch.end..]) {
            let raw = &data[batch.end + start..batch.end + stop];
            match namespace_of(raw) {
                Some(0) => {
                    if let Some(status) = &mut self.status {
                        status.begin_page(number + batch.pages + 1, raw);
                    }
                    // Python reads a page again that fails, and names it.
                    if !guarded(|| self.read_page(raw, &mut batch)).is_ok_and(|is_read| is_read.is_some()) {
                        break;
                    }
                }
                Some(_) => batch.counts.add(Name::PagesOtherNamespace, 1),
                None => break,
            }
            batch.pages += 1;
            batch.end += stop;
            batch.is_full = batch.counts.0.len() > names_left || self.is_full(limits);
            if batch.is_full || batch.unbalanced.is_some() {
                break;
            }
        }
        if let Some(status) = &mut self.status {
            status.end_page();
        }
        batch
    }

    /// Add the rows of a page; None for one that is for `parse`.
    fn read_page(&mut self, raw: &[u8], batch: &mut Batch) -> Option<()> {
        let rules = self.rules.as_ref()?;
        let mut page = parse_page(raw).filter(|page| page.model == WIKITEXT)?;
        if let Some(redirect) = &page.redirect {
            let (target, fragment) = Python::attach(|py| -> PyResult<(String, String)> {
                rules.redirect_of.call1(py, (redirect, &page.text))?.extract(py)
            })
            .ok()?;
            self.reader.titles.add_redirect(&page, &target, &fragment);
            batch.counts.add(Name::PagesRedirects, 1);
        } else {
            let is_list = Python::attach(|py| -> PyResult<bool> {
                rules.read_revision.call1(py, (&page.timestamp,))?;
                rules.is_list.call1(py, (&page.title,))?.extract(py)
            })
            .ok()?;
            let counts = self.reader.read_article(&mut page, is_list);
            if !balances(&counts) {
                batch.unbalanced = Some((page.title.clone(), counts.clone()));
            }
            for (name, number) in counts.0 {
                batch.counts.add(name, number);
            }
        }
        batch.page_ids.push_long(page.page_id);
        Some(())
    }

    fn is_full(&self, limits: &[(usize, usize)]) -> bool {
        limits.iter().zip(0..).any(|(&(most_rows, most_values), table)| {
            let (rows, values) = self.size(table);
            rows >= most_rows || (most_values > 0 && values >= most_values)
        })
    }

    fn parsed(&mut self) -> PyResult<Page> {
        self.page.take().ok_or_else(|| PyRuntimeError::new_err("no page was parsed"))
    }
}

/// Buffers of Arrow arrays by the name of the column.
pub struct Buffers<'py>(pub Bound<'py, PyDict>);

impl Buffers<'_> {
    fn bytes(&self, data: &[u8]) -> Bound<'_, PyBytes> {
        PyBytes::new(self.0.py(), data)
    }

    pub fn numbers(&self, name: &str, column: &Numbers) -> PyResult<()> {
        self.0.set_item(name, self.bytes(&column.0))
    }

    fn spans(&self, list: &str, column: &Spans) -> PyResult<()> {
        self.numbers(&format!("{list}.start"), &column.starts)?;
        self.numbers(&format!("{list}.end"), &column.ends)
    }

    pub fn strings(&self, name: &str, column: &Strings) -> PyResult<()> {
        self.0.set_item(name, (self.bytes(&column.ends.0), self.bytes(&column.data)))
    }

    fn nullable(&self, name: &str, column: &Nullable) -> PyResult<()> {
        let (ends, data) = (self.bytes(&column.strings.ends.0), self.bytes(&column.strings.data));
        self.0.set_item(name, (ends, data, self.bytes(&column.valid)))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Extractor>()?;
    module.add_class::<PageReader>()
}
