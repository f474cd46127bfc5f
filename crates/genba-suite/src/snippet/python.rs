//! Runner of Python snippets.
//!
//! The prelude, the loops and the teardown make one function, as with `timeit`, so that the
//! prelude's variables are fast locals. They are put together as syntax trees rather than as
//! text: indenting text would change string literals that span lines, and lose line numbers.

use super::generated_script::{Generated, SourceMap};
use super::{Mode, Part, Snippet, SnippetRunner, rounds};

/// Makes Python scripts.
#[derive(Clone, Copy, Debug)]
pub struct Python;

/// Lines that a piece of code may have; pieces begin at multiples of it, far beyond our own.
const STRIDE: u64 = 1_000_000;

const ASSEMBLE: &str = r#"
import ast as _ast, itertools as _itertools, os as _os, resource as _resource
import sys as _sys, time as _time

def _genba_cpu():
    return _resource.getrusage(_resource.RUSAGE_SELF)

def _genba_report(lines):
    fd = _os.environ.get("GENBA_METRICS_FD")
    _os.write(int(fd) if fd else 2, lines.encode())

def _genba_assemble():
    top, inside = [], {}
    for hole, label, offset, text in _genba_parts:
        try:
            body = _ast.parse(text, filename=label).body
        except SyntaxError as error:
            _sys.exit("%s, line %s: %s" % (label, error.lineno, error.msg))
        for node in body:
            _ast.increment_lineno(node, offset)
            # Neither is allowed in a function.
            star = isinstance(node, _ast.ImportFrom) and (
                node.module == "__future__" or node.names[0].name == "*")
            if star:
                top.append(node)
            else:
                inside.setdefault(hole, []).append(node)

    class Fill(_ast.NodeTransformer):
        def visit_Expr(self, node):
            if isinstance(node.value, _ast.Name) and node.value.id in _genba_holes:
                return inside.get(node.value.id) or _ast.copy_location(_ast.Pass(), node)
            return node

    tree = Fill().visit(_ast.parse(_genba_template, filename="genba"))
    top.sort(key=lambda node: node.module != "__future__")
    tree.body[:0] = top
    scope = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(_ast.fix_missing_locations(tree), __file__, "exec", dont_inherit=True), scope)
    return scope["_genba_run"]

_genba_holes = ("_genba_PRELUDE", "_genba_SCRIPT", "_genba_TEARDOWN")
_genba_result = _genba_assemble()(_time.perf_counter_ns, _genba_cpu, _itertools.repeat)
if _genba_result is None:
    _sys.exit("genba: the script left its function (a return?)")
"#;

const ROUND: &str = "
        _genba_cpu0 = _genba_times()
        _genba_t0 = _genba_clock()
        for _genba_i in _genba_repeat(None, _genba_n):
            pass
        _genba_t1 = _genba_clock()
        _genba_cpu1 = _genba_times()
        _genba_t2 = _genba_clock()
        for _genba_i in _genba_repeat(None, _genba_n):
            _genba_SCRIPT
        else:
            _genba_whole = True
        _genba_t3 = _genba_clock()
        _genba_cpu2 = _genba_times()
        if not _genba_whole:
            raise SystemExit('genba: the script left the loop (a break?)')
        _genba_whole = False
";

const CALIBRATE_HEAD: &str = "
def _genba_run(_genba_clock, _genba_times, _genba_repeat):
    _genba_PRELUDE
    _genba_n = 1
    _genba_whole = False
    while True:
";

const CALIBRATE_TAIL: &str = "
        _genba_s = (_genba_t3 - _genba_t2) / 1e9
        if _genba_s >= _genba_goal / 4 or _genba_n >= 1000000000000:
            break
        _genba_n = int(_genba_n * min(100, max(2, _genba_goal / 2 / max(_genba_s, 1e-9))))
    _genba_TEARDOWN
    _genba_empty = (_genba_t1 - _genba_t0) / 1e9 / _genba_n
    return (max(1, min(1000000000000, int(_genba_n * _genba_goal / max(_genba_s, 1e-9)))),
            _genba_s / _genba_n - _genba_empty, _genba_empty)
";

const CALIBRATE_REPORT: &str = r#"
_genba_report("iterations %d count\nper_iteration %r seconds\nempty_loop %r seconds\n"
              % _genba_result)
"#;

const MEASURE_HEAD: &str = "
def _genba_run(_genba_clock, _genba_times, _genba_repeat):
    _genba_PRELUDE
    _genba_empty = _genba_net = 0
    _genba_user = _genba_system = 0.0
    _genba_whole = False
    for _genba_round, _genba_n in enumerate(_genba_counts):
";

const MEASURE_TAIL: &str = "
        if _genba_round >= _genba_first:
            _genba_empty += _genba_t1 - _genba_t0
            _genba_net += (_genba_t3 - _genba_t2) - (_genba_t1 - _genba_t0)
            _genba_user += _genba_cpu2[0] - 2 * _genba_cpu1[0] + _genba_cpu0[0]
            _genba_system += _genba_cpu2[1] - 2 * _genba_cpu1[1] + _genba_cpu0[1]
    _genba_TEARDOWN
    return _genba_empty, _genba_net, _genba_user, _genba_system
";

const MEASURE_REPORT: &str = r#"
_genba_empty, _genba_net, _genba_user, _genba_system = _genba_result
_genba_lines = "per_iteration %r seconds\n" % (_genba_net / 1e9 / _genba_total)
_genba_lines += "per_iteration_user %r seconds\n" % (_genba_user / _genba_total)
_genba_lines += "per_iteration_system %r seconds\n" % (_genba_system / _genba_total)
_genba_gross = (_genba_net + _genba_empty) / 1e9 / _genba_total
_genba_lines += "with_loop %r seconds\n" % _genba_gross
_genba_lines += "empty_loop %r seconds\n" % (_genba_empty / 1e9 / _genba_total)
if _genba_net > 0:
    _genba_lines += "iterations_per_second %r iterations/s\n" % (_genba_total * 1e9 / _genba_net)
_genba_report(_genba_lines)
"#;

/// A string literal of Python: printable ASCII stands for itself, all else is escaped, so that
/// nothing in it can end the literal or the line.
fn literal(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => result.extend(['\\', character]),
            '\n' => result.push_str("\\n"),
            ' '..='~' => result.push(character),
            other => result.push_str(&format!("\\U{:08x}", u32::from(other))),
        }
    }
    result.push('"');
    result
}

impl SnippetRunner for Python {
    fn language(&self) -> &'static str {
        "Python"
    }

    fn default_interpreter(&self) -> &'static str {
        "python3"
    }

    fn extension(&self) -> &'static str {
        "py"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[
            "-c",
            "import platform; print(platform.python_version(), end='')",
        ]
    }

    fn generate(&self, snippet: &Snippet, mode: Mode) -> Result<Generated, String> {
        let mut map = SourceMap::default();
        let mut parts = String::from("_genba_parts = [\n");
        let preludes = snippet.preludes.iter().map(|part| ("_genba_PRELUDE", part));
        let teardowns = (snippet.teardowns.iter()).map(|part| ("_genba_TEARDOWN", part));
        let all = preludes.chain([("_genba_SCRIPT", &snippet.script)]);
        let mut offset = STRIDE;
        for (hole, part) in all.chain(teardowns) {
            let Part { label, text } = part;
            let lines = text.matches('\n').count() as u64 + 1;
            if lines >= STRIDE {
                return Err(format!("{label} has more than {STRIDE} lines"));
            }
            map.add(offset + 1, lines, label);
            let (label, text) = (literal(label), literal(text));
            parts.push_str(&format!("  (\"{hole}\", {label}, {offset}, {text}),\n"));
            offset += STRIDE;
        }
        parts.push_str("]\n");
        let (head, tail, report) = match mode {
            Mode::Calibrate { seconds } => (
                CALIBRATE_HEAD.to_owned(),
                CALIBRATE_TAIL.replace("_genba_goal", &format!("{seconds:?}")),
                CALIBRATE_REPORT.to_owned(),
            ),
            Mode::Measure {
                loop_count,
                warm_up,
            } => {
                let (first, counts) = rounds(loop_count, warm_up);
                let counts: Vec<_> = counts.iter().map(u64::to_string).collect();
                let counts = format!("({},)", counts.join(", "));
                (
                    MEASURE_HEAD.replace("_genba_counts", &counts),
                    MEASURE_TAIL.replace("_genba_first", &first.to_string()),
                    format!("_genba_total = {loop_count}\n{MEASURE_REPORT}"),
                )
            }
        };
        let template = literal(&format!("{head}{ROUND}{tail}"));
        let text = format!("{parts}_genba_template = {template}\n{ASSEMBLE}{report}");
        Ok(Generated { text, map })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn literals_escape_quotes_and_non_ascii() {
        assert_eq!(literal("a\"\\\n\u{e9}"), r#""a\"\\\n\U000000e9""#);
    }

    proptest! {
        #[test]
        fn literals_never_end_early(text in "(.|\n|\"|\\\\){0,100}") {
            let literal = literal(&text);
            prop_assert!(literal.is_ascii() && !literal.contains('\n'));
            let inner = &literal[1..literal.len() - 1];
            let mut escaped = false;
            for character in inner.chars() {
                prop_assert!(escaped || character != '"');
                escaped = !escaped && character == '\\';
            }
            prop_assert!(!escaped);
        }
    }
}
