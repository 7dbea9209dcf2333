//! Counts by name, as Python's `Counter`.

use std::borrow::Cow;
use std::collections::BTreeMap;

pub type Name = Cow<'static, str>;

/// Counts by name. A name that was set stays, even at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<Name, i64>);

impl Counts {
    pub fn add(&mut self, name: impl Into<Name>, number: i64) {
        *self.0.entry(name.into()).or_insert(0) += number;
    }

    pub fn set(&mut self, name: impl Into<Name>, number: i64) {
        self.0.insert(name.into(), number);
    }

    pub fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}
