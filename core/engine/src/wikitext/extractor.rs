//! The sequence of passes over a page, each of which handles one kind of markup and leaves the rest: comments and
//! extension tags, templates, external links, tables, language variants, images, switches, lines, HTML tags, character
//! references, brackets, blanks, and links last, so that their offsets never shift.
//!
//! "A '''[[bus]]es''' stop<ref>B</ref> in [[Paris|P.]]" is "A buses stop in P.", with links to "Bus" and "Paris".

use std::sync::Arc;

use super::blanks::{close_up, fold_spaces};
use super::brackets::mend_brackets;
use super::characters::{decode_entities, drop_note_numbers, Switches};
use super::definitions::FindTemplate;
use super::external::strip_external_links;
use super::files::FileStripper;
use super::gaps::take_names;
use super::lines::read_lines;
use super::link_counts::{count_change, links_in};
use super::links::{LinkReader, Links, Structure};
use super::placeholders::restore;
use super::tables::{linked_cells, strip_tables, CellNumbers};
use super::tags::{strip_extension_tags, strip_html_tags};
use super::templates::{Missing, Templates};
use super::variants::VariantChooser;
use crate::counts::Counts;
use crate::rules::Site;
use crate::shared::Name;
use crate::unicode::{evaluate, strip};

/// Text with links that stands beside the text of a page.
pub struct Aside {
    pub region: Name,
    pub text: String,
    pub links: Links,
    pub structure: Option<Structure>,
    /// Of each line of wikitext that is a cell, its row and its column.
    pub cells: Vec<CellNumbers>,
}

/// The visible text of a page and its links, with offsets as bytes.
pub struct Extract {
    pub text: String,
    pub links: Links,
    pub other_links: Links,
    pub gaps: Vec<String>,
    pub counts: Counts,
    /// With the structure, those too that have links to other Wikipedias or categories alone.
    pub asides: Vec<Aside>,
    /// What `documents` has besides, if it was asked for.
    pub structure: Option<Structure>,
}

/// Extracts the pages of one wiki.
pub struct Extractor {
    site: Arc<Site>,
    asides: bool,
    pub structured: bool,
    pub templates: Templates,
    files: FileStripper,
    variants: VariantChooser,
    switches: Switches,
    pub links: LinkReader,
}

impl Extractor {
    pub fn new(site: Arc<Site>, find_template: Option<FindTemplate>, asides: bool) -> Extractor {
        Extractor {
            asides,
            structured: false,
            templates: Templates::new(&site, false, find_template, Box::new(evaluate)),
            files: FileStripper::new(&site),
            variants: VariantChooser::new(&site.variants),
            switches: Switches::new(&site.switches),
            links: LinkReader::new(site.clone()),
            site,
        }
    }

    /// The database name of the wiki.
    pub fn wiki(&self) -> &str {
        &self.site.wiki
    }

    pub fn extract(&mut self, text: String, title: &str) -> Extract {
        let mut counts = Counts::default();
        let mut missing = Missing::default();
        let mut tables = Vec::new();
        let mut galleries = Vec::new();
        let of_galleries = self.asides.then_some(&mut galleries);
        let source = links_in(&text);
        let text = strip_extension_tags(text, &self.site.entities, &mut counts, of_galleries);
        count_tags(&mut counts, source, links_in(&text) + galleries.iter().map(|text| links_in(text)).sum::<i64>());
        let text = self.expand(text, title, &mut counts, &mut missing);
        let expanded = links_in(&text);
        let mut text = strip_external_links(text, None);
        let before = links_in(&text);
        count_change(&mut counts, expanded, before, false);
        text.insert(0, '\n');
        text.push('\n');
        let text = strip_tables(text, &mut counts, &mut tables);
        let expected = before - counts.get(Name::Table);
        count_change(&mut counts, expected, links_in(&text), true);
        let (mut extract, mut captions) = self.extract_part(text, title, counts, &missing.names);
        for caption in galleries {
            captions.push(self.gallery_caption(caption, title, &mut extract.counts, &mut missing));
        }
        if self.asides && !(tables.is_empty() && captions.is_empty()) {
            let (lines, cells): (Vec<_>, Vec<_>) = tables.iter().flat_map(|table| linked_cells(table)).unzip();
            let (mut in_tables, in_cells) = self.aside(Name::Table, &lines, title, &mut extract.counts, &missing.names);
            if let Some(aside) = &mut in_tables {
                aside.cells = cells;
            }
            captions.extend(in_cells);
            let (in_captions, _) = self.aside(Name::Caption, &captions, title, &mut extract.counts, &missing.names);
            extract.asides = in_tables.into_iter().chain(in_captions).collect();
        }
        extract
    }

    /// Return what is visible of wikitext without templates and tables, and the captions that contain links.
    fn extract_part(
        &mut self,
        text: String,
        title: &str,
        mut counts: Counts,
        missing: &[String],
    ) -> (Extract, Vec<String>) {
        let mut captions = Vec::new();
        let before = links_in(&text);
        let text = self.variants.choose(text);
        let chosen = links_in(&text);
        count_change(&mut counts, before, chosen, false);
        let expected = chosen + counts.get(Name::File) + counts.get(Name::Caption);
        let text = self.files.strip(text, &mut counts, &mut captions);
        let expected = expected - counts.get(Name::File) - counts.get(Name::Caption);
        let before = links_in(&text);
        count_change(&mut counts, expected, before, true);
        let text = self.switches.strip(text);
        let mut structure = self.structured.then(Structure::default);
        let text = read_lines(text, false, structure.as_mut().map(|structure| &mut structure.breaks));
        let text = strip_html_tags(text, structure.as_mut().map(|structure| &mut structure.breaks));
        let text = decode_entities(text, &self.site.entities);
        let text = mend_brackets(drop_note_numbers(text));
        let text = close_up(fold_spaces(text));
        count_change(&mut counts, before, links_in(&text), false);
        let (text, mut links, mut other_links) = self.links.split_links(&text, title, &mut counts, structure.as_mut());
        let mut columns = vec![&mut links, &mut other_links];
        columns.extend(structure.as_mut().map(|structure| &mut structure.wikipedia_links));
        let (text, gaps) = take_names(text, missing, &mut columns);
        (Extract { text: restore(text), links, other_links, gaps, counts, asides: Vec::new(), structure }, captions)
    }

    /// Return wikitext in which templates show their text, and count its links as seen.
    fn expand(&mut self, text: String, title: &str, counts: &mut Counts, missing: &mut Missing) -> String {
        let taken = |counts: &Counts| {
            counts.get(Name::SourceInCalls) + counts.get(Name::SourceNotices) - counts.get(Name::SourceFromCalls)
        };
        let before = links_in(&text) + taken(counts);
        let text = self.templates.expand(text, title, counts, missing);
        let (expected, after) = (before - taken(counts), links_in(&text));
        if after > expected {
            counts.add(Name::SourceJoined, after - expected);
        }
        counts.add(Name::Seen, after);
        text
    }

    /// Return what a line of a gallery shows below its image, without templates.
    fn gallery_caption(&mut self, text: String, title: &str, counts: &mut Counts, missing: &mut Missing) -> String {
        let text = self.expand(text, title, counts, missing);
        counts.add(Name::Caption, links_in(&text));
        let shown = strip_external_links(text, None);
        match (shown.find("[["), shown.rfind("]]")) {
            // The caption comes last: "link=[[a]]|text" has no link in it.
            (Some(first), Some(last)) if first < last && !shown[last..].contains('|') => {
                strip(&shown[shown[..first].rfind('|').map_or(0, |bar| bar + 1)..]).to_owned()
            }
            _ => String::new(),
        }
    }

    /// Return the aside of some lines of wikitext, if they show a link to an article or, with the structure, have links
    /// to other Wikipedias or categories; and the captions in it that contain links.
    fn aside(
        &mut self,
        region: Name,
        lines: &[String],
        title: &str,
        counts: &mut Counts,
        missing: &[String],
    ) -> (Option<Aside>, Vec<String>) {
        let lines: Vec<String> = lines.iter().map(|line| line.replace('\n', " ")).collect();
        let text = lines.join("\n\n");
        let written = links_in(&text);
        let (extract, captions) = self.extract_part(text, title, Counts::default(), missing);
        let mut kinds = extract.counts;
        let links = kinds.remove(Name::Link);
        let in_captions = kinds.remove(Name::Caption);
        kinds.add(if region == Name::Table { Name::Caption } else { Name::File }, in_captions);
        // In attributes of cells and options of images.
        count_change(&mut kinds, counts.get(region), written, false);
        counts.set(region, links);
        for (name, number) in kinds.0 {
            if number > 0 {
                counts.add(name, number);
            }
        }
        let aside =
            Aside { region, text: extract.text, links: extract.links, structure: extract.structure, cells: Vec::new() };
        let of_document = |structure: &Structure| !(structure.wikis.is_empty() && structure.categories.is_empty());
        let is_read = links > 0 || aside.structure.as_ref().is_some_and(of_document);
        (is_read.then_some(aside), captions)
    }
}

/// Count the links of the source, those that are left after the extension tags are removed, and as seen those in the
/// tags.
fn count_tags(counts: &mut Counts, source: i64, left: i64) {
    counts.set(Name::SourceLinks, source);
    let in_tags = counts.get(Name::Reference) + counts.get(Name::ExtensionTag) + counts.get(Name::Caption);
    let expected = source - counts.get(Name::SourceComment) - counts.get(Name::SourceNowiki) - in_tags;
    if left < expected {
        // In attributes of tags of which the content is kept.
        counts.add(Name::ExtensionTag, expected - left);
    } else if left > expected {
        counts.add(Name::SourceJoined, left - expected);
    }
    counts.set(Name::Seen, in_tags + (expected - left).max(0));
}
