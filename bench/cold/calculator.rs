//! A calculator with variables, functions and a pretty printer; reads lines, writes results.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::io::{self, BufRead, Write};
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Op(char),
    Open,
    Close,
    Comma,
    Assign,
}

#[derive(Debug)]
enum Error {
    Unexpected(Token),
    End,
    BadNumber(String),
    Unknown(String),
    Arity {
        name: String,
        want: usize,
        got: usize,
    },
    DivisionByZero,
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unexpected(t) => write!(f, "unexpected {t:?}"),
            Error::End => f.write_str("unexpected end"),
            Error::BadNumber(s) => write!(f, "bad number {s:?}"),
            Error::Unknown(s) => write!(f, "unknown name {s}"),
            Error::Arity { name, want, got } => write!(f, "{name} takes {want}, not {got}"),
            Error::DivisionByZero => f.write_str("division by zero"),
            Error::Io(e) => write!(f, "{e}"),
        }
    }
}
impl std::error::Error for Error {}
impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        Error::Io(e)
    }
}

fn lex(text: &str) -> Result<VecDeque<Token>, Error> {
    let mut out = VecDeque::new();
    let mut chars = text.char_indices().peekable();
    while let Some(&(at, c)) = chars.peek() {
        match c {
            ' ' | '\t' => {
                chars.next();
            }
            '0'..='9' | '.' => {
                let mut end = at;
                while let Some(&(i, c)) = chars.peek() {
                    if c.is_ascii_digit() || c == '.' || c == 'e' {
                        end = i + c.len_utf8();
                        chars.next();
                    } else {
                        break;
                    }
                }
                let digits = &text[at..end];
                let n = digits
                    .parse()
                    .map_err(|_| Error::BadNumber(digits.to_string()))?;
                out.push_back(Token::Number(n));
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let mut name = String::new();
                while let Some(&(_, c)) = chars.peek() {
                    if c.is_alphanumeric() || c == '_' {
                        name.push(c);
                        chars.next();
                    } else {
                        break;
                    }
                }
                out.push_back(Token::Name(name));
            }
            '(' => {
                out.push_back(Token::Open);
                chars.next();
            }
            ')' => {
                out.push_back(Token::Close);
                chars.next();
            }
            ',' => {
                out.push_back(Token::Comma);
                chars.next();
            }
            '=' => {
                out.push_back(Token::Assign);
                chars.next();
            }
            other => {
                out.push_back(Token::Op(other));
                chars.next();
            }
        }
    }
    Ok(out)
}

#[derive(Clone, Debug)]
enum Expr {
    Number(f64),
    Var(Rc<str>),
    Unary(char, Box<Expr>),
    Binary(char, Box<Expr>, Box<Expr>),
    Call(Rc<str>, Vec<Expr>),
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Number(n) => write!(f, "{n}"),
            Expr::Var(v) => f.write_str(v),
            Expr::Unary(op, e) => write!(f, "{op}{e}"),
            Expr::Binary(op, a, b) => write!(f, "({a} {op} {b})"),
            Expr::Call(name, args) => {
                write!(f, "{name}(")?;
                for (i, a) in args.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    a.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}

#[derive(Default)]
struct Interner {
    names: HashMap<String, Rc<str>>,
}
impl Interner {
    fn get(&mut self, s: &str) -> Rc<str> {
        if let Some(r) = self.names.get(s) {
            return r.clone();
        }
        let r: Rc<str> = Rc::from(s);
        self.names.insert(s.to_owned(), r.clone());
        r
    }
}

struct Parser<'a> {
    tokens: VecDeque<Token>,
    names: &'a mut Interner,
}

impl Parser<'_> {
    fn power(op: char) -> Option<(u8, u8)> {
        Some(match op {
            '+' | '-' => (1, 2),
            '*' | '/' | '%' => (3, 4),
            '^' => (6, 5),
            _ => return None,
        })
    }
    fn expr(&mut self, min: u8) -> Result<Expr, Error> {
        let mut left = match self.tokens.pop_front().ok_or(Error::End)? {
            Token::Number(n) => Expr::Number(n),
            Token::Op('-') => Expr::Unary('-', Box::new(self.expr(7)?)),
            Token::Open => {
                let e = self.expr(0)?;
                match self.tokens.pop_front() {
                    Some(Token::Close) => e,
                    Some(t) => return Err(Error::Unexpected(t)),
                    None => return Err(Error::End),
                }
            }
            Token::Name(name) => {
                let id = self.names.get(&name);
                if self.tokens.front() == Some(&Token::Open) {
                    self.tokens.pop_front();
                    let mut args = Vec::new();
                    loop {
                        if self.tokens.front() == Some(&Token::Close) {
                            self.tokens.pop_front();
                            break;
                        }
                        args.push(self.expr(0)?);
                        if self.tokens.front() == Some(&Token::Comma) {
                            self.tokens.pop_front();
                        }
                    }
                    Expr::Call(id, args)
                } else {
                    Expr::Var(id)
                }
            }
            t => return Err(Error::Unexpected(t)),
        };
        while let Some(Token::Op(op)) = self.tokens.front() {
            let op = *op;
            let Some((l, r)) = Self::power(op) else { break };
            if l < min {
                break;
            }
            self.tokens.pop_front();
            let right = self.expr(r)?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }
}

type Builtin = Box<dyn Fn(&[f64]) -> f64>;

struct Machine {
    vars: BTreeMap<Rc<str>, f64>,
    functions: HashMap<&'static str, (usize, Builtin)>,
    used: HashSet<Rc<str>>,
    names: Interner,
}

impl Machine {
    fn new() -> Self {
        let mut functions: HashMap<&'static str, (usize, Builtin)> = HashMap::new();
        functions.insert("sin", (1, Box::new(|a| a[0].sin())));
        functions.insert("sqrt", (1, Box::new(|a| a[0].sqrt())));
        functions.insert("max", (2, Box::new(|a| a[0].max(a[1]))));
        functions.insert(
            "hyp",
            (2, Box::new(|a| a.iter().map(|x| x * x).sum::<f64>().sqrt())),
        );
        let mut names = Interner::default();
        let vars = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)]
            .into_iter()
            .map(|(n, v)| (names.get(n), v))
            .collect();
        Self {
            vars,
            functions,
            used: HashSet::new(),
            names,
        }
    }
    fn eval(&mut self, e: &Expr) -> Result<f64, Error> {
        Ok(match e {
            Expr::Number(n) => *n,
            Expr::Var(v) => {
                self.used.insert(v.clone());
                *self
                    .vars
                    .get(v)
                    .ok_or_else(|| Error::Unknown(v.to_string()))?
            }
            Expr::Unary(_, e) => -self.eval(e)?,
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' if b == 0.0 => return Err(Error::DivisionByZero),
                    '/' => a / b,
                    '%' => a.rem_euclid(b),
                    _ => a.powf(b),
                }
            }
            Expr::Call(name, args) => {
                let values = args
                    .iter()
                    .map(|a| self.eval(a))
                    .collect::<Result<Vec<_>, _>>()?;
                let (want, f) = self
                    .functions
                    .get(&**name)
                    .ok_or_else(|| Error::Unknown(name.to_string()))?;
                if *want != values.len() {
                    return Err(Error::Arity {
                        name: name.to_string(),
                        want: *want,
                        got: values.len(),
                    });
                }
                f(&values)
            }
        })
    }
    fn line(&mut self, text: &str, out: &mut dyn Write) -> Result<(), Error> {
        let mut tokens = lex(text)?;
        let mut target = None;
        if let (Some(Token::Name(n)), Some(Token::Assign)) = (tokens.front(), tokens.get(1)) {
            target = Some(self.names.get(n));
            tokens.drain(..2);
        }
        let mut parser = Parser {
            tokens,
            names: &mut self.names,
        };
        let e = parser.expr(0)?;
        if let Some(t) = parser.tokens.pop_front() {
            return Err(Error::Unexpected(t));
        }
        let value = self.eval(&e)?;
        if let Some(name) = target {
            self.vars.insert(name, value);
        }
        writeln!(out, "{e} = {value:.6}")?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut machine = Machine::new();
    let stdin = io::stdin();
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, line) in stdin.lock().lines().enumerate() {
        if let Err(e) = machine.line(&line?, &mut out) {
            writeln!(out, "line {}: {e}", number + 1)?;
        }
    }
    let mut unused: Vec<_> = machine
        .vars
        .keys()
        .filter(|k| !machine.used.contains(*k))
        .collect();
    unused.sort_by_key(|k| std::cmp::Reverse(k.len()));
    for name in unused {
        writeln!(out, "unused {name}")?;
    }
    Ok(out.flush()?)
}
