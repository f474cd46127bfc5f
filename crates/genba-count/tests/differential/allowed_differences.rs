//! Differences between engines that are explained, with their reasons: `allowed.txt`.

/// An explained difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowed {
    program: String,
    module: String,
    function: String,
    /// Maximum difference, as a share of the module's instructions.
    pub limit: Option<f64>,
    /// Why the engines differ.
    pub reason: String,
}

/// Matches a pattern: `*` at its beginning or end matches anything.
fn fits(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => text.contains(rest.trim_end_matches('*')),
        (Some(end), None) => text.ends_with(end),
        (None, Some(beginning)) => text.starts_with(beginning),
        (None, None) => pattern == text,
    }
}

impl Allowed {
    /// Whether it explains a difference in a function.
    pub fn covers(&self, program: &str, module: &str, function: &str) -> bool {
        fits(&self.program, program)
            && fits(&self.module, module.rsplit('/').next().unwrap_or(module))
            && fits(&self.function, function)
    }
}

/// Returns the entry that explains a difference; entries for the program come before general ones.
pub fn explanation(list: &[Allowed], program: &str, module: &str, function: &str) -> Option<usize> {
    let covers = |entry: &Allowed| entry.covers(program, module, function);
    let own = (list.iter()).position(|entry| entry.program != "*" && covers(entry));
    own.or_else(|| list.iter().position(covers))
}

/// Parses the list: program, module, function, limit in percent or `-`, reason.
pub fn parse(text: &str) -> Result<Vec<Allowed>, String> {
    let mut list = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}", index + 1);
        let mut rest = line;
        let mut word = || {
            let trimmed = rest.trim_start();
            let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
            let (word, tail) = trimmed.split_at(end);
            rest = tail;
            word.to_owned()
        };
        let (program, module, function, limit) = (word(), word(), word(), word());
        let reason = rest.trim().to_owned();
        if reason.split_whitespace().count() < 3 {
            return Err(wrong("a reason is wanted"));
        }
        let limit = match limit.strip_suffix('%') {
            Some(percent) => {
                let percent: f64 = percent
                    .parse()
                    .map_err(|_| wrong("limit is not a number"))?;
                Some(percent / 100.0)
            }
            None if limit == "-" => None,
            None => return Err(wrong("limit is neither a percentage nor -")),
        };
        if (function == "*" || (module.ends_with('*') && function.ends_with('*')))
            && limit.is_none()
        {
            return Err(wrong("a whole module needs a limit"));
        }
        list.push(Allowed {
            program,
            module,
            function,
            limit,
            reason,
        });
    }
    Ok(list)
}

#[test]
fn entries_without_reason_and_wildcards_without_limit_are_refused() {
    assert!(parse("* libc.so.6 getenv - the environment's order\n").is_ok_and(|l| l.len() == 1));
    assert!(parse("* libc.so.6 getenv -\n").is_err());
    assert!(parse("* libc.so.6 * - many good reasons for it\n").is_err());
    let list = parse("perl * S_hv* 0.5% hashes by address here\n").expect("good");
    assert!(list[0].covers("perl", "/usr/bin/perl", "S_hv_x"));
    assert!(!list[0].covers("perl5", "/usr/bin/perl", "S_hv_x"));
    assert!(!list[0].covers("perl", "/usr/bin/perl", "hv"));
    assert_eq!(list[0].limit, Some(0.005));
}
