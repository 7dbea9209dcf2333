//! Counts by name, as Python's `Counter`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::shared::Name;

pub type Key = Cow<'static, str>;

/// Counts by name. A name that was set stays, even at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<Key, i64>);

impl Counts {
    pub fn add(&mut self, name: impl Into<Key>, number: i64) {
        *self.0.entry(name.into()).or_insert(0) += number;
    }

    pub fn set(&mut self, name: impl Into<Key>, number: i64) {
        self.0.insert(name.into(), number);
    }

    pub fn get(&self, name: Name) -> i64 {
        self.0.get(name.text()).copied().unwrap_or(0)
    }

    pub fn remove(&mut self, name: Name) -> i64 {
        self.0.remove(name.text()).unwrap_or(0)
    }
}
