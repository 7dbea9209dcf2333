//! Read JSON whose form is known, and check the rest on the way: each byte is looked at once, and nothing is built of a
//! value that is not used. What takes care to read, such as a lone surrogate or deep nesting, is `Unsure`, as is what is
//! wrong: the caller asks another reader.
//!
//! The bytes are UTF-8, which the caller checks. https://www.rfc-editor.org/rfc/rfc8259

/// This is wrong, or too rare to be read here.
#[derive(Debug)]
pub struct Unsure;

pub type Parsed<T> = Result<T, Unsure>;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
/// Numbers of more bytes might be infinite.
const LONGEST_NUMBER: usize = 200;

/// Eight bytes with the high bit set of each that is a quote, a backslash or a control character; bytes above the first
/// of these may have it too. https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord
fn special(bytes: u64) -> u64 {
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let quote = zero(bytes ^ (ONES * b'"' as u64));
    let backslash = zero(bytes ^ (ONES * b'\\' as u64));
    let control = bytes.wrapping_sub(ONES * 0x20) & !bytes;
    (quote | backslash | control) & HIGH
}

/// A text as it is written, and whether it has escapes.
#[derive(Clone, Copy)]
pub struct Text<'a>(&'a [u8], bool);

impl<'a> Text<'a> {
    /// The text, where it is written without escapes.
    pub fn plain(self) -> Parsed<&'a [u8]> {
        if self.1 {
            Err(Unsure)
        } else {
            Ok(self.0)
        }
    }

    /// Append the text to another.
    pub fn append_to(self, text: &mut Vec<u8>) {
        let mut rest = self.0;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            text.extend_from_slice(&rest[..at]);
            let (char, length) = unescape(&rest[at..]);
            text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[at + length..];
        }
        text.extend_from_slice(rest);
    }
}

/// The character of an escape that `Json::escape` has checked, and the length of the escape.
fn unescape(escape: &[u8]) -> (char, usize) {
    let char = match escape[1] {
        b'b' => '\x08',
        b'f' => '\x0c',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let (unit, low) = (hex(escape, 2), || hex(escape, 8));
            let surrogates = unit.and_then(|unit| (0xD800..0xDC00).contains(&unit).then(|| (unit, low())));
            if let Some((high, Some(low))) = surrogates {
                let point = 0x1_0000 + ((high - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
                return (char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
            }
            return (unit.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER), 6);
        }
        other => char::from(other),
    };
    (char, 2)
}

/// Four hexadecimal digits.
fn hex(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// A position in a JSON text.
pub struct Json<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Json<'a> {
    pub fn new(data: &'a [u8]) -> Json<'a> {
        Json { data, at: 0 }
    }

    /// The next byte that is not white space, 0 at the end.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        let (at, byte) = next(self.data, self.at);
        self.at = at;
        byte
    }

    /// Pass over a byte, with white space before it, if it comes next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let comes = self.peek() == byte;
        self.at += usize::from(comes);
        comes
    }

    fn expect(&mut self, byte: u8) -> Parsed<()> {
        self.take(byte).then_some(()).ok_or(Unsure)
    }

    pub fn end(&mut self) -> Parsed<()> {
        self.peek();
        (self.at == self.data.len()).then_some(()).ok_or(Unsure)
    }

    #[inline]
    pub fn text(&mut self) -> Parsed<Text<'a>> {
        self.expect(b'"')?;
        let (start, mut escaped) = (self.at, false);
        self.at = text_end(self.data, start, &mut escaped)?;
        Ok(Text(&self.data[start..self.at - 1], escaped))
    }

    /// A number as it is written.
    pub fn number(&mut self) -> Parsed<&'a [u8]> {
        self.peek();
        let start = self.at;
        self.at = number_end(self.data, start)?;
        Ok(&self.data[start..self.at])
    }

    pub fn literal(&mut self, literal: &[u8]) -> Parsed<()> {
        self.peek();
        self.at = literal_end(self.data, self.at, literal)?;
        Ok(())
    }

    #[inline]
    fn key(&mut self) -> Parsed<Text<'a>> {
        let key = self.text()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// Read an object; the function reads the value of each key. Keys are written without escapes.
    pub fn members(&mut self, mut read: impl FnMut(&mut Json<'a>, &'a [u8]) -> Parsed<()>) -> Parsed<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?.plain()?;
            read(self, key)?;
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Read a list; the function reads each of its values.
    pub fn elements(&mut self, mut read: impl FnMut(&mut Json<'a>) -> Parsed<()>) -> Parsed<()> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        loop {
            read(self)?;
            if !self.take(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Pass over a value.
    pub fn skip(&mut self) -> Parsed<()> {
        self.at = value_end(self.data, self.at)?;
        Ok(())
    }
}

// A position in a register is read faster than one in memory: so these get it and return the next one.

/// The position of the next byte that is not white space, and the byte, 0 at the end.
#[inline(always)]
fn next(data: &[u8], mut at: usize) -> (usize, u8) {
    loop {
        match data.get(at) {
            Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
            Some(&byte) => return (at, byte),
            None => return (at, 0),
        }
    }
}

/// The end of a text, the position after its first quote given.
#[inline(always)]
fn text_end(data: &[u8], mut at: usize, escaped: &mut bool) -> Parsed<usize> {
    loop {
        while let Some(bytes) = data.get(at..).and_then(|rest| rest.first_chunk()) {
            let special = special(u64::from_le_bytes(*bytes));
            if special != 0 {
                at += special.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match data.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => {
                *escaped = true;
                at = escape_end(data, at)?;
            }
            Some(0x20..) => at += 1,
            _ => return Err(Unsure),
        }
    }
}

fn escape_end(data: &[u8], at: usize) -> Parsed<usize> {
    let kind = *data.get(at + 1).ok_or(Unsure)?;
    if kind != b'u' {
        return b"\"\\/bfnrt".contains(&kind).then_some(at + 2).ok_or(Unsure);
    }
    let unit = hex(data, at + 2).ok_or(Unsure)?;
    if !(0xD800..0xE000).contains(&unit) {
        return Ok(at + 6);
    }
    let low = if data[at + 6..].starts_with(b"\\u") { hex(data, at + 8) } else { None };
    let is_pair = unit < 0xDC00 && low.is_some_and(|low| (0xDC00..0xE000).contains(&low));
    is_pair.then_some(at + 12).ok_or(Unsure)
}

fn number_end(data: &[u8], start: usize) -> Parsed<usize> {
    let digits_end = |at: usize| {
        let digits = data.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0).then_some(at + digits)
    };
    let first = start + usize::from(data.get(start) == Some(&b'-'));
    let mut end = digits_end(first).ok_or(Unsure)?;
    if end > first + 1 && data[first] == b'0' {
        return Err(Unsure);
    }
    if data.get(end) == Some(&b'.') {
        end = digits_end(end + 1).ok_or(Unsure)?;
    }
    if let Some(b'e' | b'E') = data.get(end) {
        let exponent = end + 1 + usize::from(matches!(data.get(end + 1), Some(b'+' | b'-')));
        end = digits_end(exponent).ok_or(Unsure)?;
        if end - exponent > 2 {
            return Err(Unsure);
        }
    }
    (end - start <= LONGEST_NUMBER).then_some(end).ok_or(Unsure)
}

fn literal_end(data: &[u8], at: usize, literal: &[u8]) -> Parsed<usize> {
    let comes = data.get(at..).is_some_and(|rest| rest.starts_with(literal));
    comes.then_some(at + literal.len()).ok_or(Unsure)
}

fn value_end(data: &[u8], mut at: usize) -> Parsed<usize> {
    // A bit for each object or list that is open, 1 for an object, below a bit that is 1.
    let mut open: u64 = 1;
    // A key comes next.
    let mut in_object = false;
    let mut byte;
    loop {
        (at, byte) = next(data, at);
        if in_object {
            if byte != b'"' {
                return Err(Unsure);
            }
            (at, byte) = next(data, text_end(data, at + 1, &mut false)?);
            if byte != b':' {
                return Err(Unsure);
            }
            (at, byte) = next(data, at + 1);
        }
        match byte {
            b'"' => at = text_end(data, at + 1, &mut false)?,
            b'{' | b'[' => {
                // The closing bracket is two above the opening one.
                let (inside, following) = next(data, at + 1);
                at = inside;
                if following == byte + 2 {
                    at += 1;
                } else {
                    if open >> 63 == 1 {
                        return Err(Unsure);
                    }
                    in_object = byte == b'{';
                    open = open << 1 | u64::from(in_object);
                    continue;
                }
            }
            b't' => at = literal_end(data, at, b"true")?,
            b'f' => at = literal_end(data, at, b"false")?,
            b'n' => at = literal_end(data, at, b"null")?,
            _ => at = number_end(data, at)?,
        }
        loop {
            if open == 1 {
                return Ok(at);
            }
            in_object = open & 1 == 1;
            (at, byte) = next(data, at);
            at += 1;
            if byte == b',' {
                break;
            }
            if byte != if in_object { b'}' } else { b']' } {
                return Err(Unsure);
            }
            open >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    fn skips(text: &str) -> bool {
        let mut json = Json::new(text.as_bytes());
        json.skip().and_then(|()| json.end()).is_ok()
    }

    #[test]
    fn what_is_passed_over_is_json() {
        let right =
            r#"{"a": [1, -0.5e+10, "\u00e9\ud83d\ude00\\ \"", {}, [], [[{"b": null}]]], "c": true, "": false} "#;
        assert!(skips(right));
        for end in 1..right.len() - 1 {
            assert!(!right.is_char_boundary(end) || !skips(&right[..end]), "{}", &right[..end]);
        }
        let wrong = [
            "01",
            "1.",
            "-",
            ".5",
            "1e",
            "1e999",
            "+1",
            "NaN",
            "tru",
            "truex",
            r#""\x""#,
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\u12g4""#,
            "\"\t\"",
            "[1,]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":1,}"#,
            "[1}",
            "1 2",
            "{1:2}",
            "[1 2]",
            "",
        ];
        for text in wrong {
            assert!(!skips(text), "{text}");
        }
        assert!(skips(&format!("{}{}", "[".repeat(63), "]".repeat(63))));
        assert!(!skips(&"[".repeat(1 << 20)));
    }

    #[test]
    fn a_text_is_unescaped() {
        let mut text = Vec::new();
        let read = Json::new(r#" "a long text, \"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\u0000 – its end""#.as_bytes()).text();
        read.expect("a text").append_to(&mut text);
        assert_eq!(text, "a long text, \"\\/\x08\x0c\n\r\té😀\0 – its end".as_bytes());
    }
}
