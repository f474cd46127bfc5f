//! Synthetic counts, realistic and hostile.

use genba_model::{
    CountEngine, Counted, CountedCall, CountedDetail, CountedFunction, Counts, DetailCall,
    DetailFunction, DetailModule, DetailSite, Estimate, Investigation, LoopBound, LoopCost, Per,
};

use super::ATTACKS;

fn function(
    name: &str,
    file: &str,
    line: u32,
    calls: u64,
    own: u64,
    total: f64,
) -> CountedFunction {
    CountedFunction {
        function: name.into(),
        module: if file.is_empty() {
            "/usr/lib/x86_64-linux-gnu/libc.so.6".into()
        } else {
            "/home/a/tc/tcbtest".into()
        },
        address: 0x1000 + u64::from(line),
        file: (!file.is_empty()).then(|| format!("/home/a/tc/{file}")),
        line: (!file.is_empty()).then_some(line),
        calls,
        instructions: own,
        total_instructions: Some(total),
        cycle: None,
        calls_per: None,
        instructions_per: None,
    }
}

/// Synthetic counts of Tokyo Cabinet's B-tree.
pub fn counts() -> Counts {
    let functions = vec![
        function(
            "tccmplexical",
            "tcutil.c",
            2211,
            43_012_345,
            860_246_900,
            1_290_370_350.0,
        ),
        function(
            "tcbdbsearchleaf",
            "tcbdb.c",
            2490,
            1_000_000,
            702_000_000,
            1_902_000_000.0,
        ),
        function(
            "__memcmp_evex_movbe",
            "",
            0,
            43_012_345,
            430_123_450,
            430_123_450.0,
        ),
        function(
            "tcbdbputimpl",
            "tcbdb.c",
            3011,
            1_000_000,
            120_000_000,
            2_100_000_000.0,
        ),
        function(
            "tcbdbleafdivide",
            "tcbdb.c",
            2780,
            7_874,
            4_200_000,
            61_000_000.0,
        ),
        function(
            "procwrite",
            "tcbtest.c",
            640,
            1,
            52_000_003,
            2_164_570_353.0,
        ),
        function("main", "tcbtest.c", 99, 1, 412, 2_164_571_000.0),
        CountedFunction {
            function: "[unknown]".into(),
            module: "/lib64/ld-linux-x86-64.so.2".into(),
            calls: 0,
            total_instructions: None,
            ..function("", "", 0, 0, 90_112, 0.0)
        },
    ];
    let mut functions = functions;
    for at in [3, 4] {
        functions[at].cycle = Some(2);
    }
    let instructions = functions.iter().map(|f| f.instructions).sum();
    let call = |caller: u32, callee: u32, calls: u64| {
        let to = &functions[callee as usize];
        let part = calls as f64 / to.calls as f64;
        CountedCall {
            caller,
            callee,
            calls,
            total_instructions: if caller == callee {
                0.0
            } else {
                to.total_instructions.unwrap_or(0.0) * part
            },
        }
    };
    let calls = vec![
        call(0, 2, 43_012_345),
        call(1, 0, 43_000_000),
        call(3, 1, 1_000_000),
        call(5, 3, 1_000_000),
        call(4, 0, 12_345),
        call(3, 4, 7_870),
        call(4, 4, 4),
        call(6, 5, 1),
    ];
    Counts {
        engine: "callgrind".into(),
        engine_version: "3.19.0".into(),
        gaps: vec!["has no AVX-512, so that libraries take other code than without it".into()],
        slowdown: Some(21.8),
        command: vec![
            "tcbtest".into(),
            "write".into(),
            "x.tcb".into(),
            "1000000".into(),
        ],
        exit: 0,
        cut_short: None,
        processes: 1,
        instructions,
        unnamed_instructions: 90_112,
        per: None,
        functions,
        calls,
        observation: None,
        notes: vec![],
    }
}

/// The same counts per record, of a run that ended early.
pub fn per_record() -> Counts {
    let mut all = counts();
    let units = 1e6;
    all.per = Some(Per {
        function: Some("tcbdbputimpl".into()),
        units,
    });
    for f in &mut all.functions {
        f.calls_per = Some(f.calls as f64 / units);
        f.instructions_per = Some(f.instructions as f64 / units);
    }
    all.cut_short = Some("killed by SIGKILL after 30 s".into());
    all.exit = 137;
    all.processes = 2;
    all.notes = vec!["1 process was not followed: setuid".into()];
    all
}

/// Counts in which every name is an attack, one of a megabyte, and indices are out of range.
pub fn hostile() -> Counts {
    let mut all = per_record();
    let attack = |i: usize| ATTACKS[i % ATTACKS.len()].to_owned();
    let huge = "<b>A".repeat(250_000);
    all.engine = attack(1);
    all.engine_version = attack(0);
    all.gaps = vec![attack(1), huge.clone(), attack(4)];
    all.command = vec![attack(0), attack(1), huge.clone()];
    all.cut_short = Some(attack(1));
    all.notes = ATTACKS.iter().map(|a| (*a).to_owned()).collect();
    all.slowdown = Some(f64::INFINITY);
    all.per = Some(Per {
        function: Some(attack(1)),
        units: f64::NAN,
    });
    for (i, f) in all.functions.iter_mut().enumerate() {
        f.function = if i == 0 { huge.clone() } else { attack(i) };
        f.module = attack(i + 1);
        f.file = Some(attack(i + 2));
        f.calls = u64::MAX;
        f.instructions = u64::MAX - i as u64;
        f.total_instructions = Some(f64::NAN);
        f.calls_per = Some(f64::INFINITY);
        f.instructions_per = Some(1e300);
    }
    for (caller, callee) in [(u32::MAX, 0), (0, u32::MAX), (0, 0), (1, 0), (0, 1)] {
        all.calls.push(CountedCall {
            caller,
            callee,
            calls: u64::MAX,
            total_instructions: f64::INFINITY,
        });
    }
    all
}

fn around(value: f64, relative: f64) -> Estimate {
    Estimate {
        value,
        low: value * (1.0 - relative),
        high: value * (1.0 + relative),
    }
}

fn source() -> Counted {
    Counted {
        engine: CountEngine {
            name: "callgrind".into(),
            version: "3.19.0".into(),
            gaps: counts().gaps,
        },
        slowdown: Some(21.8),
        command: vec!["./tostr".into(), "300".into()],
        scale: 1.0,
        cut_short: None,
        runs: 11.0,
        clock_hz: Some(around(3.92e9, 0.01)),
        clock_source: "host table".into(),
    }
}

/// The synthetic investigation joined with counts.
pub fn investigation() -> Investigation {
    let mut all = super::investigation();
    let profile = all.profile.as_mut().expect("a profile");
    profile.counted = Some(source());
    let calls = [
        Some(33_000_000),
        Some(1_000_000),
        Some(2_000_000),
        Some(7),
        None,
        Some(0),
        Some(120_345),
        Some(1),
        Some(3),
    ];
    for (f, calls) in profile.functions.iter_mut().zip(calls) {
        f.calls = calls;
        f.instructions = calls.map(|n| n * 40);
        if let Some(n) = calls.filter(|&n| n > 0) {
            let seconds = f.self_share.value * 1.8 / n as f64;
            let relative = f.self_share.relative_half_width().unwrap_or(0.0);
            f.cost_seconds = Some(around(seconds, relative));
            f.cost_cycles = Some(around(seconds * 3.92e9, relative + 0.01));
        }
    }
    for line in &mut profile.lines {
        line.count = Some(410_200_000);
        line.cost_seconds = Some(around(1.6e-9, 0.02));
    }
    let a = &mut all.annotations[1];
    a.calls = Some(33_000_000);
    a.counted = Some(source());
    for i in &mut a.instructions[..12] {
        i.count = Some(33_000_000);
    }
    a.instructions[9].taken = Some(0);
    a.instructions[22].taken = Some(378_000_000);
    a.loops[0].cost = Some(LoopCost {
        iterations: 410_200_000,
        entries: Some(32_200_000),
        cycles: Some(around(39.0, 0.02)),
        chain_cycles: Some(around(37.0, 0.03)),
        chain: vec![14, 19, 20],
        throughput_cycles: Some(around(19.0, 0.05)),
        bound: LoopBound::Latency,
        why: "95 % of the cycles are the chain of dependent instructions".into(),
    });
    all
}

/// The same with attacks as names and impossible numbers.
pub fn hostile_investigation() -> Investigation {
    let mut all = super::hostile();
    let good = investigation();
    let huge = "<b>A".repeat(250_000);
    let attack = |i: usize| ATTACKS[i % ATTACKS.len()].to_owned();
    let bad = Counted {
        engine: CountEngine {
            name: attack(1),
            version: attack(2),
            gaps: vec![attack(0), huge.clone()],
        },
        slowdown: Some(f64::NAN),
        command: vec![attack(0), huge.clone()],
        scale: f64::INFINITY,
        cut_short: Some(attack(4)),
        runs: f64::NAN,
        clock_hz: Some(around(f64::MAX, f64::MAX)),
        clock_source: attack(3),
    };
    if let (Some(p), Some(from)) = (&mut all.profile, good.profile) {
        p.counted = Some(bad.clone());
        for (i, (f, from)) in p.functions.iter_mut().zip(from.functions).enumerate() {
            f.calls = Some(u64::MAX - i as u64);
            f.cost_seconds = [
                from.cost_seconds,
                Some(around(f64::NAN, 1.0)),
                Some(around(1e300, 9.0)),
            ][i % 3];
            f.cost_cycles = Some(around(f64::INFINITY, 0.1));
        }
        for l in &mut p.lines {
            l.count = Some(u64::MAX);
            l.cost_seconds = Some(around(-1.0, 3.0));
        }
    }
    let a = &mut all.annotations[1];
    a.calls = Some(u64::MAX);
    a.counted = Some(bad);
    a.loops.clone_from(&good.annotations[1].loops);
    if let Some(cost) = &mut a.loops[0].cost {
        cost.why = huge;
        cost.chain = vec![u32::MAX, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        cost.cycles = Some(around(f64::NAN, 1.0));
    }
    for i in &mut a.instructions {
        i.count = Some(3);
        i.taken = Some(u64::MAX);
        i.cost_seconds = Some(around(f64::NAN, 1.0));
    }
    all
}

/// A program of three functions by instruction: `main` with code inlined from another file, a
/// recursive function, and a library function without lines.
pub fn detail() -> CountedDetail {
    let site = |address, file, line, count| DetailSite {
        address,
        file,
        line,
        count,
    };
    let call = |address, line, callee, count, total_instructions| DetailCall {
        address,
        file: Some(0),
        line: Some(line),
        callee,
        count,
        total_instructions,
    };
    CountedDetail {
        engine: source().engine,
        command: vec!["./fib".into(), "1 5".into()],
        pid: 4242,
        cut_short: None,
        modules: vec![
            DetailModule {
                path: "/home/a/fib".into(),
                build_id: Some("3f2a9c0d".into()),
            },
            DetailModule {
                path: "/usr/lib/libc.so.6".into(),
                build_id: None,
            },
        ],
        files: vec!["/home/a/fib.c".into(), "/usr/include/inline.h".into()],
        functions: vec![
            DetailFunction {
                name: "(anonymous namespace)::fib(int)".into(),
                module: 0,
                address: 0x1139,
                file: Some(0),
                line: Some(3),
                calls: 1973,
                sites: vec![
                    site(0x1139, Some(0), Some(3), 1973),
                    site(0x113c, Some(0), Some(4), 1973),
                    site(0x1140, Some(0), Some(5), 986),
                ],
                call_sites: vec![call(0x1140, 5, 0, 1972, 0.0)],
            },
            DetailFunction {
                name: "puts".into(),
                module: 1,
                address: 0x1139,
                file: None,
                line: None,
                calls: 1,
                sites: vec![site(0x1139, None, None, 1), site(0x1150, None, None, 40)],
                call_sites: vec![],
            },
            DetailFunction {
                name: "main".into(),
                module: 0,
                address: 0x1160,
                file: Some(0),
                line: Some(9),
                calls: 1,
                sites: vec![
                    site(0x1160, Some(0), Some(9), 1),
                    site(0x1164, Some(1), Some(99), 7),
                    site(0x1168, Some(0), Some(10), 1),
                    site(0x116c, None, None, 1),
                ],
                call_sites: vec![call(0x1168, 10, 0, 1, 4932.0), call(0x116c, 11, 1, 1, 41.0)],
            },
        ],
    }
}

/// The same with names that attack line formats, and indices out of range.
pub fn hostile_detail() -> CountedDetail {
    let mut all = detail();
    let attack = |i: usize| format!("x\ncalls=9 0x0 0\nfn=(1) {}", ATTACKS[i % ATTACKS.len()]);
    all.engine.name = attack(0);
    all.engine.version = attack(1);
    all.engine.gaps = vec![attack(2), "\n\n".into()];
    all.command = vec![attack(3), String::new()];
    all.cut_short = Some(attack(4));
    for (i, module) in all.modules.iter_mut().enumerate() {
        module.path = attack(i);
        module.build_id = Some(attack(i + 1));
    }
    all.files = vec![attack(2), String::new()];
    for (i, f) in all.functions.iter_mut().enumerate() {
        f.name = if i == 0 {
            "<b>A".repeat(250_000)
        } else {
            attack(i)
        };
        f.call_sites.push(DetailCall {
            address: u64::MAX,
            file: Some(u32::MAX),
            line: None,
            callee: u32::MAX,
            count: u64::MAX,
            total_instructions: f64::NAN,
        });
        f.call_sites.push(DetailCall {
            address: 0,
            file: Some(u32::MAX),
            line: None,
            callee: 1,
            count: u64::MAX,
            total_instructions: f64::INFINITY,
        });
    }
    all.functions[1].module = u32::MAX;
    all.functions[1].file = Some(u32::MAX);
    all
}
