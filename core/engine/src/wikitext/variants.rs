//! Choose language variants: "-{zh-hant:電腦; zh-hans:电脑}-" shows the first variant of the language that it has, "电脑".

use crate::shared::shared;
use crate::unicode::{is_alpha, strip};
use crate::wikitext::placeholders::SEAM;
use memchr::{memchr2, memmem};

/// Chooses the first variant that a rule has, in the order of the language.
pub struct VariantChooser {
    variants: Vec<String>,
}

impl VariantChooser {
    pub fn new(variants: &[String]) -> Self {
        VariantChooser { variants: variants.to_vec() }
    }

    /// Replace each rule by one variant; rules within rules first.
    pub fn choose(&self, mut text: String) -> String {
        if self.variants.is_empty() {
            return text;
        }
        for _ in 0..shared().limits.variants_depth {
            match self.choose_innermost(&text) {
                Some(chosen) => text = chosen,
                None => break,
            }
        }
        text
    }

    /// Replace the rules that contain none; nothing if there are none.
    fn choose_innermost(&self, text: &str) -> Option<String> {
        let bytes = text.as_bytes();
        let finder = memmem::Finder::new(b"-{");
        let (mut result, mut position, mut search) = (String::new(), 0, 0);
        while let Some(offset) = finder.find(&bytes[search..]) {
            let start = search + offset;
            search = start + 2;
            let Some(length) = memchr2(b'{', b'}', &bytes[search..]) else { break };
            let close = search + length;
            if !bytes[close..].starts_with(b"}-") {
                continue;
            }
            let shown = self.shown(&text[search..close]);
            result += &text[position..start];
            // A link beside the rule has no trail or prefix in it.
            if text[..start].chars().next_back().is_some_and(|before| before == ']' || is_alpha(before)) {
                result.push(SEAM);
            }
            result += shown;
            (position, search) = (close + 2, close + 2);
            if bytes.get(position) == Some(&b'[') || shown.ends_with(']') {
                result.push(SEAM);
            }
        }
        if position == 0 {
            return None;
        }
        result += &text[position..];
        Some(result)
    }

    fn shown<'a>(&self, rule: &'a str) -> &'a str {
        let (flags, body) = match rule.split_once('|') {
            Some((flags, body)) if !flags.contains('[') => (flags, body),
            _ => ("", rule),
        };
        // Flags of rules that show nothing: they set the page title or the conversion of words on the page.
        if matches!(strip(flags), "T" | "t" | "H" | "h" | "-") {
            return "";
        }
        // By the index of the variant; the first text of a variant counts.
        let mut texts: Vec<Option<&str>> = vec![None; self.variants.len()];
        let mut set = |variant: usize, text: &'a str| {
            texts[variant].get_or_insert(text);
        };
        let (mut current, mut start, mut position) = (None, 0, 0);
        for part in body.split(';') {
            if let Some((head, _)) = part.split_once(':') {
                // "words => variant: text" converts only these words.
                let name = strip(head.rsplit_once("=>").map_or(head, |(_, name)| name));
                if let Some(variant) = self.variants.iter().position(|variant| variant == name) {
                    if let Some(current) = current {
                        set(current, &body[start..position - 1]);
                    }
                    (current, start) = (Some(variant), position + head.len() + 1);
                }
            }
            position += part.len() + 1;
        }
        let Some(current) = current else { return body };
        set(current, &body[start..]);
        texts.into_iter().flatten().next().unwrap_or("").trim_matches([';', ' ', '\n'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variant_of_the_language_is_shown() {
        let chooser = VariantChooser::new(&["zh-hans".to_owned(), "zh-hant".to_owned()]);
        let choose = |text: &str| chooser.choose(text.to_owned());
        assert_eq!(choose("-{zh-hant:電腦; zh-hans:电脑}-"), "电脑");
        assert_eq!(choose("a-{T|zh-hans:b}--{c}-{d}-"), "a\x05c{d}-");
    }
}
