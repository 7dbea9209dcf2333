//! Disambiguation pages: those with the switch `__DISAMBIG__`, or with a call of a template that sets it:
//! `{{disambig}}`, and what the wiki's own definitions say.

use std::sync::Arc;

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::shared::shared;
use crate::unicode::{is_space, lower, rstrip};
use crate::wikitext::search::find_double;

pub type MarksDisambiguation = Box<dyn FnMut(&str) -> bool + Send + Sync>;

/// Longer names are no templates, and are not kept.
const LONGEST_NAME: usize = 1000;
const CACHE_SIZE: usize = 1 << 14;

pub struct PageKinds {
    /// Folded names of the templates that are known for a language.
    names: FxHashSet<String>,
    /// Whether a template marks disambiguation pages by the wiki's own definition.
    marks: Option<MarksDisambiguation>,
    cache: FxHashMap<Arc<str>, bool>,
}

fn folded(name: &str) -> String {
    lower(name).replace('_', " ")
}

impl PageKinds {
    pub fn new(names: &[String], marks: Option<MarksDisambiguation>) -> PageKinds {
        PageKinds { names: names.iter().map(|name| folded(name)).collect(), marks, cache: FxHashMap::default() }
    }

    pub fn is_disambiguation(&mut self, text: &str) -> bool {
        if memmem::find(text.as_bytes(), shared().characters.disambiguation_switch.as_bytes()).is_some() {
            return true;
        }
        let bytes = text.as_bytes();
        let mut position = 0;
        while let Some(start) = find_double(&bytes[position..], b'{') {
            // What a run of braces calls stands after its last two.
            position += start;
            position += bytes[position..].iter().take_while(|&&byte| byte == b'{').count();
            let name = text[position..].trim_start_matches(is_space);
            let sign = name.bytes().take(LONGEST_NAME).position(|byte| b"{}|\n".contains(&byte));
            if sign.is_none() && name.len() > LONGEST_NAME {
                continue;
            }
            let end = sign.unwrap_or(name.len());
            let is_whole = sign.is_some_and(|sign| name.as_bytes()[sign] != b'{');
            if end > 0 && self.is_marked(&name[..end], is_whole) {
                return true;
            }
        }
        false
    }

    fn is_marked(&mut self, name: &str, is_whole: bool) -> bool {
        if !is_whole {
            return self.marks.as_mut().is_some_and(|marks| marks(name));
        }
        if let Some(&known) = self.cache.get(name) {
            return known;
        }
        let is_known = self.names.contains(&folded(rstrip(name)));
        let marks = is_known || self.marks.as_mut().is_some_and(|marks| marks(name));
        if self.cache.len() >= CACHE_SIZE {
            self.cache.clear();
        }
        self.cache.insert(name.into(), marks);
        marks
    }
}
