//! Searches for marks in bytes.

use memchr::memchr;

/// The offset of the first mark that is one ASCII character twice, such as "[[".
#[inline]
pub fn find_double(bytes: &[u8], byte: u8) -> Option<usize> {
    let mut start = 0;
    loop {
        let at = start + memchr(byte, &bytes[start..])?;
        start = at + 1;
        if bytes.get(start) == Some(&byte) {
            return Some(at);
        }
    }
}

/// The number of marks that are one ASCII character twice, none of which overlap.
pub fn count_doubles(bytes: &[u8], byte: u8) -> usize {
    let (mut number, mut start) = (0, 0);
    while let Some(offset) = find_double(&bytes[start..], byte) {
        start += offset + 2;
        number += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_begins_at_the_first_of_three() {
        assert_eq!(find_double(b"a [b[[[", b'['), Some(4));
        assert_eq!(count_doubles(b"[[[ [ [[[[", b'['), 3);
    }
}
