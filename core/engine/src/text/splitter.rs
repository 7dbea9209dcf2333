//! Find the ends of sentences: "It was Dr. Who. He left." ends after "Who. " and at its end.
//!
//! Weak terminators (. ! ?) end a sentence before white space, or before a closing quote and white space; strong ones
//! (。 । ۔) end it anywhere; a line feed always does. Bracketed and quoted text is read as a whole. A full stop after an
//! abbreviation, an initial or an ordinal ends a sentence only if a word follows that often begins one. Each rule reads
//! a bounded window, so the time is linear for any text.

use super::{SplitterRules, TextRules};
use crate::unicode::{
    has_lower, is_alnum, is_alpha, is_decimal, is_digit, is_lower, is_mark, is_space, is_upper, is_word, length, lower,
    rstrip, strip,
};

// Sets of characters, as bits of a table.
const WEAK: u16 = 1;
const STRONG: u16 = 1 << 1;
const NEWLINE: u16 = 1 << 2;
/// The space, in languages with openers after a space.
const SPACE: u16 = 1 << 3;
const OPENING: u16 = 1 << 4;
const ROUND: u16 = 1 << 5;
/// Weak only in this language.
const OF_LANGUAGE: u16 = 1 << 6;
const AFTER_WEAK: u16 = 1 << 7;
const AFTER_STRONG: u16 = 1 << 8;
const FOOTNOTE_END: u16 = 1 << 9;
const BEFORE_FIRST_LETTER: u16 = 1 << 10;
const GOES_ON: u16 = 1 << 11;
const DASH: u16 = 1 << 12;
const PARTICLE: u16 = 1 << 13;
const VIRAMA: u16 = 1 << 14;
const VOWEL_SIGN: u16 = 1 << 15;
const STOPS: u16 = WEAK | STRONG | NEWLINE | SPACE | OPENING;

/// Kinds of abbreviations, as Python numbers them.
const NEVER: u8 = 0;
const NUMBERED: u8 = 1;
const RARELY: u8 = 2;
const CLOSING: u8 = 3;
const UNIT: u8 = 4;
const YEAR: u8 = 5;
/// Letters of a preposition before a date.
const PREPOSITION: usize = 4;
// Characters of the shortest multiplier before a unit, such as "mln": "в" is a unit and a preposition.
const MULTIPLIER: usize = 3;

const FIRST_UNSPACED: char = '\u{620}';
/// Tibetan full stop, also written twice with a blank between.
const SHAD: char = '\u{f0d}';
const BEYOND_LATIN: &str = "\u{370}";
const WINDOW: usize = 24;
const LONGEST_BRACKETED: usize = 300;

/// Finds the ends of sentences by the rules of a language: the splitter `rules`.
pub struct Splitter {
    rules: SplitterRules,
    /// Sets by code point; a character beyond the end is in none.
    sets: Vec<u16>,
    /// By first byte of a character of STOPS: a bit for each second byte, by its lower six bits; all bits for a
    /// character of one byte.
    stops: [u64; 256],
}

/// What follows a terminator or a closing bracket: offsets after terminators, after closing quotes and after blanks.
struct Run {
    signs: usize,
    closed: usize,
    after: usize,
}

impl Splitter {
    pub fn new(rules: &TextRules) -> Splitter {
        let rules = rules.splitter.clone();
        let opening: String = rules.brackets.iter().map(|pair| pair.0).collect();
        let space = if rules.openers_after_space.is_empty() { "" } else { " " };
        let mut sets: Vec<u16> = Vec::new();
        for (set, chars) in [
            (WEAK, &rules.weak),
            (WEAK | OF_LANGUAGE, &rules.language_terminators),
            (STRONG, &rules.strong),
            (NEWLINE, &"\n".to_owned()),
            (SPACE, &space.to_owned()),
            (OPENING, &opening),
            (ROUND, &rules.round),
            (AFTER_WEAK, &rules.closers_after_weak),
            (AFTER_STRONG, &rules.closers_after_strong),
            (FOOTNOTE_END, &rules.footnote_ends),
            (BEFORE_FIRST_LETTER, &rules.before_first_letter),
            (GOES_ON, &rules.goes_on),
            (DASH, &rules.dashes),
            (PARTICLE, &rules.particles),
            (VIRAMA, &rules.viramas),
            (VOWEL_SIGN, &rules.vowel_signs),
        ] {
            for char in chars.chars() {
                if sets.len() <= char as usize {
                    sets.resize(char as usize + 1, 0);
                }
                sets[char as usize] |= set;
            }
        }
        let mut stops = [0; 256];
        for (code, _) in (0..).zip(&sets).filter(|(_, set)| *set & STOPS != 0) {
            match *char::from_u32(code).unwrap_or_default().encode_utf8(&mut [0; 4]).as_bytes() {
                [first, second, ..] => stops[usize::from(first)] |= 1 << (second & 0x3f),
                [first] => stops[usize::from(first)] = u64::MAX,
                [] => {}
            }
        }
        Splitter { rules, sets, stops }
    }

    #[inline]
    fn is(&self, char: char, sets: u16) -> bool {
        self.sets.get(char as usize).is_some_and(|found| found & sets != 0)
    }

    /// The ascending ends of the sentences of a text, as offsets of bytes; the last is its length.
    pub fn split(&self, text: &str) -> Vec<usize> {
        let mut ends = Vec::new();
        let (mut start, mut at, length) = (0, 0, text.len());
        while let Some((stop, sign)) = self.next_stop(text, at) {
            at = stop + sign.len_utf8();
            if sign == '\n' {
                ends.push(at);
                start = at;
                continue;
            }
            let first = at;
            let run = if self.is(sign, WEAK) {
                self.weak_run(text, at)
            } else if self.is(sign, STRONG) {
                self.strong_run(text, at)
            } else if self.is(sign, OPENING) {
                match self.bracketed(text, stop, sign) {
                    Some(closed) => Run { signs: closed, closed, after: skip_blanks(text, closed) },
                    None => continue,
                }
            } else if self.rules.openers_after_space.iter().any(|opener| text[at..].starts_with(opener.as_str())) {
                Run { signs: at, closed: at, after: at }
            } else {
                continue;
            };
            at = run.after;
            let Some(next) = char_at(text, at).filter(|&next| next != '\n') else { continue };
            let is_end = if self.is(sign, WEAK) {
                let unspaced = at == first
                    || at == run.closed && !char_before(text, at).is_some_and(|last| self.is(last, FOOTNOTE_END));
                if unspaced {
                    // No white space: "3.14", "example.com", but also "असते.याचे".
                    next >= FIRST_UNSPACED && self.unspaced_ends(text, start, stop)
                } else {
                    self.weak_ends(text, start, stop, sign, next, &run)
                }
            } else if self.is(sign, STRONG) {
                self.strong_ends(text, start, stop, sign, next, at)
            } else if self.is(sign, OPENING) {
                self.bracket_ends(text, start, stop, sign, next, &run)
            } else {
                true
            };
            if is_end {
                ends.push(at);
                start = at;
            }
        }
        if start < length {
            ends.push(length);
        }
        ends
    }

    /// The next character of STOPS at or after an offset.
    #[inline]
    fn next_stop(&self, text: &str, mut at: usize) -> Option<(usize, char)> {
        let bytes = text.as_bytes();
        let begins = |byte: u8| self.stops[usize::from(byte)] != 0;
        loop {
            // Eight bytes at once as long as none begins such a character, which is faster than one by one.
            while bytes.get(at..at + 8).is_some_and(|next| !next.iter().fold(false, |any, &byte| any | begins(byte))) {
                at += 8;
            }
            let end = at + 8;
            while at < end {
                let first = *bytes.get(at)?;
                let second = bytes.get(at + 1).copied().unwrap_or(0);
                if self.stops[usize::from(first)] >> (second & 0x3f) & 1 == 1 {
                    let char = char_at(text, at)?;
                    if self.is(char, STOPS) {
                        return Some((at, char));
                    }
                }
                // A character that begins with a higher byte has three bytes or more.
                at += if first < 0xe0 { 1 } else { 3 };
            }
        }
    }

    /// The branch of weak terminators of `_stops`, after the first.
    fn weak_run(&self, text: &str, mut at: usize) -> Run {
        at = skip(text, at, |char| self.is(char, WEAK));
        at = skip_footnote_number(text, at);
        let signs = at;
        loop {
            match char_at(text, at) {
                Some(char) if self.is(char, AFTER_WEAK) => at += char.len_utf8(),
                Some(blank @ (' ' | '\u{a0}' | '\u{202f}')) => {
                    let quote = at + blank.len_utf8();
                    let after = quote + '»'.len_utf8();
                    let closes = |next| is_space(next) || matches!(next, '.' | ',' | ';' | ':');
                    if char_at(text, quote) != Some('»') || !char_at(text, after).is_none_or(closes) {
                        break;
                    }
                    at = after;
                }
                _ => break,
            }
        }
        while let Some(after) = skip_bracketed_word(text, at) {
            at = after;
        }
        let closed = skip(text, at, |char| matches!(char, '\u{b9}' | '\u{b2}' | '\u{b3}' | '\u{2070}'..='\u{2079}'));
        Run { signs, closed, after: skip_blanks(text, closed) }
    }

    /// The branch of strong terminators of `_stops`, after the first.
    fn strong_run(&self, text: &str, mut at: usize) -> Run {
        while let Some(char) = char_at(text, at) {
            let after = at + char.len_utf8();
            if self.is(char, WEAK | STRONG) {
                at = after;
            } else if is_space(char) && text[..at].ends_with(SHAD) && text[after..].starts_with(SHAD) {
                at = after + SHAD.len_utf8();
            } else {
                break;
            }
        }
        let signs = at;
        while let Some(char) = char_at(text, at) {
            let after = at + char.len_utf8();
            if self.is(char, AFTER_STRONG) {
                at = after;
            } else if matches!(char, '"' | '\'') {
                if char_at(text, after).is_some_and(|next| !is_space(next) && !matches!(next, ',' | ';' | '।')) {
                    break;
                }
                at = after;
            } else if let Some(after) = skip_bracketed_word(text, at) {
                at = after;
            } else {
                break;
            }
        }
        Run { signs, closed: at, after: skip_blanks(text, at) }
    }

    /// The branch of brackets and quotes of `_stops`: the offset after the closing one.
    fn bracketed(&self, text: &str, opening: usize, sign: char) -> Option<usize> {
        // An opening quote follows white space or another bracket; otherwise it closes (»so« against «so»).
        if matches!(sign, '«' | '»')
            && char_before(text, opening).is_some_and(|before| !is_space(before) && !matches!(before, '(' | '['))
        {
            return None;
        }
        let pairs = self.rules.brackets.iter().filter(|pair| pair.0 == sign);
        pairs.filter_map(|&pair| bracketed(text, opening + sign.len_utf8(), pair, self.is(sign, ROUND))).next()
    }

    /// Whether the text cannot begin a sentence: a lower-case letter, a comma, a closing bracket.
    fn goes_on(&self, text: &str, after: usize, next: char) -> bool {
        let quoted = text[after..].strip_prefix(",,").and_then(|quoted| quoted.chars().next());
        // ",,word,,": commas for quotes.
        let next = quoted.filter(|&char| is_alnum(char)).unwrap_or(next);
        if self.is(next, GOES_ON) {
            return true;
        }
        if self.is(next, DASH) && char_at(text, after + next.len_utf8()).is_some_and(is_space) {
            return true; // "a remark. – the source", "58 BC. – 14 AD."
        }
        let mut char = next;
        if self.is(next, BEFORE_FIRST_LETTER) {
            let skipped =
                |char: &char| self.is(*char, BEFORE_FIRST_LETTER) || matches!(char, ' ' | '\u{a0}' | '\u{202f}');
            match text[after..].chars().take(4).find(|char| !skipped(char)) {
                Some(letter) => char = letter,
                None => return false,
            }
        }
        // All Georgian letters are lower-case in Unicode.
        is_lower(char) && !('\u{10d0}'..='\u{10ff}').contains(&char)
    }

    fn next_is_starter(&self, text: &str, after: usize) -> bool {
        let Some((word, end)) = next_word(text, after) else { return false };
        if text[end..].starts_with('.') && word.chars().nth(1).is_none() {
            return false; // an initial
        }
        let first = word.split(['\'', '’']).next().unwrap_or_default();
        self.rules.starters.contains(word) || self.rules.starters.contains(first)
    }

    /// Whether a sentence ends at terminators that white space or a closing quote follows.
    fn weak_ends(&self, text: &str, start: usize, dot: usize, sign: char, next: char, run: &Run) -> bool {
        if !is_upper(next) && self.goes_on(text, run.after, next) {
            return false;
        }
        if sign == '.' && (run.signs - dot == 1 || char_before(text, run.signs).is_some_and(is_digit)) {
            return self.period_ends(text, start, dot, run.after, next);
        }
        if dot - start < 16 && strip(&text[start..dot]).is_empty() && text[start..dot].chars().count() < 4 {
            return false; // "... And Justice for All"
        }
        if matches!(sign, '.' | '…' | '‥') && self.rules.ideographic {
            return false; // a pause, whatever follows
        }
        if matches!(sign, ':' | ';' | '\u{37e}') {
            return is_upper(next) || self.is(next, BEFORE_FIRST_LETTER);
        }
        if matches!(sign, '!' | '?') {
            if let Some((word, _)) = last_word(&text[back(text, dot, WINDOW).max(start)..dot]) {
                if self.rules.kinds.get(&format!("{word}{sign}")) == Some(&RARELY) {
                    return self.next_is_starter(text, run.after);
                }
            }
        }
        true
    }

    /// Whether the full stop ends a sentence, if the text after it could begin one.
    fn period_ends(&self, text: &str, start: usize, dot: usize, after: usize, next: char) -> bool {
        if self.rules.dot_is_a_comma {
            return false;
        }
        let Some((whole, _)) = last_word(&text[back(text, dot, WINDOW).max(start)..dot]) else { return false };
        let mut word = whole;
        let mut kind = self.rules.kinds.get(word).copied();
        if kind.is_none() {
            if all(word, is_alpha) {
                if is_longer(word, 4) {
                    return !(word.ends_with(&self.rules.street) && is_digit(next));
                    // "Hauptstr. 5"
                }
            } else if !all(word, is_digit) {
                // "(Dr", "l'art", "Jean-P", "12–14": the last part decides, unless it is an ending, as in "NATO-s".
                word = last_part(word.trim_start_matches(|char| self.is(char, BEFORE_FIRST_LETTER)));
                kind = self.rules.kinds.get(word).copied();
                if kind.is_none() {
                    if let Some((dash, sign)) = word.char_indices().rfind(|found| matches!(found.1, '-' | '–' | '—'))
                    {
                        let head = &word[..dash];
                        word = &word[dash + sign.len_utf8()..];
                        if is_one(word) && head.chars().next_back().is_some_and(is_upper) {
                            return true; // "DEAP-I", "Type-C" is no initial, "J.-P." is
                        }
                    }
                    if word.is_empty() || (is_lower_text(word) && word.len() < whole.len() && !word.contains('.')) {
                        return true;
                    }
                }
            }
        }
        // `word` is not always just before the full stop: white space may be between them.
        let length = word.chars().count();
        let word_start = back(text, dot, length);
        if length <= 2 && !all(word, is_digit) && text[back(text, word_start, 2).max(start).min(dot)..dot].contains('.')
        {
            // "z. B.", "т. е.", "n. l.": look the letters up without the spaces.
            if let Some(spaced) = spaced_letters(&text[back(text, dot, 12).max(start)..dot]) {
                let joined: String = spaced.chars().filter(|&char| !is_space(char)).collect();
                let found = self.rules.kinds.get(&joined).or_else(|| self.rules.kinds.get(&lower(&joined)));
                kind = found.copied().or(kind);
            }
        }
        match kind {
            Some(NUMBERED) if is_roman_or_digit(text, after) => false,
            Some(NUMBERED) | None => self.word_ends(word, text, start, dot, after, next),
            Some(kind) => self.abbreviation_ends(kind, text, start, word_start, after, next),
        }
    }

    /// Whether a sentence ends at a full stop between two words that no space separates: "असते.याचे".
    fn unspaced_ends(&self, text: &str, start: usize, dot: usize) -> bool {
        let is_arabic_to_sinhala = |char| matches!(char, '\u{620}'..='\u{6ff}' | '\u{900}'..='\u{dff}');
        if !text[dot..].starts_with('.')
            || self.rules.own_full_stop
            || !char_before(text, dot).is_some_and(is_arabic_to_sinhala)
        {
            return false;
        }
        let Some(following) = self.following(text, dot + 1) else { return false };
        let Some((word, true)) = last_word(&text[back(text, dot, 2 * WINDOW).max(start)..dot]) else { return false };
        if self.rules.top_domains.contains(following) {
            return false;
        }
        let word = word.trim_start_matches(|char| self.is(char, BEFORE_FIRST_LETTER));
        if self.rules.kinds.contains_key(word) {
            return false;
        }
        let (mut syllables, mut at) = (0, 0);
        while at < word.len() {
            match self.syllable(word, at) {
                Some(end) => at = end,
                None => return false,
            }
            syllables += 1;
        }
        // Verbs of two syllables end in a vowel sign (आहे), spelled letters often do not (एस).
        let has_vowel_sign = |char| self.is(char, VOWEL_SIGN) && !self.is(char, VIRAMA);
        syllables > 2 || (syllables == 2 && word.chars().next_back().is_some_and(has_vowel_sign))
    }

    /// The next word, if white space and another word follow it.
    fn following<'a>(&self, text: &'a str, at: usize) -> Option<&'a str> {
        let mut end = self.syllable(text, at)?;
        for _ in 1..20 {
            match self.syllable(text, end) {
                Some(after) => end = after,
                None => break,
            }
        }
        let blanks = end + usize::from(text[end..].starts_with(','));
        let after = skip_blanks(text, blanks);
        (after > blanks && char_at(text, after).is_some_and(|char| char != '\n')).then(|| &text[at..end])
    }

    /// The offset after a letter with its marks, and the consonants that viramas join to it.
    fn syllable(&self, text: &str, at: usize) -> Option<usize> {
        let mut end = letter_with_marks(text, at)?;
        for _ in 0..4 {
            if !char_before(text, end).is_some_and(|char| char == '\u{200d}' || self.is(char, VIRAMA)) {
                break;
            }
            match letter_with_marks(text, end) {
                Some(after) => end = after,
                None => break,
            }
        }
        Some(end)
    }

    /// Whether a sentence ends after a word that is no known abbreviation: a number, an initial, an acronym.
    fn word_ends(&self, word: &str, text: &str, start: usize, dot: usize, after: usize, next: char) -> bool {
        let Some(last) = word.chars().next_back() else { return true };
        let is_first = back(text, dot, word.chars().count()) <= start;
        if is_digit(last) {
            return !is_first && self.number_ends(word, text, start, dot, after, next);
        }
        if !is_alnum(last) && self.syllable(word, 0) == Some(word.len()) {
            // A syllable of an Indic script is an initial, but "है." is a verb.
            return !is_first && self.rules.own_full_stop && !self.is_initial(text, after);
        }
        if is_one(word) {
            if !is_alpha(last) {
                return true;
            }
            if self.is_initial(text, after) {
                return false; // "44 a. C.", "J. R. R."
            }
            if matches!(last, 'I' | 'V' | 'X') {
                let end = back(text, dot, 1);
                let before = &text[back(text, end, 2).max(start).min(end)..end];
                if before > BEYOND_LATIN && before.ends_with(' ') {
                    return !self.rules.roman || self.next_is_starter(text, after);
                    // "Карл I."
                }
            }
            if is_lower(last) && has_number_before(text, back(text, dot, 8).max(start), back(text, dot, 1)) {
                return true; // "600 m."
            }
            if self.rules.words.contains(word) {
                return !is_first;
            }
            return !is_first && self.next_is_starter(text, after);
        }
        if all(word, is_roman) {
            return !is_first && (!self.rules.roman || self.next_is_starter(text, after));
        }
        if is_digit(next) && is_dotted(word, false) {
            return false; // "R.D.Lgs. 15"
        }
        if self.is_acronym(word) {
            // An acronym in capitals (U.S., С.С.С.Р.) is usually part of a name, one in lower case is not.
            return is_lower(last) || self.next_is_starter(text, after);
        }
        true
    }

    fn is_initial(&self, text: &str, at: usize) -> bool {
        self.syllable(text, at).is_some_and(|end| text[end..].starts_with('.'))
    }

    /// Whether a word is an acronym, as "U.S": one or two syllables between full stops.
    fn is_acronym(&self, word: &str) -> bool {
        let (mut at, mut dotted) = (0, false);
        while let Some(first) = self.syllable(word, at) {
            let end = self.syllable(word, first).unwrap_or(first);
            if end == word.len() {
                return dotted;
            }
            if !word[end..].starts_with('.') {
                return false;
            }
            (at, dotted) = (end + 1, true);
        }
        false
    }

    /// Whether the full stop of an abbreviation also ends the sentence.
    fn abbreviation_ends(
        &self,
        kind: u8,
        text: &str,
        start: usize,
        word_start: usize,
        after: usize,
        next: char,
    ) -> bool {
        match kind {
            _ if kind == NEVER || !(is_alpha(next) || self.is(next, BEFORE_FIRST_LETTER)) => false,
            _ if self.rules.ideographic && self.is(next, PARTICLE) => false, // "&c. と書く"
            RARELY => self.rules.starters.is_empty() || self.next_is_starter(text, after),
            // "У липні 2012 р. Київ"
            YEAR if length(&text[start..word_start]) <= 2 * WINDOW && self.is_date(&text[start..word_start]) => false,
            UNIT | YEAR if !self.is_counted(text, start, word_start) => self.next_is_starter(text, after),
            // "5 p.m. EST"
            CLOSING => !next_word(text, after).is_some_and(|(word, _)| self.rules.time_zones.contains(word)),
            _ => true,
        }
    }

    /// Whether a text is nothing but a date, with a preposition before it or not.
    fn is_date(&self, text: &str) -> bool {
        let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
        let Some(&first) = words.first() else { return false };
        let begins_with_digit = |word: &str| word.starts_with(is_digit);
        let is_preposition = first.chars().all(is_alpha) && length(first) <= PREPOSITION;
        let dated = if is_preposition { &words[1..] } else { &words[..] };
        let is_year = |word: &str| self.rules.kinds.get(word.strip_suffix('.').unwrap_or(word)) == Some(&YEAR);
        let others: Vec<&str> =
            dated.iter().copied().filter(|word| !begins_with_digit(word) && !is_year(word)).collect();
        // "Він помер 1912 р." is a sentence; before a month there is a day or a word such as "у".
        let has_month = others.is_empty() || others[0] != dated[0] || length(first) <= 2;
        dated.last().is_some_and(|word| begins_with_digit(word)) && others.len() <= 1 && has_month
    }

    /// Whether a number stands before the unit at `unit`, also with a multiplier: "40 km", "750 mln zł".
    fn is_counted(&self, text: &str, start: usize, unit: usize) -> bool {
        if has_number_before(text, back(text, unit, 8).max(start), unit) {
            return true;
        }
        let window = &text[back(text, unit, WINDOW).max(start)..unit];
        let Some((word, true)) = last_word(window) else { return false };
        let kind = self.rules.kinds.get(word.strip_suffix('.').unwrap_or(word));
        if word.chars().count() < MULTIPLIER || !matches!(kind, Some(&(RARELY | UNIT))) {
            return false;
        }
        let at = unit - window.len() + rstrip(window).len() - word.len();
        has_number_before(text, back(text, at, 8).max(start), at)
    }

    /// Whether a full stop after a number ends the sentence, which it does unless the number is an ordinal.
    fn number_ends(&self, word: &str, text: &str, start: usize, dot: usize, after: usize, next: char) -> bool {
        if !all(word, is_decimal) || integer(word) > self.rules.ordinals {
            return true; // a year, "3:1.", "2.5."
        }
        let is_group = word.chars().count() == 3;
        if is_group && has_number_before(text, back(text, dot, 8).max(start), back(text, dot, 3)) {
            return true; // "2 831 741."
        }
        let end = back(text, dot, word.chars().count());
        let name = last_word(&text[back(text, end, WINDOW).max(start)..end]);
        if self.rules.starters.is_empty() && name.is_some_and(|(name, inner)| inner && is_name(name)) {
            return true; // "and Apollo 17."
        }
        !is_digit(next) && self.next_is_starter(text, after)
    }

    /// Whether a sentence ends at a terminator that needs no white space after it.
    fn strong_ends(&self, text: &str, start: usize, stop: usize, sign: char, next: char, after: usize) -> bool {
        let Some(last) = char_before(text, after) else { return false };
        if is_space(last) {
            return !self.is(next, GOES_ON);
        }
        if self.is(next, GOES_ON) {
            return false;
        }
        if sign == '։' && is_time(text, stop, after) {
            return false; // "9։07"
        }
        if sign == '．' && (is_digit(next) || next.is_ascii() || char_before(text, stop).is_some_and(is_upper)) {
            return false; // "３．１４", "Ｊ．Ｆ．ケネディ"
        }
        if self.rules.japanese {
            if matches!(sign, '！' | '？') && matches!(last, '！' | '？' | '!' | '?') {
                return self.rules.openers.iter().any(|opener| text[after..].starts_with(opener.as_str()));
            }
            if matches!(last, '。' | '．' | '｡') {
                // を after 。 continues the sentence around a quotation; モーニング娘。 is a name with a full stop.
                return next != 'を' && !text[start..stop].ends_with("モーニング娘");
            }
            return !self.is(next, PARTICLE);
        }
        true
    }

    /// Whether the sentence ends after bracketed or quoted text that ends in a terminator.
    fn bracket_ends(&self, text: &str, start: usize, opening: usize, sign: char, next: char, run: &Run) -> bool {
        let mut inner = back(text, run.closed, 2);
        let mut last = char_at(text, inner).unwrap_or_default();
        if matches!(last, ' ' | '\u{a0}' | '\u{202f}') {
            inner = back(text, inner, 1);
            last = char_at(text, inner).unwrap_or_default();
        }
        let is_strong = self.is(last, STRONG);
        if !is_strong && (!self.is(last, WEAK) || self.is(last, OF_LANGUAGE)) {
            return false;
        }
        if self.is(sign, ROUND) && back(text, opening, 1) > start {
            // After "(sic!)" and "(b. 1950 in St. Louis.)" the sentence continues, after "(and many of the others.)"
            // it ends.
            if last != '.' || !is_upper(next) {
                return false;
            }
            let words = text[opening + sign.len_utf8()..inner].split(is_space).filter(|word| !word.is_empty());
            let (number, last) = words.fold((0, ""), |(number, _), word| (number + 1, word));
            return number > 4 && is_longer(last, 4) && all(last, is_alpha);
        }
        if self.goes_on(text, run.after, next) {
            return false;
        }
        if is_strong {
            // 「…。」「…。」 is an enumeration; a particle continues the sentence around the quotation.
            return !matches!(next, '「' | '『' | '（' | '(') && !self.is(next, PARTICLE);
        }
        run.after > run.closed
    }
}

#[inline]
fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

#[inline]
fn char_before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// The offset `number` characters before another, or 0.
fn back(text: &str, at: usize, number: usize) -> usize {
    match number {
        0 => at,
        _ => text[..at].char_indices().nth_back(number - 1).map_or(0, |found| found.0),
    }
}

#[inline]
fn skip(text: &str, at: usize, set: impl Fn(char) -> bool) -> usize {
    text[at..].find(|char| !set(char)).map_or(text.len(), |length| at + length)
}

/// Skip white space without line feeds.
#[inline]
fn skip_blanks(text: &str, at: usize) -> usize {
    skip(text, at, |char| char != '\n' && is_space(char))
}

/// A footnote number without its brackets, after a full stop.
fn skip_footnote_number(text: &str, at: usize) -> usize {
    let digits = skip_at_most(text, at, 3, is_decimal);
    if digits == at || !text[..at].ends_with('.') {
        return at;
    }
    let is_small = |char| matches!(char, 'a'..='z' | 'à'..='ÿ' | 'а'..='я' | 'ё');
    let is_capital = |char| matches!(char, 'A'..='Z' | 'À'..='Þ' | 'А'..='Я' | 'Ё');
    let after = skip_blanks(text, digits);
    let is_footnote = after > digits
        && char_at(text, after).is_some_and(is_capital)
        && text[..at - 1].chars().rev().take(3).filter(|&char| is_small(char)).count() == 3;
    if is_footnote {
        digits
    } else {
        at
    }
}

pub(super) fn skip_at_most(text: &str, at: usize, number: usize, set: impl Fn(char) -> bool) -> usize {
    at + text[at..].chars().take(number).take_while(|&char| set(char)).map(char::len_utf8).sum::<usize>()
}

/// `\[\w{1,12}\]`.
fn skip_bracketed_word(text: &str, at: usize) -> Option<usize> {
    let inside = at + 1;
    if text.as_bytes().get(at) != Some(&b'[') {
        return None;
    }
    let end = skip_at_most(text, inside, 12, is_word);
    (end > inside && text.as_bytes().get(end) == Some(&b']')).then_some(end + 1)
}

/// The offset after bracketed text that begins at `at`, with up to three brackets in it if they may nest.
fn bracketed(text: &str, at: usize, (opening, closing): (char, char), nests: bool) -> Option<usize> {
    // The number of characters since the last bracket, and that of brackets inside.
    let (mut length, mut nested, mut inside) = (0, 0, false);
    for (offset, char) in text[at..].char_indices() {
        if char == closing {
            if !inside {
                return Some(at + offset + char.len_utf8());
            }
            (length, inside) = (0, false);
        } else if char == opening {
            if !nests || inside || nested == 3 {
                return None;
            }
            (length, nested, inside) = (0, nested + 1, true);
        } else if char == '\n' || length == LONGEST_BRACKETED {
            return None;
        } else {
            length += 1;
        }
    }
    None
}

/// Whether a word is of several letters and begins with a capital.
fn is_name(word: &str) -> bool {
    !is_one(word) && all(word, is_alpha) && word.chars().next().is_some_and(is_upper)
}

/// `text.rsplit(None, 1)[-1]`, and whether there is another word before it.
fn last_word(text: &str) -> Option<(&str, bool)> {
    let text = rstrip(text);
    match text.char_indices().rfind(|found| is_space(found.1)) {
        Some((blank, char)) => Some((&text[blank + char.len_utf8()..], !rstrip(&text[..blank]).is_empty())),
        None => (!text.is_empty()).then_some((text, false)),
    }
}

/// The next word, and the offset after it: "St" of "“St. Andrews".
fn next_word(text: &str, at: usize) -> Option<(&str, usize)> {
    let first = skip_at_most(text, at, 3, |char| char != '\n' && !is_word(char));
    let mut end = skip_at_most(text, first, 24, is_word);
    if end == first {
        return None;
    }
    if let Some(apostrophe @ ('\'' | '’')) = char_at(text, end) {
        end = skip_at_most(text, end + apostrophe.len_utf8(), 3, is_word);
    }
    Some((&text[first..end], end))
}

/// The part of a word after the last slash, and after the last apostrophe before two letters.
fn last_part(word: &str) -> &str {
    let (mut next, mut second) = (false, false);
    for (at, char) in word.char_indices().rev() {
        if char == '/' || (matches!(char, '\'' | '’') && next && second) {
            return &word[at + char.len_utf8()..];
        }
        (next, second) = (is_word(char), next);
    }
    word
}

/// `[^\W\d_]`.
#[inline]
fn is_letter(char: char) -> bool {
    is_alnum(char) && !is_decimal(char)
}

fn letter_with_marks(text: &str, at: usize) -> Option<usize> {
    let letter = char_at(text, at).filter(|&char| is_letter(char))?;
    let is_mark = |char| matches!(char, '\u{300}'..='\u{1cff}' | '\u{200c}' | '\u{200d}') && is_mark_or_joiner(char);
    Some(skip_at_most(text, at + letter.len_utf8(), 6, is_mark))
}

fn is_mark_or_joiner(char: char) -> bool {
    char >= '\u{200c}' || is_mark(char)
}

fn is_roman(char: char) -> bool {
    matches!(char, 'I' | 'V' | 'X' | 'L' | 'C' | 'D' | 'M')
}

/// Whether a number or a Roman numeral follows, as after "vol.": " 3", " IV".
fn is_roman_or_digit(text: &str, at: usize) -> bool {
    let first = skip_at_most(text, at, 2, |char| char == '_' || !is_alnum(char));
    let end = skip(text, first, is_roman);
    char_at(text, first).is_some_and(is_decimal) || (end > first && !char_at(text, end).is_some_and(is_word))
}

/// Whether text[start:end] ends in a digit or a Roman numeral, and white space.
fn has_number_before(text: &str, start: usize, end: usize) -> bool {
    let Some(window) = text.get(start..end) else { return false };
    let window = window.trim_end_matches(|char| char != '\n' && is_space(char));
    let Some(last) = window.chars().next_back() else { return false };
    let numeral =
        if is_roman(last) { window.trim_end_matches(is_roman) } else { window.trim_end_matches(['І', 'Х']) };
    is_decimal(last) || (numeral.len() < window.len() && !char_before(text, start + numeral.len()).is_some_and(is_word))
}

/// The longest end of a text that consists of letters with full stops.
fn spaced_letters(text: &str) -> Option<&str> {
    text.char_indices().map(|(at, _)| &text[at..]).find(|end| is_dotted(end, true))
}

/// Groups of up to four letters, with full stops between them, and a blank after each if `spaced`.
fn is_dotted(text: &str, spaced: bool) -> bool {
    let (mut letters, mut dotted) = (0, false);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if is_letter(char) {
            letters += 1;
            if letters > 4 {
                return false;
            }
        } else if char == '.' && letters > 0 {
            (letters, dotted) = (0, true);
            if spaced {
                chars.next_if(|&next| is_space(next));
            }
        } else {
            return false;
        }
    }
    dotted && letters > 0
}

/// Whether an Armenian full stop stands between hour and minute.
fn is_time(text: &str, stop: usize, after: usize) -> bool {
    let digits = |chars: &mut dyn Iterator<Item = char>| chars.take(3).take_while(|&char| is_decimal(char)).count();
    (1..=2).contains(&digits(&mut text[..stop].chars().rev())) && digits(&mut text[after..].chars()) == 2
}

/// The value of decimal digits of any script, which Unicode has in order from 0 to 9.
fn integer(digits: &str) -> u64 {
    let value = |digit: char| {
        let before = (0..digit as u32).rev().map_while(char::from_u32);
        before.take_while(|&char| is_decimal(char)).count() as u64 % 10
    };
    digits.chars().fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(value(digit)))
}

/// Whether a text is not empty and all of its characters are of a class.
fn all(text: &str, class: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(class)
}

fn is_one(text: &str) -> bool {
    text.chars().count() == 1
}

fn is_longer(text: &str, length: usize) -> bool {
    text.chars().nth(length).is_some()
}

/// `text.islower()`: a lower-case letter, and none of upper or title case.
pub(super) fn is_lower_text(text: &str) -> bool {
    // A letter in title case is the only one with a lower case that is not upper case.
    text.chars().any(is_lower) && !text.chars().any(|char| is_upper(char) || (!is_lower(char) && has_lower(char)))
}
