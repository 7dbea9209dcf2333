//! Separate gaps from the names of the templates that left them: "\x01\x00\x00 b" is "\x01 b", with a gap of the second
//! template of the page.

use super::characters::finished;
use super::links::Links;
use super::placeholders::{GAP, NAMED};
use memchr::memchr2;

/// Remove the NAMED characters after gaps and return which template left each gap.
///
/// A gap of the n-th template is followed by n NAMED characters, a gap without a template by none. The offsets of the
/// links are adjusted in place.
pub fn take_names(text: String, names: &[String], columns: &mut [&mut Links]) -> (String, Vec<String>) {
    let bytes = text.as_bytes();
    let mut gaps = Vec::new();
    // By run of NAMED: the offset after it, and the number of bytes removed up to there.
    let (mut shifts, mut removed, mut end) = (Vec::new(), 0, 0);
    let (mut output, mut copied) = (String::new(), 0);
    while let Some(offset) = memchr2(GAP as u8, NAMED as u8, &bytes[end..]) {
        let start = end + offset;
        let begin = start + usize::from(bytes[start] == GAP as u8);
        let number = bytes[begin..].iter().take_while(|&&byte| byte == NAMED as u8).count();
        end = begin + number;
        if number > 0 {
            output.reserve(text.len() - copied);
            output.push_str(&text[copied..begin]);
            copied = end;
            removed += number;
            shifts.push((end, removed));
        }
        // No pass leaves NAMED without its GAP.
        if begin > start {
            gaps.push(number.checked_sub(1).and_then(|index| names.get(index)).cloned().unwrap_or_default());
        }
    }
    if removed == 0 {
        return (text, gaps);
    }
    for links in columns {
        shift(&mut links.starts, &shifts);
        shift(&mut links.ends, &shifts);
    }
    (finished(text, output, copied), gaps)
}

/// Subtract from each offset the number of bytes removed before it, which is the same between two runs.
fn shift(offsets: &mut [usize], shifts: &[(usize, usize)]) {
    let mut shifts = shifts.iter().peekable();
    let mut removed = 0;
    for offset in offsets {
        while let Some(&&(end, number)) = shifts.peek() {
            if *offset < end {
                break;
            }
            removed = number;
            shifts.next();
        }
        *offset -= removed;
    }
}
