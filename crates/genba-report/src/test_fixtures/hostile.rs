//! The synthetic investigation with attacks as names.

use genba_model::{
    Investigation, NativeShare, OpcodeRow, ScriptFunction, ScriptLine, ScriptProfile, StackRow,
};

use super::{around, investigation};

pub const ATTACKS: [&str; 6] = [
    "<script>alert(1)</script>",
    "\x1b]0;evil\x07\x1b[2J",
    "</style></svg><img src=x onerror=alert(2)>",
    "\" onmouseover=\"alert(3)\" x=\"",
    "a\u{202e}gnp.exe;b 12\nc",
    "javascript:alert(4)//http://evil.example/",
];

/// An investigation in which every name is an attack, one of a megabyte.
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
    if let Some(observed) = &mut all.observed {
        observed.notes = all.notes.clone();
        for one in &mut observed.instructions {
            one.function = Some(attack(0));
            one.module = attack(1);
            one.text = attack(2);
            one.file = Some(attack(4));
            one.data[0].name = attack(5);
        }
    }
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
