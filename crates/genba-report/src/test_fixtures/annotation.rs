//! Synthetic annotations of a hot function, with and without counts.

use genba_model::{AnnotatedInstruction, Annotation, Estimate, JumpArrow, LoopInfo, SourceLine};

use super::{around, event, share};

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

/// The same with execution counts and costs.
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
