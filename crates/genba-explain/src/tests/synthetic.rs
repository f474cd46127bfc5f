//! Frames of functions assembled by hand, with synthetic counts and time: for tests of causes.

use genba_code::{ControlFlow, Disassembler, Syntax, data_flow};
use genba_model::{Estimate, Fact, HostFingerprint, HostTable, HostTableEntry};
use iced_x86::code_asm::CodeAssembler;

use crate::candidate::Candidate;
use crate::input::analysis_input::{
    AnalysisInput, CallSite, CallTarget, CostTable, FunctionInput, Place,
};
use crate::input::values::Values;
use genba_loop_model::{LoopInputs, loops};

/// Cycles that all the time stands for.
pub(crate) const ALL: f64 = 1e9;

/// A function of which these parts of the time stand at the instructions, in order.
pub(crate) fn function(
    name: &str,
    write: impl FnOnce(&mut CodeAssembler) -> Result<(), iced_x86::IcedError>,
    counts: &[u64],
    heat: &[f64],
    taken: &[(usize, u64)],
) -> FunctionInput {
    let mut assembler = CodeAssembler::new(64).expect("64 bits");
    write(&mut assembler).expect("instructions");
    let bytes = assembler.assemble(0x1000).expect("bytes");
    of_bytes(name, &bytes, counts, heat, taken)
}

/// The same of machine code.
pub(crate) fn of_bytes(
    name: &str,
    bytes: &[u8],
    counts: &[u64],
    heat: &[f64],
    taken: &[(usize, u64)],
) -> FunctionInput {
    let code = Disassembler::x86_64(Syntax::Intel).disassemble(bytes, 0x1000, &|_| None);
    let data = data_flow(object::Architecture::X86_64, bytes, 0x1000).expect("x86-64");
    assert_eq!(code.len(), counts.len(), "a count for each instruction");
    assert_eq!(code.len(), heat.len(), "heat for each instruction");
    let flow = ControlFlow::build(&code);
    let mut jumps: Vec<Option<u64>> = vec![None; code.len()];
    for &(at, times) in taken {
        jumps[at] = Some(times);
    }
    let taken = jumps;
    let cycles = counts
        .iter()
        .zip(heat)
        .map(|(&count, heat)| (count > 0).then(|| Estimate::exact(heat * ALL / count as f64)));
    let known: Vec<Option<u64>> = counts.iter().copied().map(Some).collect();
    let samples: Vec<f64> = heat.iter().map(|heat| heat * 10_000.0).collect();
    let table = costs();
    let found = loops(&LoopInputs {
        flow: &flow,
        instructions: &code,
        data_flow: &data,
        counts: &known,
        taken: &|at| taken[at],
        samples: &samples,
        weight: heat,
        cycles: &|weight| Some(Estimate::exact(weight * ALL)),
        costs: &table,
    });
    let place = |line| Place {
        function: Some(name.to_owned()),
        file: Some("/src/main.c".to_owned()),
        line: Some(line),
        inlined: false,
        within: None,
    };
    FunctionInput {
        function: name.to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1000,
        share: Estimate::exact(heat.iter().sum()),
        calls: Some(counts[0]),
        values: Values::of(&flow, &data),
        places: (1..=code.len() as u32).map(place).collect(),
        of_library: vec![false; code.len()],
        cycles: cycles.collect(),
        heat: heat.to_vec(),
        samples,
        counts: counts.to_vec(),
        taken,
        loops: found,
        call_sites: Vec::new(),
        callers: Vec::new(),
        user_callers: Vec::new(),
        callers_behind_wrappers: Vec::new(),
        unit: Some("/src/main.c".to_owned()),
        producer: Some("GNU C17 12.2.0 -O2 -g".to_owned()),
        own: true,
        counted: true,
        data,
        flow,
        code,
    }
}

/// A loop of so many cycles per iteration that has all the time, behind so many bytes of padding.
pub(crate) fn looped(
    cycles: f64,
    padding: usize,
    heat: &[f64],
    body: impl FnOnce(&mut CodeAssembler) -> Result<(), iced_x86::IcedError>,
) -> FunctionInput {
    let (times, entries) = ((ALL / cycles) as u64, 100);
    let mut counts = vec![entries; padding];
    counts.extend(vec![times; heat.len()]);
    counts.push(entries);
    let mut all = vec![0.0; padding];
    all.extend(heat);
    all.push(0.0);
    function(
        "work",
        |a| {
            let mut head = a.create_label();
            for _ in 0..padding {
                a.nop()?;
            }
            a.set_label(&mut head)?;
            body(a)?;
            a.jne(head)?;
            a.ret()
        },
        &counts,
        &all,
        &[(padding + heat.len() - 1, times - entries)],
    )
}

/// A program of these functions, one thread.
pub(crate) fn program(functions: Vec<FunctionInput>) -> AnalysisInput {
    let mut input = AnalysisInput {
        functions,
        ..AnalysisInput::default()
    };
    input.program.threads = 1;
    input.program.costs = costs();
    input
}

/// A call from an instruction.
pub(crate) fn call(at: usize, name: &str, count: u64, instructions: f64) -> CallSite {
    CallSite {
        at,
        indirect: false,
        plt: false,
        targets: vec![CallTarget {
            function: name.to_owned(),
            module: "/bin/prog".to_owned(),
            count,
            unit: None,
            size: instructions as u32,
            instructions_per_call: instructions,
            calls_others: false,
        }],
    }
}

fn costs() -> CostTable {
    let entry = |form: &str, latency: f64, throughput: f64| HostTableEntry {
        form: form.to_owned(),
        latency_cycles: Some(Estimate::exact(latency)),
        reciprocal_throughput_cycles: Some(Estimate::exact(throughput)),
        ..HostTableEntry::default()
    };
    CostTable {
        table: Some(HostTable {
            host: host(),
            measured: String::new(),
            frequency_hz: 3e9,
            frequency_range_hz: (3e9, 3e9),
            seconds: 1.0,
            entries: vec![
                entry("add r64, r64", 1.0, 0.2),
                entry("cmp r64, r64", 1.0, 0.2),
                entry("mov r64, m64", 4.0, 0.3),
                entry("mov m64, r64", 1.0, 0.5),
                entry("mov r32, m32", 4.0, 0.3),
                entry("mov m32, r32", 1.0, 0.5),
                entry("movzx r32, m8", 4.0, 0.3),
                entry("movsd xmm, m64", 5.0, 0.5),
                entry("movsd m64, xmm", 1.0, 0.5),
                entry("addsd xmm, xmm", 3.0, 0.5),
                entry("mulsd xmm, xmm", 4.0, 0.5),
                entry("imul r64, r64", 3.0, 1.0),
                entry("div r64", 18.0, 10.0),
                entry("nop", 0.0, 0.2),
                entry("load [L1]", 4.0, 0.3),
                entry("jcc [taken]", 1.0, 0.5),
                entry("jcc [mispredicted]", 20.0, 20.0),
                entry("call + ret", 4.0, 4.0),
                entry("call [PLT] + ret", 5.0, 5.0),
                entry("call [indirect] + ret", 4.0, 4.0),
                entry("lock add m64, r64", 20.0, 20.0),
            ],
            notes: Vec::new(),
        }),
    }
}

fn host() -> HostFingerprint {
    HostFingerprint {
        id: "0".to_owned(),
        cpu: "synthetic".to_owned(),
        microarchitecture: "synthetic".to_owned(),
        cpus: 1,
        memory_bytes: 1 << 30,
        kernel: String::new(),
        os: String::new(),
        virtualisation: None,
        hardware_counters: false,
    }
}

/// Whether any of these candidates rests on such a fact.
pub(crate) fn has_fact(found: &[Candidate], is: impl Fn(&Fact) -> bool) -> bool {
    found.iter().flat_map(|one| &one.facts).any(is)
}
