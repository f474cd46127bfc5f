//! A synthetic profile.

use genba_model::{
    CallEdge, Concentration, FunctionRow, LineRow, ModuleRow, Profile, StackRow, ThreadRow,
};

use super::{event, share};

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
        imported_from: None,
        thread_times: Vec::new(),
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
                symbols: "debug, lines".into(),
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
            process: "tostr".into(),
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
