//! An interpreter of formulas: names of variables are looked up in the scopes from inner to outer.
use std::collections::BTreeMap;

enum Expr {
    Number(f64),
    Name(String),
    Sum(Box<Expr>, Box<Expr>),
    Product(Box<Expr>, Box<Expr>),
}

struct Scope {
    slots: BTreeMap<String, usize>,
}

struct Interpreter {
    /// From outer to inner.
    scopes: Vec<Scope>,
    values: Vec<f64>,
}

impl Interpreter {
    fn declare(&mut self, name: &str, value: f64) {
        let slot = self.values.len();
        self.values.push(value);
        let scope = self.scopes.last_mut().expect("a scope is open");
        scope.slots.insert(name.to_string(), slot);
    }

    fn resolve(&self, name: &str) -> Option<usize> {
        self.scopes.iter().rev().find_map(|scope| scope.slots.get(name).copied())
    }

    fn evaluate(&self, expr: &Expr) -> f64 {
        match expr {
            Expr::Number(value) => *value,
            Expr::Name(name) => self.resolve(name).map_or(0.0, |slot| self.values[slot]),
            Expr::Sum(a, b) => self.evaluate(a) + self.evaluate(b),
            Expr::Product(a, b) => self.evaluate(a) * self.evaluate(b),
        }
    }
}

fn name(text: &str) -> Box<Expr> {
    Box::new(Expr::Name(text.to_string()))
}

/// (rate * hours + bonus) * factor + base * 0.25
fn formula() -> Expr {
    let pay = Expr::Sum(Box::new(Expr::Product(name("rate"), name("hours"))), name("bonus"));
    let part = Expr::Product(name("base"), Box::new(Expr::Number(0.25)));
    Expr::Sum(Box::new(Expr::Product(Box::new(pay), name("factor"))), Box::new(part))
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let mut interpreter = Interpreter { scopes: Vec::new(), values: Vec::new() };
    for names in [&["base", "factor", "limit", "total"][..], &["bonus", "rate", "tax"], &["hours", "day", "week"]] {
        interpreter.scopes.push(Scope { slots: BTreeMap::new() });
        for (i, name) in names.iter().enumerate() {
            interpreter.declare(name, 1.0 + i as f64 * 0.125);
        }
    }
    let formula = formula();
    let hours = interpreter.resolve("hours").expect("hours was declared");
    let mut total = 0.0;
    for round in 0..args.next().unwrap_or(1000) {
        interpreter.values[hours] = (round % 160) as f64;
        total += interpreter.evaluate(&formula);
    }
    println!("{total:.3}");
}
