//! Format numbers as MediaWiki does: "12345.6" is "12,345.6" in English and "12.345,6" in German.

use crate::rules::Numbers;
use crate::shared::shared;
use crate::unicode::is_decimal;

/// Formats the plain numbers in a text; `number_writer` of the Python code.
#[derive(Clone, Debug)]
pub struct NumberWriter {
    thousands: String,
    decimal: String,
    digits: Vec<char>,
    together: usize,
    pairs: bool,
}

impl NumberWriter {
    pub fn new(numbers: &Numbers) -> NumberWriter {
        NumberWriter {
            thousands: numbers.thousands.clone(),
            decimal: numbers.decimal.clone(),
            digits: numbers.digits.chars().collect(),
            together: numbers.together,
            pairs: numbers.pairs,
        }
    }

    /// The text with its numbers as the language writes them.
    pub fn write(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len() + 8);
        let mut rest = text;
        while let Some(start) = rest.find(is_decimal) {
            self.translate(&rest[..start], &mut shown);
            rest = self.number(&rest[start..], &mut shown);
        }
        self.translate(rest, &mut shown);
        shown
    }

    /// Write the number that a text begins with, and return what follows it.
    fn number<'a>(&self, text: &'a str, shown: &mut String) -> &'a str {
        let (mut end, mut length) = (0, 0);
        for char in text.chars().take(shared().limits.number_digits).take_while(|&char| is_decimal(char)) {
            (end, length) = (end + char.len_utf8(), length + 1);
        }
        let grouped = length >= self.together;
        for (index, char) in text[..end].chars().enumerate() {
            if grouped && index > 0 && self.separates(length - index) {
                self.translate(&self.thousands, shown);
            }
            shown.push(self.translated(char));
        }
        match text[end..].strip_prefix('.') {
            Some(fraction) => {
                self.translate(&self.decimal, shown);
                let end = fraction.find(|char| !is_decimal(char)).unwrap_or(fraction.len());
                self.translate(&fraction[..end], shown);
                &fraction[end..]
            }
            None => &text[end..],
        }
    }

    /// Whether a group of digits begins where so many are left. The Python code has a pattern for it: `\B` holds
    /// between all digits, and a number of digits up to the end is a multiple of three; or three and pairs.
    fn separates(&self, left: usize) -> bool {
        if self.pairs {
            left >= 3 && left % 2 == 1
        } else {
            left % 3 == 0
        }
    }

    fn translate(&self, text: &str, shown: &mut String) {
        shown.extend(text.chars().map(|char| self.translated(char)));
    }

    fn translated(&self, char: char) -> char {
        match char {
            '0'..='9' => self.digits.get(char as usize - '0' as usize).copied().unwrap_or(char),
            '-' => '−',
            _ => char,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(thousands: &str, decimal: &str, together: usize, pairs: bool) -> Numbers {
        let digits = "0123456789".to_owned();
        Numbers { thousands: thousands.to_owned(), decimal: decimal.to_owned(), digits, together, pairs }
    }

    #[test]
    fn separates_groups_of_three() {
        let english = NumberWriter::new(&numbers(",", ".", 4, false));
        assert_eq!(english.write("12345.6 m, -1234567"), "12,345.6 m, −1,234,567");
        assert_eq!(english.write("1.2.3 and 5."), "1.2.3 and 5.");
        let spanish = NumberWriter::new(&numbers(".", ",", 5, false));
        assert_eq!(spanish.write("1234 12345.67"), "1234 12.345,67");
    }

    #[test]
    fn separates_pairs_above_the_thousands() {
        let hindi = NumberWriter::new(&numbers(",", ".", 4, true));
        assert_eq!(hindi.write("12345678 1000"), "1,23,45,678 1,000");
    }
}
