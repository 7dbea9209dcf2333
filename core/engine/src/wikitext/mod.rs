//! Wikitext to visible text and links: one module for each of `pipelines/wikimedia/wikitext`.

pub mod blanks;
pub mod braces;
pub mod brackets;
pub mod breaks;
pub mod characters;
pub mod definitions;
pub mod external;
pub mod extractor;
pub mod files;
pub mod gaps;
pub mod inline;
pub mod lines;
pub mod link_counts;
pub mod links;
pub mod numbers;
pub mod parser_functions;
pub mod placeholders;
pub mod quotes;
pub mod search;
pub mod stretches;
pub mod tables;
pub mod tags;
pub mod template_pages;
pub mod template_rules;
pub mod templates;
pub mod variants;
