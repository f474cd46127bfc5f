use genba_model::{
    Estimate, ObservedData, ObservedInstruction, ObservedLoads, ObservedPlace, ObservedRedundancy,
    ObservedValue,
};

/// What bursts showed of a function.
pub fn observed_place() -> ObservedPlace {
    let share = |value: f64| Estimate {
        value,
        low: value - 0.01,
        high: value + 0.01,
    };
    ObservedPlace {
        command: Vec::new(),
        place: "f".to_owned(),
        bursts: 60,
        observed_instructions: 1_000_000,
        threads: 1,
        instructions: vec![ObservedInstruction {
            address: 0x1234,
            module: "/bin/a".to_owned(),
            function: Some("f\x1b[31m".to_owned()),
            text: "mov eax, [rdi]".to_owned(),
            file: Some("/src/a.c".to_owned()),
            line: Some(7),
            executions: Some(2_000_000),
            seen: 1000,
            loads: Some(ObservedLoads {
                l1: share(0.5),
                l2: share(0.3),
                l3: share(0.2),
                memory: Estimate::exact(0.0),
                tlb: Estimate::exact(0.0),
                stride_bytes: Some(64),
            }),
            branch: None,
            values: vec![ObservedValue {
                value: 0,
                stored: false,
                share: share(0.9),
            }],
            redundant: ObservedRedundancy {
                same_load: Some(share(0.4)),
                ..ObservedRedundancy::default()
            },
            data: vec![ObservedData {
                name: "heap".to_owned(),
                share: share(0.98),
            }],
        }],
        notes: vec!["a note".to_owned()],
    }
}
