//! What parser functions and magic words show: `{{#if:a|b|c}}` shows "b", `{{lc:A}}` "a", `{{PAGENAME}}` the title.
//! They are those that need neither a database nor a clock; `functions.json` has their names.
//!
//! Arguments are evaluated when they are asked for, because `{{#if:}}` shows one of its branches only.

use super::definitions::Given;
use super::placeholders::{protect, GAP, NAMED};
use crate::shared::{shared, Function, ShownByTag};
use crate::unicode;
use memchr::memchr2_iter;
use std::borrow::Cow;
use std::cell::OnceCell;

/// Words that only the wiki's server knows.
pub const UNKNOWN: char = '\u{ffff}';

const ERROR: &str = "<strong class=\"error\">";

/// The first placeholder in a text whose words are not known.
pub fn unsure(text: &str) -> Option<String> {
    // The first byte of UNKNOWN is that of few other characters.
    let start = memchr2_iter(GAP as u8, 0xef, text.as_bytes())
        .find(|&start| text.as_bytes()[start] == GAP as u8 || text[start..].starts_with(UNKNOWN))?;
    let mark = &text[start..];
    if mark.starts_with(UNKNOWN) {
        return Some(UNKNOWN.to_string());
    }
    let end = mark[1..].find(|char| char != NAMED).map_or(mark.len(), |length| length + 1);
    Some(mark[..end].to_owned())
}

fn if_<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let test = given.text(0);
    match unsure(&test) {
        Some(mark) => mark.into(),
        None => given.text(if test.is_empty() { 2 } else { 1 }),
    }
}

fn ifeq<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (left, right) = (given.text(0), given.text(1));
    // As in the text of both: a GAP at the end of the first goes on in the second.
    let both =
        if left.contains([GAP, UNKNOWN]) { Cow::Owned(format!("{left}{right}")) } else { Cow::Borrowed(&*right) };
    match unsure(&both) {
        Some(mark) => mark.into(),
        None => given.text(if Subject::new(&left).equals(&right) { 2 } else { 3 }),
    }
}

/// A text that is compared as PHP does: numbers by their value.
struct Subject<'a> {
    text: &'a str,
    number: OnceCell<Option<f64>>,
}

impl<'a> Subject<'a> {
    fn new(text: &'a str) -> Subject<'a> {
        Subject { text, number: OnceCell::new() }
    }

    /// `_equal`.
    fn equals(&self, other: &str) -> bool {
        if self.text == other {
            return true;
        }
        let Some(other) = number(other) else { return false };
        *self.number.get_or_init(|| number(self.text)) == Some(other)
    }
}

/// The value of a text that PHP takes for a number: "01", "-2.5e3".
fn number(text: &str) -> Option<f64> {
    let first = text.chars().next()?;
    if !matches!(first, '-' | '+' | '.') && !unicode::is_decimal(first) {
        return None;
    }
    let mut ascii = String::with_capacity(text.len());
    for char in text.chars() {
        ascii.push(match unicode::decimal(char) {
            Some(digit) => char::from_digit(digit, 10)?,
            None => matches!(char, '-' | '+' | '.' | 'e' | 'E').then_some(char)?,
        });
    }
    // Of these characters Rust reads what Python does.
    ascii.parse().ok()
}

fn switch<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let text = given.text(0);
    if let Some(mark) = unsure(&text) {
        return mark.into();
    }
    let subject = Subject::new(&text);
    let (mut matched, mut last) = (false, Cow::Borrowed(""));
    let (mut default, mut waits_for_default) = (None, false);
    for position in 1..given.len() {
        let Some(name) = given.name(position) else {
            last = given.text(position);
            if let Some(mark) = unsure(&last) {
                return mark.into();
            }
            matched = matched || subject.equals(&last);
            waits_for_default = waits_for_default || last == *shared().functions.default;
            continue;
        };
        if let Some(mark) = unsure(&name) {
            return mark.into();
        }
        if matched || subject.equals(&name) {
            return given.value(position);
        }
        if waits_for_default || name == *shared().functions.default {
            (default, waits_for_default) = (Some(position), false);
        }
        last = Cow::Borrowed("");
    }
    // A last argument without a name is the default. The name is evaluated again, as in Python, which counts it.
    if given.len() > 1 && given.name(given.len() - 1).is_none() {
        return last;
    }
    default.map_or(Cow::Borrowed(""), |position| given.value(position))
}

fn expr<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let text = given.text(0);
    let shown = unsure(&text).or_else(|| given.evaluate(&text));
    shown.unwrap_or_else(|| format!("{ERROR}Expression error</strong>")).into()
}

fn ifexpr<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let value = expr(given);
    if value.starts_with(ERROR) {
        return value;
    }
    match unsure(&value) {
        Some(mark) => mark.into(),
        None => given.text(if value.is_empty() || value == "0" { 2 } else { 1 }),
    }
}

fn iferror<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let test = given.text(0);
    if let Some(mark) = unsure(&test) {
        return mark.into();
    }
    if test.contains(ERROR) {
        return given.text(1);
    }
    if given.len() > 2 {
        given.text(2)
    } else {
        test
    }
}

fn tag<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let name = unicode::lower(&given.text(0));
    let text = given.text(1);
    match shared().tags.function.get(&name) {
        Some(ShownByTag::Nowiki) => protect(&text).into(),
        Some(ShownByTag::Gap) => "\x01".into(),
        Some(ShownByTag::Text) => text,
        None => "".into(),
    }
}

fn pad<'g>(given: &mut Given<'g, '_>, left: bool) -> Cow<'g, str> {
    let (text, width, filler) = (given.text(0), given.text(1), given.text(2));
    let filler = if filler.is_empty() { "0" } else { &*filler };
    if let Some(mark) = unsure(&width) {
        return mark.into();
    }
    let is_number = width.chars().all(unicode::is_decimal) && unicode::length(&width) < 5;
    let width = if is_number { whole(&width) as usize } else { 0 };
    let missing = width.min(shared().limits.padding).saturating_sub(unicode::length(&text));
    let mut padded = String::with_capacity(text.len() + missing);
    if !left {
        padded += &text;
    }
    padded.extend(filler.chars().cycle().take(missing));
    if left {
        padded += &text;
    }
    padded.into()
}

fn ifexist<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (shown, other) = (given.text(1), given.text(2));
    if shown == other {
        shown
    } else {
        given.choose(&shown, &other).into()
    }
}

fn plural<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (number, forms) = (given.text(0), given.len() - 1);
    if number == "1" || number == "-1" || forms == 1 {
        return given.text(1);
    }
    // Languages with more forms choose among them by rules of their own.
    match unsure(&number) {
        Some(mark) => mark.into(),
        None if forms == 2 => given.text(2),
        None => UNKNOWN.to_string().into(),
    }
}

fn slice<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (text, start, length) = (given.text(0), whole(&given.text(1)), whole(&given.text(2)));
    if let Some(mark) = unsure(&text) {
        // A part of it would be no gap.
        return mark.into();
    }
    let chars: Vec<char> = text.chars().collect();
    let chars = &chars[bound(start, chars.len())..];
    let end = if length == 0 { chars.len() } else { bound(length, chars.len()) };
    chars[..end].iter().collect::<String>().into()
}

/// A bound of a slice of Python, within a sequence of `length` elements.
fn bound(index: i64, length: usize) -> usize {
    let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
    if index < 0 {
        length.saturating_sub(distance)
    } else {
        distance.min(length)
    }
}

fn whole(text: &str) -> i64 {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mut value = 0;
    for (index, char) in digits.chars().enumerate() {
        match unicode::decimal(char) {
            Some(digit) if index < 9 => value = 10 * value + i64::from(digit),
            _ => return 0,
        }
    }
    if digits.len() < text.len() {
        -value
    } else {
        value
    }
}

fn replace<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (text, old, new) = (given.text(0), given.text(1), given.text(2));
    if let Some(mark) = unsure(&old) {
        return mark.into();
    }
    let old = if old.is_empty() { " " } else { &*old };
    if unicode::length(&new) > unicode::length(old) + 20 {
        return UNKNOWN.to_string().into();
    }
    text.replace(old, &new).into()
}

fn title_parts<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let text = given.text(0);
    let parts: Vec<&str> = text.split('/').collect();
    let (number, first) = (whole(&given.text(1)), whole(&given.text(2)));
    let parts = &parts[bound(if first > 0 { first - 1 } else { first }, parts.len())..];
    let end = if number == 0 { parts.len() } else { bound(number, parts.len()) };
    parts[..end].join("/").into()
}

fn explode<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (text, separator, position) = (given.text(0), given.text(1), whole(&given.text(2)));
    if let Some(mark) = unsure(&separator) {
        return mark.into();
    }
    let parts: Vec<&str> = text.split(if separator.is_empty() { " " } else { &*separator }).collect();
    let position = if position < 0 { position + parts.len() as i64 } else { position };
    usize::try_from(position)
        .ok()
        .and_then(|position| parts.get(position))
        .map_or("".into(), |part| part.to_string().into())
}

/// Change the case of the first character.
fn first(text: &str, case: fn(&str) -> String) -> String {
    let end = text.chars().next().map_or(0, char::len_utf8);
    case(&text[..end]) + &text[end..]
}

fn position<'g>(given: &mut Given<'g, '_>) -> Cow<'g, str> {
    let (text, part) = (given.text(0), given.text(1));
    let place = text.find(if part.is_empty() { " " } else { &*part });
    place.map_or("".into(), |place| unicode::length(&text[..place]).to_string().into())
}

/// What a function shows; None for one that is not evaluated here.
pub fn shown<'g>(function: Function, given: &mut Given<'g, '_>) -> Option<Cow<'g, str>> {
    Some(match function {
        Function::If => if_(given),
        Function::IfEqual => ifeq(given),
        Function::Switch => switch(given),
        Function::Expression => expr(given),
        Function::IfExpression => ifexpr(given),
        Function::IfError => iferror(given),
        Function::IfExists => ifexist(given),
        Function::Tag => tag(given),
        Function::Lower => unicode::lower(&given.text(0)).into(),
        Function::Upper => unicode::upper(&given.text(0)).into(),
        Function::LowerFirst => first(&given.text(0), unicode::lower).into(),
        Function::UpperFirst => first(&given.text(0), unicode::upper).into(),
        Function::PadLeft => pad(given, true),
        Function::PadRight => pad(given, false),
        Function::Plural => plural(given),
        Function::Length => unicode::length(&given.text(0)).to_string().into(),
        Function::Position => position(given),
        Function::Slice => slice(given),
        Function::Replace => replace(given),
        Function::Explode => explode(given),
        Function::TitleParts => title_parts(given),
        Function::Encode => given.text(0).replace(' ', "_").into(),
        Function::Address => shared().functions.address.as_str().into(),
        Function::Nothing => "".into(),
        Function::Number
        | Function::Prefix
        | Function::Namespace
        | Function::NamespaceEncoded
        | Function::Language
        | Function::Message
        | Function::Time
        | Function::Invoke
        | Function::Server => return None,
    })
}

/// What a magic word shows on an article: `{{PAGENAME}}` the title, `{{!}}` a bar; None for a word that is not known.
pub fn magic_word<'a>(name: &str, title: &'a str) -> Option<&'a str> {
    let shown = shared().functions.words.get(name)?;
    Some(shown.as_deref().unwrap_or(title))
}
