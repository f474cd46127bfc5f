//! Chains of loops as the C compiler at hand writes them, with a fixed table of costs: what is
//! checked is code and model, no time.

use std::path::Path;

use genba_code::{ControlFlow, Flow, Syntax, data_flow_of, disassemble};
use genba_loop_model::{Costs, LoopAnalysis, LoopInputs, chain_mnemonics, loops};
use genba_model::Estimate;
use genba_symbols::Binary;

const SOURCE: &str = r"
typedef unsigned long u64;
u64 digits(u64 n, u64 b) { u64 s = 0; while (n) { s += n % b; n /= b; } return s; }
u64 chase(u64 n, u64 p) { u64 *at = (u64 *)p; for (; n; n--) at = *(u64 **)at; return (u64)at; }
u64 lcg(u64 n, u64 x) { for (; n; n--) x = x * 6364136223846793005ul + 1442695040888963407ul; return x; }
u64 fnv(u64 n, u64 p) { unsigned char *c = (unsigned char *)p; unsigned h = 5;
  for (; n; n--) h = (h ^ *c++) * 16777619u; return h; }
u64 shifts(u64 n, u64 x) { for (; n; n--) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } return x; }
double sum(u64 n, u64 p) { double *d = (double *)p, s = 0; for (u64 i = 0; i < n; i++) s += d[i]; return s; }
";

/// A synthetic processor: multiplication 3, division 20, loads 5, additions of doubles 4,
/// memory that is renamed when addressed alike 0, copies 0, all else 1.
struct Table;

impl Costs for Table {
    fn latency(&self, form: &str) -> Option<Estimate> {
        let name = form.split(' ').next()?;
        let loads = form.contains(", m") && name != "lea";
        Some(Estimate::exact(match name {
            "div" => 20.0,
            "imul" | "mul" => 3.0,
            "addsd" | "vaddsd" => 4.0,
            "store" if form.contains("same") => 0.0,
            "store" => 6.0,
            _ if loads => 5.0,
            "mov" if !form.contains(", i") => 0.0,
            _ => 1.0,
        }))
    }

    fn throughput(&self, _: &str) -> Option<Estimate> {
        Some(Estimate::exact(0.2))
    }
}

/// The loops, compiled; `None`, and the test skipped, where there is no gcc for x86-64.
fn compile(test: &str, directory: &Path, level: &str) -> Option<Binary> {
    if !cfg!(target_arch = "x86_64") {
        genba_testing::skip(test, genba_testing::MACHINE, "this is not x86-64");
        return None;
    }
    let (source, library) = (directory.join("loops.c"), directory.join("loops.so"));
    std::fs::write(&source, SOURCE).expect("a source file");
    let fixed = [
        "-shared",
        "-fPIC",
        "-fno-tree-vectorize",
        "-fno-unroll-loops",
    ];
    genba_testing::compile(test, "gcc", &source, &library, &fixed, &[level])
        .then(|| Binary::open(&library).expect("a library"))
}

/// The model of the only loop of a function, entered ten times for a million iterations.
fn model(binary: &Binary, name: &str) -> (LoopAnalysis, String) {
    let symbol = &binary.find(name)[0];
    let range = binary.function_range_at(symbol.address).expect("sized");
    let code = disassemble(binary, range.start, range.end, Syntax::Intel).expect("x86-64");
    let data_flow = data_flow_of(binary, range.start, range.end).expect("x86-64");
    let flow = ControlFlow::build(&code);
    assert_eq!(flow.loops().len(), 1, "{name}");
    let inside = |index: usize| flow.loop_of_instruction(index).is_some();
    let counts: Vec<Option<u64>> = (0..code.len())
        .map(|index| Some(if inside(index) { 1_000_000 } else { 10 }))
        .collect();
    let taken = |index: usize| {
        let Flow::CondJump(target) = code[index].flow else {
            return None;
        };
        let to = code.iter().position(|i| i.address == target)?;
        Some(match (inside(to), inside(index + 1)) {
            (true, false) => 999_990,
            (true, true) => 0,
            (false, _) => 10,
        })
    };
    let nothing = vec![0.0; code.len()];
    let costs = loops(&LoopInputs {
        flow: &flow,
        instructions: &code,
        data_flow: &data_flow,
        counts: &counts,
        taken: &taken,
        samples: &nothing,
        weight: &nothing,
        cycles: &|_| None,
        costs: &Table,
    });
    let cost = costs[0].clone().expect("executed");
    let chain = chain_mnemonics(&cost.chain, &code).join(" → ");
    (cost, chain)
}

#[test]
fn chains_of_gcc_o2_code_are_the_expected_ones() {
    let test = "chains_of_gcc_o2_code_are_the_expected_ones";
    let directory = tempfile::tempdir().expect("temporary directory");
    let Some(binary) = compile(test, directory.path(), "-O2") else {
        return;
    };
    let expected = [
        ("digits", 20.0, "div"),
        ("chase", 5.0, "load"),
        ("lcg", 4.0, "imul → add"),
        ("fnv", 4.0, "xor → imul"),
        ("shifts", 6.0, "shl → xor → shr → xor → shl → xor"),
        ("sum", 4.0, "addsd"),
    ];
    for (name, cycles, chain) in expected {
        let (cost, text) = model(&binary, name);
        let found = cost.chain_cycles.expect(name).value;
        assert!(
            (found - cycles).abs() < 0.01,
            "{name}: {found} ({text}), not {cycles}"
        );
        assert_eq!(text, chain, "{name}");
        assert_eq!(cost.entries, Some(10), "{name}");
    }
}

/// Without optimisation every variable is in the frame: chains run through memory. On a
/// processor that renames it they are those of registers.
#[test]
fn chains_of_gcc_o0_code_go_through_the_stack() {
    let test = "chains_of_gcc_o0_code_go_through_the_stack";
    let directory = tempfile::tempdir().expect("temporary directory");
    let Some(binary) = compile(test, directory.path(), "-O0") else {
        return;
    };
    for (name, cycles) in [("lcg", 4.0), ("shifts", 6.0), ("chase", 5.0)] {
        let (cost, text) = model(&binary, name);
        let found = cost.chain_cycles.expect(name).value;
        assert!(
            (found - cycles).abs() < 0.01,
            "{name}: {found} ({text}), not {cycles}"
        );
    }
}
