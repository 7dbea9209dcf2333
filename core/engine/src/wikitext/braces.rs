//! Calls and parameters of a template's wikitext: "a {{b|c=d}} {{{1|}}}" is a text, a call with one argument, a text
//! and a parameter with an empty default.
//!
//! As in MediaWiki's preprocessor, three of a run of closing braces end a parameter and two a call, innermost first,
//! and a "|" inside of `[[...]]` separates no arguments. Time is linear.

use std::mem;

use crate::shared::shared;

pub type Nodes = Vec<Node>;

#[derive(Debug)]
pub enum Node {
    Text(String),
    /// `{{{name|default}}}`
    Parameter {
        name: Nodes,
        default: Option<Nodes>,
    },
    /// `{{name|arguments}}`
    Call {
        name: Nodes,
        arguments: Vec<Argument>,
    },
}

/// An argument of a call.
#[derive(Debug)]
pub struct Argument {
    pub name: Option<Nodes>,
    pub value: Nodes,
}

impl Node {
    /// Move the nodes inside to `nodes`.
    fn empty_into(&mut self, nodes: &mut Nodes) {
        match self {
            Node::Text(_) => {}
            Node::Parameter { name, default } => {
                nodes.append(name);
                nodes.append(&mut mem::take(default).unwrap_or_default());
            }
            Node::Call { name, arguments } => {
                nodes.append(name);
                for mut argument in mem::take(arguments) {
                    nodes.append(&mut argument.name.unwrap_or_default());
                    nodes.append(&mut argument.value);
                }
            }
        }
    }
}

impl Drop for Node {
    /// Drop without recursion: a run of braces nests as deep as it is long.
    fn drop(&mut self) {
        let mut waiting = Vec::new();
        self.empty_into(&mut waiting);
        while let Some(mut node) = waiting.pop() {
            node.empty_into(&mut waiting);
        }
    }
}

enum Piece<'a> {
    Text(&'a str),
    Node(Node),
}

/// What is read of an argument, and where in it the "=" after its name is. Such a sign is a piece of its own.
#[derive(Default)]
struct Open<'a> {
    pieces: Vec<Piece<'a>>,
    equals: Option<usize>,
}

impl<'a> Open<'a> {
    fn argument(mut self) -> Argument {
        let Some(index) = self.equals else { return Argument { name: None, value: joined(self.pieces) } };
        let value = self.pieces.split_off(index + 1);
        self.pieces.pop();
        Argument { name: Some(joined(self.pieces)), value: joined(value) }
    }
}

/// Braces or brackets that are not closed yet: their number (0 of brackets), where they begin, and what is read of the
/// arguments.
struct Level<'a> {
    width: usize,
    start: usize,
    arguments: Vec<Open<'a>>,
}

impl<'a> Level<'a> {
    fn new(width: usize, start: usize) -> Level<'a> {
        Level { width, start, arguments: vec![Open::default()] }
    }

    /// What is inside of the braces or brackets as text with calls.
    fn flat(self, into: &mut Open<'a>) {
        for (number, argument) in self.arguments.into_iter().enumerate() {
            if number > 0 {
                into.pieces.push(Piece::Text("|"));
            }
            into.pieces.extend(argument.pieces);
        }
    }
}

/// Open braces and brackets, outermost first; the page itself is the first, of the width 0.
struct Parser<'a> {
    text: &'a str,
    stack: Vec<Level<'a>>,
}

/// Parse wikitext without comments and extension tags, in linear time.
pub fn parse_braces(text: &str) -> Nodes {
    let mut parser = Parser { text, stack: vec![Level::new(0, 0)] };
    let mut position = 0;
    let mut index = 0;
    let bytes = text.as_bytes();
    while index < bytes.len() {
        let sign = bytes[index];
        let length = match sign {
            b'=' if !parser.needs_equals() => 0,
            b'|' | b'=' => 1,
            b'{' | b'}' => bytes[index..].iter().take_while(|&&byte| byte == sign).count(),
            b'[' | b']' if bytes.get(index + 1) == Some(&sign) => 2,
            _ => {
                index += 1;
                continue;
            }
        };
        // One brace is text, and so is a "=" that is not after the name of an argument.
        if length == 0 || (length == 1 && matches!(sign, b'{' | b'}')) {
            index += 1;
            continue;
        }
        if index > position {
            parser.push(&text[position..index]);
        }
        position = index + length;
        parser.read(sign, index, length);
        index = position;
    }
    parser.end(&text[position..])
}

impl<'a> Parser<'a> {
    fn open(&mut self) -> Option<&mut Open<'a>> {
        self.stack.last_mut()?.arguments.last_mut()
    }

    /// Whether a "=" ends the name of an argument.
    fn needs_equals(&self) -> bool {
        self.stack.last().is_some_and(|top| {
            top.width > 0 && top.arguments.len() > 1 && top.arguments.last().is_some_and(|open| open.equals.is_none())
        })
    }

    fn push(&mut self, text: &'a str) {
        if let Some(open) = self.open() {
            open.pieces.push(Piece::Text(text));
        }
    }

    /// Read a sign of `length` bytes.
    fn read(&mut self, sign: u8, start: usize, length: usize) {
        let depth = self.stack.len();
        let Some(top) = self.stack.last_mut() else { return };
        let sign_text = &self.text[start..start + length];
        match sign {
            b'{' if depth <= shared().limits.braces_depth => self.stack.push(Level::new(length, start)),
            b'[' if depth <= shared().limits.braces_depth => self.stack.push(Level::new(0, start)),
            b'}' if top.width > 0 => self.close(start, length),
            b']' if depth > 1 && top.width == 0 => {
                let Some(level) = self.stack.pop() else { return };
                let Some(open) = self.open() else { return };
                open.pieces.push(Piece::Text("[["));
                level.flat(open);
                open.pieces.push(Piece::Text("]]"));
            }
            b'|' if top.width > 0 => top.arguments.push(Open::default()),
            b'=' => {
                if let Some(open) = top.arguments.last_mut() {
                    open.equals = Some(open.pieces.len());
                    open.pieces.push(Piece::Text(sign_text));
                }
            }
            _ => self.push(sign_text),
        }
    }

    /// End the calls and parameters that a run of closing braces ends; braces that are left over are text.
    fn close(&mut self, start: usize, length: usize) {
        let mut width = length;
        while let Some(top) = self.stack.last_mut().filter(|top| width >= 2 && top.width > 0) {
            let taken = width.min(top.width).min(3);
            let mut arguments = mem::take(&mut top.arguments).into_iter();
            let name = joined(arguments.next().unwrap_or_default().pieces);
            let node = if taken == 3 {
                Node::Parameter { name, default: arguments.next().map(|default| joined(default.pieces)) }
            } else {
                Node::Call { name, arguments: arguments.map(Open::argument).collect() }
            };
            width -= taken;
            top.width -= taken;
            let (rest, start) = (top.width, top.start);
            if rest >= 2 {
                top.arguments.push(Open::default());
            } else {
                self.stack.pop();
                self.push(&self.text[start..start + rest]);
            }
            if let Some(open) = self.open() {
                open.pieces.push(Piece::Node(node));
            }
        }
        self.push(&self.text[start..start + width]);
    }

    /// Braces that are not closed are text.
    fn end(mut self, rest: &'a str) -> Nodes {
        let mut page = Open::default();
        for (number, level) in mem::take(&mut self.stack).into_iter().enumerate() {
            if number > 0 {
                page.pieces.push(Piece::Text(&self.text[level.start..level.start + level.width.max(2)]));
            }
            level.flat(&mut page);
        }
        page.pieces.push(Piece::Text(rest));
        joined(page.pieces)
    }
}

/// Join neighbouring texts; leave empty ones out.
fn joined(pieces: Vec<Piece>) -> Nodes {
    let mut nodes = Nodes::new();
    for piece in pieces {
        match (piece, nodes.last_mut()) {
            (Piece::Node(node), _) => nodes.push(node),
            (Piece::Text(""), _) => {}
            (Piece::Text(text), Some(Node::Text(before))) => *before += text,
            (Piece::Text(text), _) => nodes.push(Node::Text(text.to_owned())),
        }
    }
    nodes
}
