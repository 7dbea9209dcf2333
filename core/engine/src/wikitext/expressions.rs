//! Evaluate `{{#expr:...}}`: "2 * (3 + 4)" is "14".
//!
//! Powers, exponentials and logarithms, other digits and letters than those of ASCII, and values that are infinite are
//! left to Python, whose results they have to equal.

use serde::de::value::{self, StrDeserializer};
use serde::de::IntoDeserializer;
use serde::Deserialize;

use crate::unicode::{is_space, strip};

const LONGEST: usize = 1000;
const MAX_DEPTH: usize = 40;
/// Larger results are no numbers that a page shows.
const LARGEST: f64 = 1e15;
const UNARY_PRECEDENCE: usize = 8;
/// Significant digits of a result, less one.
const DIGITS: i32 = 11;
/// More digits are left to Python, whose decimal numbers have no more than 28.
const MOST_KEPT: i32 = 27;
const SIGNS: [(&str, Operator); 14] = [
    ("<>", Operator::Unequal),
    ("!=", Operator::Unequal),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("-", Operator::Minus),
    ("+", Operator::Plus),
    ("*", Operator::Times),
    ("/", Operator::Div),
    ("^", Operator::Power),
    ("(", Operator::Open),
    (")", Operator::Close),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

/// A word of an expression is the name of its variant.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operator {
    Or,
    And,
    Round,
    Div,
    Mod,
    Fmod,
    Not,
    Abs,
    Ceil,
    Floor,
    Trunc,
    Exp,
    Ln,
    Sqrt,
    Pi,
    E,
    #[serde(skip)]
    Equal,
    #[serde(skip)]
    Unequal,
    #[serde(skip)]
    Less,
    #[serde(skip)]
    Greater,
    #[serde(skip)]
    AtMost,
    #[serde(skip)]
    AtLeast,
    #[serde(skip)]
    Plus,
    #[serde(skip)]
    Minus,
    #[serde(skip)]
    Times,
    #[serde(skip)]
    Power,
    #[serde(skip)]
    Open,
    #[serde(skip)]
    Close,
}

impl Operator {
    fn of_word(word: &str) -> Option<Operator> {
        let lower = word.to_ascii_lowercase();
        let deserializer: StrDeserializer<value::Error> = lower.as_str().into_deserializer();
        Operator::deserialize(deserializer).ok()
    }

    /// How strongly it binds what stands before and behind it; None if it does not stand between two values.
    fn precedence(self) -> Option<usize> {
        Some(match self {
            Operator::Or => 1,
            Operator::And => 2,
            Operator::Equal
            | Operator::Unequal
            | Operator::Less
            | Operator::Greater
            | Operator::AtMost
            | Operator::AtLeast => 3,
            Operator::Round => 4,
            Operator::Plus | Operator::Minus => 5,
            Operator::Times | Operator::Div | Operator::Mod | Operator::Fmod => 6,
            Operator::Power => 7,
            _ => return None,
        })
    }
}

/// Why an expression has no value here.
#[derive(Debug, PartialEq)]
pub enum Unevaluated {
    /// The text is no expression, or has no finite value.
    Fault,
    /// Python has to evaluate it.
    ForPython,
}

use Unevaluated::{Fault, ForPython};

#[derive(Clone, Copy)]
enum Token {
    Number(f64),
    Operator(Operator),
}

/// The value of an expression as MediaWiki writes it; "" for an empty one.
pub fn evaluate(text: &str) -> Result<String, Unevaluated> {
    let stripped = strip(text);
    if stripped.is_empty() {
        return Ok(String::new());
    }
    if text.chars().count() > LONGEST {
        return Err(Fault);
    }
    let mut plain = stripped.replace('−', "-");
    if plain.contains('&') {
        plain = plain.replace("&minus;", "-").replace("&lt;", "<").replace("&gt;", ">");
    }
    if !plain.is_ascii() {
        return Err(ForPython);
    }
    let mut tokens = tokens(&plain)?;
    let value = parse(&mut tokens, 0, 0)?;
    if !tokens.is_empty() || value.abs() >= LARGEST {
        return Err(Fault);
    }
    Ok(if value == value.trunc() { (value as i64).to_string() } else { general(value) })
}

/// The tokens of an expression, the first one last.
fn tokens(text: &str) -> Result<Vec<Token>, Unevaluated> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let whole = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let fraction = rest[whole..].strip_prefix('.').map(|after| {
            let left = after.trim_start_matches(|char: char| char.is_ascii_digit());
            after.len() - left.len()
        });
        let length = match fraction {
            Some(digits) if whole + digits > 0 => whole + 1 + digits,
            _ => whole,
        };
        let (token, length) = if length > 0 {
            (Token::Number(rest[..length].parse().map_err(|_| ForPython)?), length)
        } else if let Some(&(sign, operator)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            (Token::Operator(operator), sign.len())
        } else {
            let length = rest.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len());
            let token = match Operator::of_word(&rest[..length]).ok_or(Fault)? {
                Operator::Pi => Token::Number(std::f64::consts::PI),
                Operator::E => Token::Number(std::f64::consts::E),
                operator => Token::Operator(operator),
            };
            (token, length)
        };
        tokens.push(token);
        rest = rest[length..].trim_start_matches(is_space);
    }
    tokens.reverse();
    Ok(tokens)
}

/// Read an operand and the binary operators after it that bind at least as strongly as `precedence`.
fn parse(tokens: &mut Vec<Token>, precedence: usize, depth: usize) -> Result<f64, Unevaluated> {
    if depth > MAX_DEPTH {
        return Err(Fault);
    }
    let mut value = match tokens.pop().ok_or(Fault)? {
        Token::Number(value) => value,
        Token::Operator(Operator::Open) => {
            let value = parse(tokens, 0, depth + 1)?;
            if !matches!(tokens.pop(), Some(Token::Operator(Operator::Close))) {
                return Err(Fault);
            }
            value
        }
        Token::Operator(operator) => unary(operator, tokens, depth)?,
    };
    loop {
        if !value.is_finite() {
            return Err(ForPython);
        }
        let Some(&Token::Operator(operator)) = tokens.last() else { return Ok(value) };
        let Some(binds) = operator.precedence().filter(|&binds| binds >= precedence) else { return Ok(value) };
        tokens.pop();
        let other = parse(tokens, binds + 1, depth + 1)?;
        value = binary(operator, value, other)?;
    }
}

fn unary(operator: Operator, tokens: &mut Vec<Token>, depth: usize) -> Result<f64, Unevaluated> {
    use Operator::{Abs, Ceil, Exp, Floor, Ln, Minus, Not, Plus, Sqrt, Trunc};
    if !matches!(operator, Minus | Plus | Not | Abs | Ceil | Floor | Trunc | Exp | Ln | Sqrt) {
        return Err(Fault);
    }
    let value = parse(tokens, UNARY_PRECEDENCE, depth + 1)?;
    Ok(match operator {
        Minus => -value,
        Plus => value,
        Not => truth(value == 0.0),
        Abs => value.abs(),
        Ceil => value.ceil(),
        Floor => value.floor(),
        Trunc => value.trunc(),
        Sqrt if value < 0.0 => return Err(Fault),
        Sqrt => value.sqrt(),
        _ => return Err(ForPython),
    })
}

fn binary(operator: Operator, left: f64, right: f64) -> Result<f64, Unevaluated> {
    let is_zero = match operator {
        Operator::Div | Operator::Fmod => right == 0.0,
        Operator::Mod => right.trunc() == 0.0,
        _ => false,
    };
    if is_zero {
        return Err(Fault);
    }
    Ok(match operator {
        Operator::Or => truth(left != 0.0 || right != 0.0),
        Operator::And => truth(left != 0.0 && right != 0.0),
        Operator::Equal => truth(left == right),
        Operator::Unequal => truth(left != right),
        Operator::Less => truth(left < right),
        Operator::Greater => truth(left > right),
        Operator::AtMost => truth(left <= right),
        Operator::AtLeast => truth(left >= right),
        Operator::Round => return rounded(left, right),
        Operator::Plus => left + right,
        Operator::Minus => left - right,
        Operator::Times => left * right,
        Operator::Div => left / right,
        Operator::Mod => left.trunc() % right.trunc(),
        Operator::Fmod => left % right,
        _ => return Err(ForPython),
    })
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// A number with so many digits behind the point: the shortest decimal number that stands for it is rounded, and halves
/// away from zero.
fn rounded(value: f64, places: f64) -> Result<f64, Unevaluated> {
    if places.abs() > 20.0 {
        return Err(Fault);
    }
    let places = places as i32;
    let written = format!("{:e}", value.abs());
    let (mantissa, exponent) = written.split_once('e').ok_or(ForPython)?;
    let digits = mantissa.replace('.', "");
    let kept = exponent.parse::<i32>().map_err(|_| ForPython)? + 1 + places;
    if kept > MOST_KEPT {
        return Err(ForPython);
    }
    let Ok(kept) = usize::try_from(kept) else { return Ok(0.0) };
    let Some(&next) = digits.as_bytes().get(kept) else { return Ok(value) };
    let number = digits[..kept].parse().unwrap_or(0) + u64::from(next >= b'5');
    Ok(format!("{number}e{}", -places).parse::<f64>().map_err(|_| ForPython)?.copysign(value))
}

/// `f"{value:.12g}"`.
fn general(value: f64) -> String {
    let written = format!("{value:.*e}", DIGITS as usize);
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..=DIGITS).contains(&exponent) {
        return without_zeros(&format!("{value:.*}", (DIGITS - exponent) as usize)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_values() {
        for (text, value) in [
            ("2 * (3 + 4)", "14"),
            ("7 / 2 round 0", "4"),
            ("-2.5 ROUND 0", "-3"),
            ("1250 round -2", "1300"),
            ("0.04 round 1", "0"),
            ("1 &lt;= 2 and 3", "1"),
            ("1/3", "0.333333333333"),
            ("1/30000", "3.33333333333e-05"),
            ("123456789012.5", "123456789012"),
            ("1234567890123.5", "1.23456789012e+12"),
            ("−7 mod 3", "-1"),
            ("\t", ""),
        ] {
            assert_eq!(evaluate(text), Ok(value.to_owned()), "{text}");
        }
        for text in ["1 +", "(1", "1 2", "a", "1/0", "1 mod .5", "sqrt -1", "1 round 21", "99999999999999999"] {
            assert_eq!(evaluate(text), Err(Fault), "{text}");
        }
        for text in ["2^3", "ln 2", "٣+1"] {
            assert_eq!(evaluate(text), Err(ForPython), "{text}");
        }
        assert_eq!(evaluate(&"-".repeat(999)), Err(Fault));
    }
}
