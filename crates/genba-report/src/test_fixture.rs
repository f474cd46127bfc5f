//! Investigations to render: one as a real one is, with invented figures, and one in which
//! every name is an attack.

use genba_model::*;

fn share(value: f64) -> Estimate {
    let half = 1.96 * (value * (1.0 - value) / 9000.0).max(0.0).sqrt();
    Estimate {
        value,
        low: (value - half).max(0.0),
        high: (value + half).min(1.0),
    }
}

fn around(value: f64, relative: f64) -> Estimate {
    Estimate {
        value,
        low: value * (1.0 - relative),
        high: value * (1.0 + relative),
    }
}

fn event() -> Event {
    Event {
        name: "cpu-clock".into(),
        hardware: false,
        frequency_hz: 4999,
        kernel: true,
        precision: Precision::Skid,
    }
}

const WALLS: [f64; 11] = [
    1.801, 1.806, 1.809, 1.811, 1.812, 1.812, 1.813, 1.816, 1.821, 1.829, 1.858,
];

fn run(wall: f64) -> RunRecord {
    RunRecord {
        wall_seconds: wall,
        target: CpuTime {
            user: wall * 0.988,
            system: 0.012,
        },
        beside: CpuTime::default(),
        orphans: 0,
        max_rss_bytes: 12_400_000,
        minor_faults: 1288,
        major_faults: 0,
        voluntary_switches: 3,
        involuntary_switches: 12,
        exit: ExitKind::Code(0),
        stdout_bytes: Some(90_000),
    }
}

fn function(name: &str, module: &str, place: Option<u32>, own: f64, total: f64) -> FunctionRow {
    FunctionRow {
        function: name.into(),
        linkage_name: None,
        module: module.into(),
        kernel: module == "[kernel]",
        file: place.map(|_| "/home/a/ruby/bignum.c".into()),
        line: place,
        self_samples: (own * 9000.0) as u64,
        self_share: share(own),
        total: share(total),
        size_bytes: 400,
        calls: None,
        instructions: None,
        cost_seconds: None,
        cost_cycles: None,
    }
}

fn instruction(
    address: u64,
    text: &str,
    line: u32,
    part: f64,
    in_loop: bool,
) -> AnnotatedInstruction {
    AnnotatedInstruction {
        address,
        text: text.into(),
        file: Some("/home/a/ruby/bignum.c".into()),
        line: Some(line),
        inlined: None,
        samples: part * 5800.0,
        share: share(part),
        count: None,
        taken: None,
        cost_seconds: None,
        cost_cycles: None,
        host_latency_cycles: None,
        loop_index: in_loop.then_some(0),
    }
}

pub fn annotation() -> Annotation {
    let mut code: Vec<AnnotatedInstruction> = [
        ("push   rbp", 4551, 0.001),
        ("mov    rbp, rsp", 4551, 0.0),
        ("push   r15", 4551, 0.0005),
        ("push   r14", 4551, 0.0),
        ("push   r13", 4551, 0.0),
        ("push   r12", 4551, 0.0),
        ("sub    rsp, 0x28", 4551, 0.0),
        ("mov    rdi, qword ptr [rdi]", 4556, 0.001),
        ("test   rdi, rdi", 4558, 0.0),
        ("je     0x4a2f8", 4558, 0.0),
        ("lea    r9, [rip+0x1f20]", 4560, 0.002),
        ("mov    rcx, qword ptr [rbx+0x10]", 4560, 0.001),
    ]
    .iter()
    .enumerate()
    .map(|(i, (text, line, part))| instruction(0x4a240 + 4 * i as u64, text, *line, *part, false))
    .collect();
    let body = [
        ("mov    rax, rsi", 4569, 0.002),
        ("xor    edx, edx", 4569, 0.001),
        ("div    rcx", 4569, 0.518),
        ("movzx  eax, byte ptr [r9+rdx]", 4569, 0.011),
        ("mov    byte ptr [rdi+r8], al", 4569, 0.021),
        ("mov    rax, rsi", 4570, 0.005),
        ("xor    edx, edx", 4570, 0.0),
        ("div    rcx", 4570, 0.310),
        ("mov    rsi, rax", 4570, 0.062),
        ("sub    r8, 1", 4571, 0.054),
        ("jne    0x4a280", 4571, 0.002),
    ];
    code.extend(body.iter().enumerate().map(|(i, (text, line, part))| {
        instruction(0x4a280 + 3 * i as u64, text, *line, *part, true)
    }));
    code.extend((0..14_u64).map(|i| {
        let mut one = instruction(
            0x4a2c0 + 4 * i,
            "mov    qword ptr [rbp-0x30], rax",
            4575,
            0.0,
            false,
        );
        if i == 3 {
            one.inlined = Some("MEMCPY<char, int>".into());
            one.file = Some("/usr/include/string.h".into());
            one.line = Some(29);
            one.text = "call   memcpy@plt".into();
            one.share = share(0.008);
        }
        one
    }));
    let source = [
        (
            4551,
            "static void big2str_2bdigits(struct big2str_struct *b2s, BDIGIT *xds, size_t xn, size_t taillen)",
        ),
        (4556, "    num = bary2bdigitdbl(xds, xn);"),
        (4558, "    if (num == 0)"),
        (4560, "    p = buf;"),
        (4569, "        p[--j] = ruby_digitmap[num % b2s->base];"),
        (4570, "        num /= b2s->base;"),
        (4571, "    } while (num);"),
        (4575, "    len = sizeof(buf) - j;"),
    ];
    Annotation {
        function: "big2str_2bdigits".into(),
        module: "/home/a/ruby/tostr".into(),
        address: 0x4a240,
        event: event(),
        samples: 5805,
        share: share(0.645),
        raw: false,
        instructions: code,
        loops: vec![LoopInfo {
            head: 0x4a280,
            last: 0x4a280 + 30,
            depth: 1,
            parent: None,
            share: 0.986,
            irreducible: false,
            cost: None,
        }],
        jumps: vec![
            JumpArrow {
                from: 22,
                to: 12,
                back: true,
            },
            JumpArrow {
                from: 9,
                to: 26,
                back: false,
            },
        ],
        source: source
            .iter()
            .map(|(line, text)| SourceLine {
                file: "/home/a/ruby/bignum.c".into(),
                line: *line,
                text: (*text).into(),
            })
            .collect(),
        notes: vec![],
        calls: None,
        counted: None,
    }
}

/// The same with execution counts and costs, as later stages fill them in.
pub fn counted_annotation() -> Annotation {
    let mut a = annotation();
    for i in &mut a.instructions[12..23] {
        i.count = Some(410_200_000);
        let cycles = 39.0 * i.share.value;
        i.cost_cycles = Some(around(cycles, 0.02));
        i.cost_seconds = Some(around(cycles / 3.5e9, 0.02));
        if i.text.starts_with("div") {
            i.host_latency_cycles = Some(Estimate {
                value: 12.0,
                low: 7.0,
                high: 18.0,
            });
        }
    }
    a
}

pub fn stat() -> Stat {
    let counter =
        |event: &str, value: f64, unit: &str, note: Option<(f64, &str)>, running: f64| Counter {
            event: event.into(),
            state: CounterState::Counted,
            value: Some(around(value, 0.004)),
            unit: unit.into(),
            running_share: running,
            note: note.map(|(value, text)| CounterNote {
                value,
                text: text.into(),
            }),
        };
    let absent = |event: &str, state| Counter {
        event: event.into(),
        state,
        value: None,
        unit: String::new(),
        running_share: 0.0,
        note: None,
    };
    Stat {
        command: vec!["./tostr".into(), "300".into()],
        runs: 3,
        counters: vec![
            counter(
                "task-clock",
                1808.34,
                "msec",
                Some((0.998, "CPUs utilized")),
                1.0,
            ),
            counter("context-switches", 15.0, "", Some((8.29, "/sec")), 1.0),
            counter("page-faults", 1288.0, "", Some((712.3, "/sec")), 1.0),
            counter("cycles", 6_204_112_334.0, "", Some((3.43, "GHz")), 0.751),
            counter(
                "instructions",
                7_693_099_294.0,
                "",
                Some((1.24, "insn per cycle")),
                0.751,
            ),
            counter(
                "branches",
                1_208_112_334.0,
                "",
                Some((668.1, "M/sec")),
                0.752,
            ),
            counter(
                "branch-misses",
                14_500_000.0,
                "",
                Some((0.012, "of all branches")),
                0.749,
            ),
            absent("LLC-loads", CounterState::NotSupported),
            absent("LLC-load-misses", CounterState::NotSupported),
            absent("stalled-cycles-backend", CounterState::NotCounted),
        ],
        wall: around(1.812, 0.006),
        user: around(1.79, 0.006),
        system: around(0.012, 0.08),
        exit: ExitKind::Code(0),
        notes: vec![],
    }
}

pub fn profile() -> Profile {
    let main = "/home/a/ruby/tostr";
    let functions = vec![
        function("big2str_2bdigits", main, Some(4551), 0.645, 0.645),
        function("bigdivrem1", main, Some(1402), 0.211, 0.211),
        function("big2str_karatsuba", main, Some(4590), 0.051, 0.920),
        function(
            "std::vector<std::pair<unsigned long, std::string>>::_M_realloc_insert<std::pair<unsigned long, std::string>>(__gnu_cxx::__normal_iterator<std::pair<unsigned long, std::string>*, std::vector<std::pair<unsigned long, std::string>>>, std::pair<unsigned long, std::string>&&)",
            "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
            None,
            0.031,
            0.040,
        ),
        function("clear_page_erms", "[kernel]", None, 0.022, 0.022),
        function(
            "[0x7f21c4]",
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            None,
            0.015,
            0.015,
        ),
        function(
            "malloc",
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            None,
            0.012,
            0.014,
        ),
        function("main", main, Some(5), 0.001, 0.978),
        function("tiny", main, Some(9), 0.0002, 0.0002),
    ];
    let stack = |frames: &[&str], weight: u64| StackRow {
        frames: frames.iter().map(|f| (*f).to_owned()).collect(),
        weight,
    };
    let k = "big2str_karatsuba";
    let mut collapsed = vec![
        stack(&["_start", "main", k, "big2str_2bdigits"], 290_000),
        stack(&["_start", "main", k, k, "big2str_2bdigits"], 855_000),
        stack(&["_start", "main", k, "bigdivrem1"], 111_000),
        stack(&["_start", "main", k, k, "bigdivrem1"], 263_000),
        stack(&["_start", "main", k], 42_000),
        stack(&["_start", "main", k, k], 48_000),
        stack(
            &["_start", "main", &functions[3].function, "malloc"],
            21_000,
        ),
        stack(&["_start", "main", &functions[3].function], 55_000),
        stack(&["_start", "main", "[0x7f21c4]"], 26_000),
        stack(
            &["_start", "main", "asm_exc_page_fault", "clear_page_erms"],
            39_000,
        ),
    ];
    // The long tail that every real profile has.
    collapsed.extend(
        (0..300).map(|i| stack(&["_start", "main", "init", &format!("load_symbol_{i}")], 70)),
    );
    Profile {
        event: event(),
        command: vec!["./tostr".into(), "300".into()],
        samples: 9000,
        lost: 12,
        throttled: 0,
        duration_seconds: 1.81,
        kernel_share: share(0.024),
        stacks: true,
        truncated_stacks: 0.012,
        functions,
        lines: vec![
            LineRow {
                file: "/home/a/ruby/bignum.c".into(),
                line: 4569,
                function: "big2str_2bdigits".into(),
                self_share: share(0.357),
                text: Some("        p[--j] = ruby_digitmap[num % b2s->base];".into()),
                count: None,
                cost_seconds: None,
            },
            LineRow {
                file: "/home/a/ruby/bignum.c".into(),
                line: 4570,
                function: "big2str_2bdigits".into(),
                self_share: share(0.243),
                text: None,
                count: None,
                cost_seconds: None,
            },
        ],
        modules: vec![
            ModuleRow {
                module: main.into(),
                build_id: Some("3f2a9c0d11aa22bb33cc44dd55ee66ff00112233".into()),
                self_share: share(0.908),
                symbols: "debug".into(),
            },
            ModuleRow {
                module: "[kernel]".into(),
                build_id: None,
                self_share: share(0.024),
                symbols: "kallsyms".into(),
            },
        ],
        threads: vec![ThreadRow {
            pid: 4242,
            tid: 4242,
            name: "tostr".into(),
            self_share: share(1.0),
        }],
        edges: vec![
            CallEdge {
                caller: 7,
                callee: 2,
                share: 0.92,
            },
            CallEdge {
                caller: 2,
                callee: 2,
                share: 0.55,
            },
            CallEdge {
                caller: 2,
                callee: 0,
                share: 0.645,
            },
            CallEdge {
                caller: 2,
                callee: 1,
                share: 0.211,
            },
        ],
        collapsed,
        concentration: Some(Concentration {
            share: 0.8,
            functions: 2,
            lines: Some(14),
            code_share: Some(0.0002),
        }),
        notes: vec![],
        counted: None,
    }
}

pub fn investigation() -> Investigation {
    let metric = |metric: Metric, median: Estimate, min: f64, max: f64| MetricSummary {
        metric,
        unit: metric.unit(),
        median,
        min,
        max,
    };
    Investigation {
        case: "7f3a".into(),
        genba: "0.1.0".into(),
        started: "2026-11-21T20:15:04.123Z".into(),
        workload: Workload {
            command: vec!["./tostr".into(), "300".into()],
            shell: None,
            directory: "/home/a/ruby".into(),
            name: None,
        },
        host: HostFingerprint {
            id: "9c41".into(),
            cpu: "AMD EPYC 9B45 128-Core Processor".into(),
            microarchitecture: "Zen 5".into(),
            cpus: 2,
            memory_bytes: 8_300_000_000,
            kernel: "6.18.5".into(),
            os: "Debian GNU/Linux 12 (bookworm)".into(),
            virtualisation: Some("kvm".into()),
            hardware_counters: false,
        },
        hazards: vec![Hazard {
            id: "one-cpu".into(),
            text: "the hypervisor took 3 % of the CPU time (steal)".into(),
            remedy: None,
        }],
        runs: RunSummary {
            runs: WALLS.iter().map(|&w| run(w)).collect(),
            metrics: vec![
                metric(Metric::Wall, around(1.812, 0.006), 1.801, 1.858),
                metric(Metric::User, around(1.79, 0.004), 1.78, 1.83),
                metric(Metric::System, around(0.012, 0.08), 0.010, 0.014),
                metric(Metric::MaxRss, around(12.4e6, 0.002), 12.3e6, 12.5e6),
                metric(Metric::MinorFaults, Estimate::exact(1288.0), 1287.0, 1290.0),
            ],
            outliers: vec![10],
        },
        noise_floor: vec![
            NoiseFloor {
                metric: Metric::Wall,
                share: 0.009,
            },
            NoiseFloor {
                metric: Metric::User,
                share: 0.003,
            },
        ],
        stat: Some(stat()),
        profile: Some(profile()),
        findings: Vec::new(),
        script: None,
        annotations: vec![annotation(), counted_annotation()],
        notes: vec![],
    }
}

pub const ATTACKS: [&str; 6] = [
    "<script>alert(1)</script>",
    "\x1b]0;evil\x07\x1b[2J",
    "</style></svg><img src=x onerror=alert(2)>",
    "\" onmouseover=\"alert(3)\" x=\"",
    "a\u{202e}gnp.exe;b 12\nc",
    "javascript:alert(4)//http://evil.example/",
];

/// Every name an attack; one of a megabyte.
pub fn hostile() -> Investigation {
    let mut all = investigation();
    let attack = |i: usize| ATTACKS[i % ATTACKS.len()].to_owned();
    let huge = "<b>A".repeat(250_000);
    all.case = attack(0);
    all.genba = attack(1);
    all.started = attack(2);
    all.workload.command = ATTACKS.iter().map(|a| (*a).to_owned()).collect();
    all.workload.command.push(huge.clone());
    all.workload.directory = attack(0);
    all.workload.name = Some(attack(3));
    all.host.cpu = attack(2);
    all.host.microarchitecture = attack(1);
    all.host.kernel = attack(0);
    all.host.os = attack(3);
    all.host.virtualisation = Some(attack(4));
    all.hazards[0].text = attack(2);
    all.hazards[0].remedy = Some(attack(0));
    all.notes = ATTACKS.iter().map(|a| (*a).to_owned()).collect();
    if let Some(stat) = &mut all.stat {
        for (i, c) in stat.counters.iter_mut().enumerate() {
            c.event = attack(i);
            c.unit = attack(i + 1);
            if let Some(note) = &mut c.note {
                note.text = attack(i + 2);
            }
        }
        stat.command.clone_from(&all.workload.command);
        stat.notes = all.notes.clone();
    }
    if let Some(p) = &mut all.profile {
        p.command.clone_from(&all.workload.command);
        p.event.name = attack(0);
        for (i, f) in p.functions.iter_mut().enumerate() {
            f.function = if i == 0 { huge.clone() } else { attack(i) };
            f.module = attack(i + 1);
            f.file = Some(attack(i + 2));
        }
        for (i, l) in p.lines.iter_mut().enumerate() {
            l.file = attack(i);
            l.function = attack(i + 1);
            l.text = Some(attack(i + 2));
        }
        for (i, m) in p.modules.iter_mut().enumerate() {
            m.module = attack(i);
            m.symbols = attack(i + 1);
            m.build_id = Some(attack(i + 2));
        }
        p.threads[0].name = attack(1);
        p.notes = all.notes.clone();
        for (i, row) in p.collapsed.iter_mut().enumerate().take(20) {
            row.frames = vec!["main".into(), attack(i), attack(i + 1)];
        }
        p.collapsed[20].frames = vec![huge.clone(); 3];
        p.collapsed[21].frames = vec![String::new(); 3000];
    }
    all.script = Some(hostile_script(&attack));
    for a in &mut all.annotations {
        a.function = attack(0);
        a.module = attack(2);
        a.event.name = attack(3);
        for (i, one) in a.instructions.iter_mut().enumerate() {
            one.text = attack(i);
            one.inlined = (i % 3 == 0).then(|| attack(i + 1));
            if i % 4 == 0 {
                one.file = Some(attack(i + 2));
            }
        }
        for (i, s) in a.source.iter_mut().enumerate() {
            s.text = if i == 0 { huge.clone() } else { attack(i) };
        }
        a.notes = vec![attack(2), huge.clone()];
    }
    all
}

fn hostile_script(attack: &dyn Fn(usize) -> String) -> ScriptProfile {
    let function = |i: usize| ScriptFunction {
        function: attack(i),
        file: attack(i + 1),
        line: 3,
        self_samples: 9,
        self_share: around(0.2, 0.01),
        total: around(0.3, 0.01),
        interpreted: 0.1,
        native: vec![NativeShare {
            function: attack(i + 2),
            module: attack(i + 3),
            share: 0.1,
        }],
        lines: vec![ScriptLine {
            line: 4,
            share: 0.1,
        }],
    };
    ScriptProfile {
        runtimes: vec![attack(0), attack(1)],
        command: vec![attack(2)],
        samples: 40,
        cpu_seconds: 0.1,
        outside: around(0.1, 0.01),
        functions: (0..ATTACKS.len()).map(function).collect(),
        opcodes: vec![OpcodeRow {
            opcode: attack(3),
            share: around(0.1, 0.01),
        }],
        collapsed: (0..ATTACKS.len())
            .map(|i| StackRow {
                frames: vec![attack(i), attack(i + 1)],
                weight: 7,
            })
            .collect(),
        notes: vec![attack(4)],
    }
}
