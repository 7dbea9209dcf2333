//! An article to the rows of all tables: its title with its flags and links, its sentences, its fragments, its ledger,
//! its document.
//!
//! Of a disambiguation page all text is fragments. The ledger of "A [[bus]] runs." is `links:kept` 1, `links:seen` 1,
//! `pages:articles` 1, `sentences:kept` 1 and `source:links` 1.

use std::mem::take;

use crate::columns::{Documents, Ledger, Sentences, Titles};
use crate::counts::Counts;
use crate::page::Page;
use crate::page_kinds::PageKinds;
use crate::shared::{shared, Name};
use crate::text::documents::add_document;
use crate::text::prose::{aside_fragments, page_sentences, PageText, Prose, Sentence};
use crate::text::splitter::Splitter;
use crate::text::TextRules;
use crate::wikitext::extractor::Extractor;
use crate::wikitext::links::{Links, ReadWikipedia};

pub struct Reader {
    extractor: Extractor,
    splitter: Splitter,
    prose: Prose,
    kinds: PageKinds,
    wiki: String,
    with_fragments: bool,
    pub sentences: Sentences,
    pub fragments: Sentences,
    pub titles: Titles,
    pub ledger: Ledger,
    pub documents: Documents,
}

impl Reader {
    pub fn new(extractor: Extractor, rules: TextRules, kinds: PageKinds, with_fragments: bool) -> Reader {
        Reader {
            wiki: extractor.wiki().to_owned(),
            extractor,
            splitter: Splitter::new(&rules),
            prose: Prose::new(&rules),
            kinds,
            with_fragments,
            sentences: Sentences::default(),
            fragments: Sentences::default(),
            titles: Titles::default(),
            ledger: Ledger::default(),
            documents: Documents::default(),
        }
    }

    /// Read documents too, and links to other Wikipedias by this.
    pub fn read_documents(&mut self, read_wikipedia: ReadWikipedia) {
        self.extractor.structured = true;
        self.extractor.links.set_wikipedia(read_wikipedia);
    }

    /// Forget all rows.
    pub fn clear(&mut self) {
        self.sentences = Sentences::default();
        self.fragments = Sentences::default();
        self.titles = Titles::default();
        self.ledger = Ledger::default();
        self.documents = Documents::default();
    }

    /// Add the rows of an article, whose text is used up; return its ledger.
    pub fn read_article(&mut self, page: &mut Page, is_list: bool) -> Counts {
        let mut counts = Counts::default();
        counts.add(Name::PagesArticles, 1);
        let is_disambiguation = self.kinds.is_disambiguation(&page.text);
        let flags = [(Name::Disambiguation, is_disambiguation), (Name::List, is_list)];
        let flags: Vec<&str> = flags.iter().filter(|(_, holds)| *holds).map(|(flag, _)| flag.text()).collect();
        let prefixes = &shared().names.prefixes;
        let linked = self.extractor.links.linked_titles(&page.text, &page.title);
        self.titles.add_article(page, &flags, &linked);
        let extract = self.extractor.extract(take(&mut page.text), &page.title);
        let page = &*page;
        let shown = page_text(&extract.text, &extract.links, &extract.gaps);
        let mut dropped = Counts::default();
        let mut kept = Vec::new();
        if is_disambiguation {
            counts.add(Name::PagesDisambiguation, 1);
        }
        if is_disambiguation && !self.with_fragments {
            dropped.add(Name::DisambiguationPage, extract.links.starts.len() as i64);
        } else {
            let mut fragments = Vec::new();
            let found = self.with_fragments.then_some(&mut fragments);
            kept = page_sentences(&shown, &self.splitter, &self.prose, &mut dropped, found);
            if is_disambiguation {
                fragments.append(&mut kept);
                fragments.iter_mut().for_each(|sentence| sentence.region = Name::Disambiguation);
                fragments.sort_by_key(|sentence| sentence.number);
                let kinds =
                    [(Name::Heading, dropped.get(Name::Heading)), (Name::DisambiguationPage, links_in(&fragments))];
                dropped = Counts::default();
                for (kind, number) in kinds.into_iter().filter(|&(_, number)| number > 0) {
                    dropped.add(kind, number);
                }
            }
            self.sentences.add(page, &extract.text, &kept, &extract.links);
            if self.with_fragments {
                self.fragments.add(page, &extract.text, &fragments, &extract.links);
                let mut regions = Counts::default();
                for fragment in &fragments {
                    regions.add(fragment.region, 1);
                }
                for (region, number) in regions.0 {
                    counts.add(prefixes.fragments.clone() + &region, number);
                }
                let last = kept.last().into_iter().chain(fragments.last()).map(|sentence| sentence.number + 1).max();
                let mut number = last.unwrap_or(0);
                for aside in extract.asides.iter().filter(|aside| !aside.links.starts.is_empty()) {
                    let in_aside = aside_fragments(&page_text(&aside.text, &aside.links, &[]), aside.region, number);
                    self.fragments.add(page, &aside.text, &in_aside, &aside.links);
                    number += in_aside.len() as u32;
                    counts.add(prefixes.fragments.clone() + aside.region.text(), in_aside.len() as i64);
                }
            }
            counts.add(Name::LinksKept, links_in(&kept));
            counts.add(Name::SentencesKept, kept.len() as i64);
        }
        for (reason, number) in extract.counts.0.iter().filter(|(reason, _)| reason.as_ref() != Name::Link.text()) {
            let is_whole = reason.contains(':');
            counts.add(if is_whole { reason.clone() } else { (prefixes.links.clone() + reason).into() }, *number);
        }
        for (reason, number) in take(&mut dropped.0) {
            let is_whole = [&prefixes.sentences, &prefixes.templates].iter().any(|prefix| reason.starts_with(*prefix));
            counts.add(if is_whole { reason } else { (prefixes.links.clone() + &reason).into() }, number);
        }
        self.ledger.add(page, &counts);
        if extract.structure.is_some() {
            add_document(&mut self.documents, page, &self.wiki, &extract, &kept);
        }
        counts
    }
}

fn page_text<'a>(text: &'a str, links: &'a Links, gaps: &'a [String]) -> PageText<'a> {
    PageText { text, link_starts: &links.starts, link_ends: &links.ends, gaps }
}

fn links_in(sentences: &[Sentence]) -> i64 {
    sentences.iter().map(|sentence| (sentence.last - sentence.first) as i64).sum()
}
