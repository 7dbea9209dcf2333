//! Split the extracted text of a page into sentences, and say why some of them are left out.
//!
//! "A bus is a large vehicle. It costs \x01." has a sentence that is kept, and one that is dropped as `gap`, because a
//! template left its words out. Headings, preformatted lines and the sections of references are no prose.

use super::fragments::{whole_sentences, FragmentTest};
use super::reference_entries::References;
use super::splitter::{is_lower_text, Splitter};
use super::{ProseRules, TextRules};
use crate::counts::Counts;
use crate::shared::{shared, Name};
use crate::unicode::{is_alnum, is_alpha, is_decimal, is_lower, is_space, is_upper, lower, lstrip, rstrip, strip};
use crate::wikitext::placeholders::{GAP, HEADING, LIST, PREFORMATTED};
use crate::wikitext::search::find_double;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// OBJECT REPLACEMENT CHARACTER: stands in fragments where words are missing.
pub const MISSING: &str = "\u{fffc}";
const LINE_MARKS: [char; 3] = [HEADING, LIST, PREFORMATTED];
const AROUND_ITEM: [char; 5] = [HEADING, LIST, PREFORMATTED, GAP, ' '];

/// The fields of `Extract` or `Aside` that are read here.
#[derive(Clone, Copy, Debug)]
pub struct PageText<'a> {
    pub text: &'a str,
    /// Offsets of links to articles, and offsets after them.
    pub link_starts: &'a [usize],
    pub link_ends: &'a [usize],
    /// For each gap the name of the template that left it, "" if it was no template.
    pub gaps: &'a [String],
}

/// A sentence of a page. Its offset and text are bytes of `PageText::text`; only the text of a fragment with gaps is a
/// copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    pub number: u32,
    pub region: Name,
    pub text: Cow<'a, str>,
    pub start: usize,
    pub first: usize,
    pub last: usize,
}

/// The rules of a language, ready for use.
pub struct Prose {
    rules: ProseRules,
    pub test: FragmentTest,
    /// Finders of the first characters of `ProseRules::holes`, with the characters that follow. All finders are on the
    /// heap, because their alignment is larger than that of Python's objects.
    holes: Vec<(Finder<'static>, String)>,
    references: References,
}

/// A sentence as it stands in the text.
struct Judged<'a> {
    number: u32,
    region: Name,
    text: &'a str,
    start: usize,
    first: usize,
    last: usize,
}

impl Prose {
    pub fn new(rules: &TextRules) -> Prose {
        let finder = |text: &str| Finder::new(text).into_owned();
        let holes = rules.prose.holes.iter().map(|(first, others)| (finder(first), others.clone())).collect();
        Prose {
            rules: rules.prose.clone(),
            test: FragmentTest::new(rules),
            holes,
            references: References::new(&rules.prose.citations),
        }
    }

    /// Return the ascending offsets of the signs of missing words.
    fn hole_offsets(&self, text: &str) -> Vec<usize> {
        let mut offsets = Vec::new();
        let mut start = 0;
        while let Some(offset) = find_double(&text.as_bytes()[start..], b'"') {
            let at = start + offset;
            // '""so' has the quote twice.
            let is_hole = !text[..at].ends_with(is_alnum) && !text[at + 2..].starts_with(is_alnum);
            if is_hole {
                offsets.push(at);
            }
            start = at + if is_hole { 2 } else { 1 };
        }
        if memchr(b',', text.as_bytes()).is_some() {
            self.comma_holes(text, &mut offsets);
        }
        for (first, others) in &self.holes {
            // Most pages lack the first byte of most of these characters.
            if memchr(first.needle()[0], text.as_bytes()).is_none() {
                continue;
            }
            let mut after = 0;
            for start in first.find_iter(text.as_bytes()) {
                let rest = &text[start + first.needle().len()..];
                // A quick test first: no letter is among the others.
                if start < after || rest.trim_start_matches(' ').starts_with(is_alnum) {
                    continue;
                }
                // "print()" is the name of a function.
                if rest.starts_with(')') && text[start..].starts_with('(') && text[..start].ends_with(is_ascii_word) {
                    continue;
                }
                let rest = lstrip(rest);
                if let Some(char) = rest.chars().next().filter(|&char| others.contains(char)) {
                    offsets.push(start);
                    after = text.len() - rest.len() + char.len_utf8();
                }
            }
        }
        offsets.sort_unstable();
        offsets
    }

    /// Append the offsets of commas before a comma, a full stop or a bracket. ",..." is no hole, and neither are two
    /// commas that stand for quotes: ",,word,,".
    fn comma_holes(&self, text: &str, offsets: &mut Vec<usize>) {
        let mut quote: Option<usize> = None;
        let mut after = 0;
        for start in memchr_iter(b',', text.as_bytes()) {
            let rest = &text[start + 1..];
            // A quick test first: most commas precede a blank and a letter.
            if start < after || rest.trim_start_matches(' ').starts_with(is_alnum) {
                continue;
            }
            let next = lstrip(rest);
            let Some(char) = next.chars().next().filter(|char| matches!(char, ',' | '.' | ')')) else { continue };
            if char == '.' && next[1..].starts_with('.') {
                continue;
            }
            let end = text.len() - next.len() + 1;
            after = end;
            if rest.starts_with(',') {
                let before = text[..start].chars().next_back();
                if before.is_none_or(|char| is_space(char) || self.rules.openers.contains(char))
                    && text[end..].starts_with(is_alnum)
                {
                    quote = Some(start);
                    continue;
                }
                if quote.take().is_some_and(|quote| memchr(b'\n', &text.as_bytes()[quote..start]).is_none()) {
                    continue;
                }
            }
            offsets.push(start);
        }
    }
}

impl<'a> Judged<'a> {
    fn sentence(self) -> Sentence<'a> {
        let Judged { number, region, text, start, first, last } = self;
        Sentence { number, region, text: Cow::Borrowed(text), start, first, last }
    }
}

/// Return the usable sentences of a page; count the others in `dropped` and append them to `fragments`.
pub fn page_sentences<'a>(
    page: &PageText<'a>,
    splitter: &Splitter,
    rules: &Prose,
    dropped: &mut Counts,
    mut fragments: Option<&mut Vec<Sentence<'a>>>,
) -> Vec<Sentence<'a>> {
    let mut kept = Vec::new();
    let (mut gaps, mut counted) = (0, 0);
    // By reason: links in dropped sentences, and how many of these sentences are counted.
    let mut numbers: BTreeMap<Name, (i64, i64)> = BTreeMap::new();
    judged_sentences(page, splitter, rules, |sentence, reason| {
        let Some(mut reason) = reason else {
            kept.push(sentence.sentence());
            return;
        };
        let Judged { region, text, start, first, last, .. } = sentence;
        let gapped = reason == Name::Gap && has_gap(text);
        if gapped
            && rules.test.reason(&text.replace(GAP, &rules.rules.any_word), false) == Some(Name::FragmentNoTerminator)
        {
            // A caption or a list item, which would be no sentence whatever the template shows.
            reason = Name::FragmentNoTerminator;
        }
        let number = numbers.entry(reason).or_default();
        number.0 += last as i64 - first as i64;
        let mut lost_to = BTreeSet::new();
        if gapped && reason == Name::Gap {
            let before = gaps + count(page.text.get(counted..start).unwrap_or_default(), GAP);
            gaps = before + count(text, GAP);
            counted = start + text.len();
            let names = page.gaps.iter().take(gaps).skip(before);
            lost_to = names.filter(|name| !name.is_empty()).collect();
            for &name in &lost_to {
                dropped.add(format!("{}{name}", shared().names.prefixes.templates), 1);
            }
        }
        if region != Name::Heading {
            if lost_to.is_empty() {
                number.1 += 1;
            } else {
                dropped.add(Name::Template.of_sentences(), 1);
            }
            if let Some(fragments) = fragments.as_deref_mut() {
                if first < last || (!text.is_empty() && reason != Name::FragmentNoLetters) {
                    fragments.push(fragment(sentence, page));
                }
            }
        }
    });
    for (reason, (links, sentences)) in numbers {
        dropped.add(reason, links);
        if sentences > 0 {
            dropped.add(reason.of_sentences(), sentences);
        }
    }
    kept
}

/// Return a dropped sentence with all of its links in its text, and with MISSING in place of gaps.
fn fragment<'a>(sentence: Judged<'a>, page: &PageText<'a>) -> Sentence<'a> {
    let Judged { text, start, first, last, .. } = sentence;
    let mut sentence = sentence.sentence();
    let links = page.link_starts.get(first..last).and_then(<[usize]>::first);
    let closes = page.link_ends.get(first..last).and_then(<[usize]>::last);
    if let (Some(&link), Some(&close)) = (links, closes) {
        // Gaps at the edges of a sentence are removed, and a link may begin or end with one.
        let (begin, end) = (start.min(link), close.max(start + text.len()));
        if end - begin > text.len() {
            sentence.text = Cow::Borrowed(page.text.get(begin..end).unwrap_or(text));
            sentence.start = begin;
        }
    }
    if has_gap(&sentence.text) {
        sentence.text = Cow::Owned(sentence.text.replace(GAP, MISSING));
    }
    sentence
}

/// Return the lines of an aside that contain links, numbered from `number`, with MISSING in place of gaps.
pub fn aside_fragments<'a>(aside: &PageText<'a>, region: Name, number: u32) -> Vec<Sentence<'a>> {
    let (text, starts) = (aside.text, aside.link_starts);
    let mut fragments = Vec::new();
    let mut first = 0;
    while let Some(&link) = starts.get(first) {
        let mut start = text.get(..link).unwrap_or(text).rfind('\n').map_or(0, |feed| feed + 1);
        let end = line_end(text, start).unwrap_or(text.len());
        let line = &text[start..end];
        let words = line.trim_start_matches(|char| LINE_MARKS.contains(&char) || char == ' ');
        start += line.len() - words.len();
        let mut last = first + 1;
        while starts.get(last).is_some_and(|&link| link < end) {
            last += 1;
        }
        let shown = rstrip(words);
        let shown = if has_gap(shown) { Cow::Owned(shown.replace(GAP, MISSING)) } else { Cow::Borrowed(shown) };
        fragments.push(Sentence { number: number + fragments.len() as u32, region, text: shown, start, first, last });
        first = last;
    }
    fragments
}

/// Give every sentence of a page to `take`, with the reason to drop it, None for a usable sentence.
fn judged_sentences<'a>(
    page: &PageText<'a>,
    splitter: &Splitter,
    rules: &Prose,
    mut take: impl FnMut(Judged<'a>, Option<Name>),
) {
    let (text, starts) = (page.text, page.link_starts);
    let beyond = text.len() + 1;
    let has_gaps = has_gap(text);
    let mut drop_test = DropTest::new(text, rules);
    let mut outline = Outline { rules: &rules.rules, main: Name::Lead, level_of_end: 0 };
    let (mut region, mut end_of_line, mut in_reference) = (Name::Lead, 0, false);
    let (mut number, mut at) = (0, 0);
    let ends = if has_gaps { splitter.split(&text.replace(GAP, " ")) } else { splitter.split(text) };
    for (mut start, mut sentence) in whole_sentences(text, ends, starts, page.link_ends) {
        if start >= end_of_line {
            end_of_line = line_end(text, start).unwrap_or(beyond);
            let line = &text[start..end_of_line.min(text.len())];
            region = outline.region(line);
            in_reference = region == Name::List && rules.references.holds(line.trim_matches(AROUND_ITEM));
            let words = sentence.trim_start_matches(LINE_MARKS);
            if words.len() < sentence.len() {
                let words = lstrip(words);
                start += sentence.len() - words.len();
                sentence = words;
            }
        }
        let (first, end) = (at, start + sentence.len());
        while starts.get(at).is_some_and(|&link| link < end) {
            at += 1;
        }
        let mut gapped = has_gaps && has_gap(sentence);
        if gapped {
            let trimmed = trim_gaps(sentence, &rules.rules);
            start += trimmed.1;
            sentence = trimmed.0;
            gapped = has_gap(sentence);
        }
        let reason = match region {
            Name::Heading => Some(Name::Heading),
            Name::BackMatter => Some(Name::BackMatter),
            Name::Preformatted => Some(Name::Preformatted),
            _ if sentence.is_empty() || (first < at && starts[first] < start) => Some(Name::Gap),
            _ if gapped => {
                let has_words = sentence.contains(|char| char != GAP && char != ' ');
                Some(if has_words { Name::Gap } else { Name::FragmentNoLetters })
            }
            _ => drop_test.reason(sentence, region, start).or(in_reference.then_some(Name::FragmentCitation)),
        };
        take(Judged { number, region, text: sentence, start, first, last: at }, reason);
        number += u32::from(region != Name::Heading);
    }
}

/// Tells why to drop a sentence without a gap. Sentences must be given in page order.
struct DropTest<'a> {
    rules: &'a Prose,
    /// Offsets after the current sentence, ascending.
    holes: std::iter::Peekable<std::vec::IntoIter<usize>>,
    has_citations: bool,
}

impl<'a> DropTest<'a> {
    fn new(text: &str, rules: &'a Prose) -> DropTest<'a> {
        DropTest {
            rules,
            holes: rules.hole_offsets(text).into_iter().peekable(),
            has_citations: rules.references.cites(text),
        }
    }

    fn reason(&mut self, sentence: &str, region: Name, start: usize) -> Option<Name> {
        while self.holes.next_if(|&hole| hole < start).is_some() {}
        if self.holes.peek().is_some_and(|&hole| hole < start + sentence.len()) {
            return Some(Name::Gap);
        }
        let rules = &self.rules.rules;
        if region == Name::List {
            let spaces = sentence.bytes().filter(|&byte| byte == b' ');
            if spaces.take(rules.list_item_spaces).count() < rules.list_item_spaces {
                return Some(Name::FragmentShort);
            }
        } else if rules.capitals
            && sentence.starts_with(|char| is_lower(char) || (!is_alnum(char) && rules.openers.contains(char)))
            && continues(sentence, rules)
        {
            return Some(Name::FragmentContinued);
        }
        if self.has_citations && self.rules.references.cites(sentence) {
            return Some(Name::FragmentCitation);
        }
        self.rules.test.reason(sentence, true)
    }
}

/// Finds the region of each line of a page; lines must be given in page order.
struct Outline<'a> {
    rules: &'a ProseRules,
    main: Name,
    /// Level of the heading that began the back matter; 0 outside back matter.
    level_of_end: usize,
}

impl Outline<'_> {
    fn region(&mut self, line: &str) -> Name {
        if line.starts_with(HEADING) {
            let title = line.trim_start_matches(HEADING);
            let level = line.len() - title.len();
            if self.level_of_end == 0 || level <= self.level_of_end {
                let is_end = self.rules.back_matter.contains(lower(strip(title)).as_str());
                self.level_of_end = if is_end { level } else { 0 };
            }
            self.main = Name::Body;
            return Name::Heading;
        }
        match line.chars().next() {
            _ if self.level_of_end > 0 => Name::BackMatter,
            Some(PREFORMATTED) => Name::Preformatted,
            Some(LIST) => Name::List,
            _ => self.main,
        }
    }
}

/// Whether a text continues a sentence that a formula, a list or a table interrupted: it begins with a lower-case word.
fn continues(sentence: &str, rules: &ProseRules) -> bool {
    let is_opener = |char| rules.openers.contains(char);
    let (first, rest) = sentence.trim_start_matches(is_opener).split_once(' ').unwrap_or_default();
    let first = first.trim_end_matches([',', ';']);
    first.chars().nth(1).is_some()
        && first.chars().all(is_alpha)
        && is_lower_text(first)
        && rest.trim_start_matches(is_opener).chars().next().is_some_and(|following| !is_upper(following))
}

/// Remove gaps at the edges that were not words of the sentence; return the rest and the length removed in front.
fn trim_gaps<'a>(sentence: &'a str, rules: &ProseRules) -> (&'a str, usize) {
    let mut rest = sentence.trim_start_matches(GAP);
    let mut shift = sentence.len() - rest.len();
    let next = rest.chars().next();
    if shift > 0
        && next.is_some_and(|next| rules.small_letters.iter().any(|&(first, last)| (first..=last).contains(&next)))
    {
        return (sentence, 0);
    }
    if !next.is_some_and(|next| (is_alnum(next) && !is_decimal(next)) || rules.after_edge_gap.contains(next)) {
        (rest, shift) = (sentence, 0);
    }
    let trimmed = rest.trim_end_matches([GAP, ' ']);
    if trimmed.ends_with(|last| rules.before_edge_gap.contains(last)) {
        rest = trimmed;
    }
    (rest, shift)
}

fn is_ascii_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn has_gap(text: &str) -> bool {
    memchr(GAP as u8, text.as_bytes()).is_some()
}

fn count(text: &str, char: char) -> usize {
    memchr_iter(char as u8, text.as_bytes()).count()
}

pub fn line_end(text: &str, start: usize) -> Option<usize> {
    memchr(b'\n', text.as_bytes().get(start..)?).map(|length| start + length)
}
