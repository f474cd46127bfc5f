//! Real programs with small, constant inputs.

use std::path::Path;

/// A program.
pub struct Program {
    /// Its name in the list of explained differences.
    pub name: &'static str,
    /// Program and arguments, relative to the directory with the inputs.
    pub argv: &'static [&'static str],
    /// Environment variables that make it deterministic.
    pub environment: &'static [(&'static str, &'static str)],
}

/// Returns a program without environment variables.
pub const fn program(name: &'static str, argv: &'static [&'static str]) -> Program {
    Program {
        name,
        argv,
        environment: &[],
    }
}

/// Compared in every test run.
pub const EVERY_TIME: [&str; 3] = ["wc", "gzip", "sed"];

/// All programs that callgrind and qemu are compared on.
pub const PROGRAMS: &[Program] = &[
    program("true", &["true"]),
    program("ls", &["ls", "."]),
    program("cat", &["cat", "text"]),
    program("sort", &["sort", "text"]),
    program("uniq", &["uniq", "-c", "text"]),
    program("wc", &["wc", "text"]),
    program("cut", &["cut", "-d ", "-f2", "text"]),
    program("tr", &["tr", "a-z", "A-Z"]),
    program("od", &["od", "-x", "text"]),
    program("seq", &["seq", "1", "2000"]),
    program("factor", &["factor", "1000000007", "600851475143"]),
    program("expr", &["expr", "12345", "*", "6789"]),
    program("base64", &["base64", "text"]),
    program("sha256sum", &["sha256sum", "text"]),
    program("md5sum", &["md5sum", "text"]),
    program("gzip", &["gzip", "-n", "-c", "text"]),
    program("bzip2", &["bzip2", "-c", "text"]),
    program("xz", &["xz", "-c", "-0", "-T1", "text"]),
    program(
        "zstd",
        &[
            "zstd",
            "-q",
            "-c",
            "--single-thread",
            "--no-asyncio",
            "text",
        ],
    ),
    program("grep", &["grep", "-c", "eta.*9", "text"]),
    program("sed", &["sed", "s/eta/x/g", "text"]),
    program("awk", &["mawk", "{ s += $9 } END { print s }", "text"]),
    program("diff", &["diff", "text", "program.c"]),
    program("find", &["find", ".", "-name", "t*"]),
    program("tar", &["tar", "cf", "-", "--mtime=@0", "text"]),
    program(
        "dash",
        &[
            "dash",
            "-c",
            "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo $i",
        ],
    ),
    program(
        "bash",
        &[
            "bash",
            "--norc",
            "-c",
            "for ((i=0; i<2000; i++)); do x=$((i*i)); done; echo $x",
        ],
    ),
    Program {
        name: "perl",
        argv: &["perl", "-e", "$s += $_ * $_ % 7 for 1 .. 20000; print $s"],
        environment: &[("PERL_HASH_SEED", "0")],
    },
    Program {
        name: "python3",
        argv: &[
            "python3",
            "-s",
            "-S",
            "-c",
            "print(sum(i * i % 7 for i in range(20000)))",
        ],
        environment: &[("PYTHONHASHSEED", "0"), ("PYTHONDONTWRITEBYTECODE", "1")],
    },
    program(
        "lua",
        &[
            "lua5.4",
            "-e",
            "local s = 0 for i = 1, 20000 do s = s + i * i % 7 end print(s)",
        ],
    ),
    program(
        "sqlite3",
        &[
            "sqlite3",
            ":memory:",
            "create table t(a,b); with recursive c(i) as (values(1) union all select i+1 from c \
             where i<500) insert into t select i, i*7%31 from c; select b, count(*) from t group \
             by b order by 2, 1",
        ],
    ),
    program("git", &["git", "--version"]),
    program("git-hash", &["git", "hash-object", "--no-filters", "text"]),
    program("bc", &["bc", "-q", "sum.bc"]),
    program("openssl", &["openssl", "dgst", "-sha512", "text"]),
    program("cc1", &["cc1", "-quiet", "-O1", "program.c", "-o", "out.s"]),
    program("as", &["as", "program.s", "-o", "out.o"]),
    program("ld", &["ld", "-r", "program.o", "-o", "linked.o"]),
    program("objdump", &["objdump", "-d", "program.o"]),
    program("readelf", &["readelf", "-a", "program.o"]),
];

/// More programs, for genba's own engine and qemu.
pub const MORE: &[Program] = &[
    program("nm", &["nm", "program.o"]),
    program("strip", &["strip", "-o", "stripped.o", "program.o"]),
    program("ar", &["ar", "rcD", "archive.a", "program.o"]),
    program("strings", &["strings", "program.o"]),
    program("gcc", &["gcc", "-O1", "-c", "program.c", "-o", "out.o"]),
    program(
        "cc1plus",
        &["cc1plus", "-quiet", "-O1", "program.cc", "-o", "out.s"],
    ),
    // Compiled by the test: exceptions, virtual calls, and Rust.
    program("exceptions", &["./exceptions"]),
    program("rust", &["./rust"]),
    program("gunzip", &["gzip", "-d", "-c", "text.gz"]),
    program("bunzip2", &["bzip2", "-d", "-c", "text.bz2"]),
    program("unxz", &["xz", "-d", "-c", "-T1", "text.xz"]),
    // It reads and writes in threads of their own.
    program("unzstd", &["zstd", "-q", "-d", "-c", "text.zst"]),
    program("untar", &["tar", "xf", "text.tar"]),
    program("make", &["make", "-n", "-f", "rules", "all"]),
    program("cmp", &["cmp", "text", "program.c"]),
    program("comm", &["comm", "-12", "text", "text"]),
    program("join", &["join", "-j9", "text", "text"]),
    program("paste", &["paste", "text", "program.c"]),
    program("fold", &["fold", "-w", "30", "text"]),
    program("fmt", &["fmt", "text"]),
    program("nl", &["nl", "text"]),
    program("tac", &["tac", "text"]),
    program("shuf", &["shuf", "--random-source=text", "text"]),
    program("split", &["split", "-l", "50", "text", "part."]),
    program("cksum", &["cksum", "text"]),
    program("b2sum", &["b2sum", "text"]),
    program("dd", &["dd", "if=text", "of=copy", "bs=512", "status=none"]),
    program("date", &["date", "-u", "-d", "@1000000000"]),
    program("tsort", &["tsort", "pairs"]),
    program("numfmt", &["numfmt", "--to=iec", "123456789"]),
    program("curl", &["curl", "--version"]),
    program("ssh", &["ssh", "-V"]),
    program("m4", &["m4", "macros.m4"]),
    program(
        "patch",
        &["patch", "-o", "patched", "program.c", "change.diff"],
    ),
    program("tclsh", &["tclsh", "loop.tcl"]),
    program(
        "git-diff",
        &["git", "diff", "--no-index", "--stat", "text", "program.c"],
    ),
    program("dbm", &["tchmgr", "create", "casket", "100"]),
    Program {
        name: "ruby",
        argv: &[
            "ruby3.1",
            "--disable-gems",
            "-e",
            "a = (1..2000).map { |i| i * i % 7 }; puts a.sum, a.sort.first(3).inspect",
        ],
        environment: &[],
    },
    // Its random generators are seeded by the kernel; here with zeros.
    Program {
        name: "numpy",
        argv: &[
            "python3",
            "-c",
            "import os; os.urandom = bytes\n\
             import numpy as n; a = n.arange(3000.).reshape(50, 60); \
             print((a @ a.T).trace(), n.sort(a % 7)[3, :5])",
        ],
        environment: NUMPY,
    },
    // One thread after the other, so that both engines see the same order: none yields by the
    // clock, and none ends, which would free memory before or after another allocates it.
    Program {
        name: "python-threads",
        argv: &[
            "python3",
            "-s",
            "-S",
            "-c",
            "import _thread as t, sys\nsys.setswitchinterval(1000)\nl = t.allocate_lock()\n\
             m = t.allocate_lock()\nm.acquire()\nfor i in range(5):\n l.acquire()\n \
             t.start_new_thread(lambda: (sum(range(3000)), l.release(), m.acquire()), ())\n \
             l.acquire(); l.release()",
        ],
        environment: PYTHON_THREADS,
    },
    Program {
        name: "python-json",
        argv: &[
            "python3",
            "-s",
            "-c",
            "import json, re; print(json.dumps({'a': [1, 2.5, None], 'b': re.sub('a+', 'x', \
             'aabaa')}))",
        ],
        environment: PYTHON,
    },
    Program {
        name: "perl-regex",
        argv: &[
            "perl",
            "-ne",
            "$n++ while /([aeiou])\\w\\1/g; END { print $n }",
            "text",
        ],
        environment: &[("PERL_HASH_SEED", "0")],
    },
    Program {
        name: "go",
        argv: &["gron", "data.json"],
        environment: &[
            ("GOMAXPROCS", "1"),
            ("GODEBUG", "asyncpreemptoff=1"),
            ("GOGC", "off"),
            ("MALLOC_ARENA_MAX", "1"),
        ],
    },
];

const PYTHON_THREADS: &[(&str, &str)] = &[
    ("MALLOC_ARENA_MAX", "1"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Environment that makes Python deterministic.
pub const PYTHON: &[(&str, &str)] = &[("PYTHONHASHSEED", "0"), ("PYTHONDONTWRITEBYTECODE", "1")];

/// Variables by which NumPy and its linear algebra choose code, so that they choose the same on
/// every processor.
const NUMPY: &[(&str, &str)] = &[
    ("PYTHONHASHSEED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OPENBLAS_CORETYPE", "Prescott"),
    (
        NUMPY_FEATURES,
        "F16C FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
    ),
];

/// CPU features that NumPy must not use. NumPy warns about those that the processor lacks.
const NUMPY_FEATURES: &str = "NPY_DISABLE_CPU_FEATURES";

/// Returns a variable's value under an engine: spaces in place of features that its processor
/// lacks, so that NumPy never warns, and nothing moves.
pub fn value_under(engine: &str, name: &str, value: &str) -> String {
    if name != NUMPY_FEATURES {
        return value.to_owned();
    }
    let here = |feature: &str| match feature {
        // qemu 7.2 simulates nothing beyond AVX2.
        _ if feature.starts_with("AVX512") && engine == "qemu" => false,
        "AVX512F" => is_x86_feature_detected!("avx512f"),
        "AVX512CD" => is_x86_feature_detected!("avx512cd"),
        "AVX512_SKX" => is_x86_feature_detected!("avx512bw"),
        "AVX512_CLX" => is_x86_feature_detected!("avx512vnni"),
        "AVX512_CNL" => is_x86_feature_detected!("avx512vbmi"),
        "AVX512_ICL" => is_x86_feature_detected!("avx512vbmi2"),
        _ => true,
    };
    let words = value.split(' ').map(|feature| match here(feature) {
        true => feature.to_owned(),
        false => " ".repeat(feature.len()),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Creates the inputs; skips those that need a missing compiler.
pub fn write_inputs(directory: &Path) {
    let words = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota",
    ];
    let mut text = String::new();
    // Numerical Recipes' generator, the same everywhere.
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    for _ in 0..400 {
        for _ in 0..8 {
            text.push_str(words[next() % words.len()]);
            text.push(' ');
        }
        text.push_str(&format!("{}\n", next() % 1_000_000));
    }
    let write = |name: &str, text: &str| {
        std::fs::write(directory.join(name), text).expect("an input is written");
    };
    write("text", &text);
    write(
        "sum.bc",
        "scale=50\ns=0\nfor (i=1; i<50; i++) { s += 1/i }\ns\nquit\n",
    );
    write(
        "program.c",
        "int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n\
         struct s { int a[9]; double d; };\n\
         double g(struct s *s, int n) { double t = 0; for (int i = 0; i < n; i++) t += s[i].a[i % 9] * s[i].d; return t; }\n\
         int main(void) { struct s s[3] = {0}; return f(10) + (int)g(s, 3); }\n",
    );
    write("pairs", "a b\nb c\na d\nd c\nc e\n");
    write(
        "data.json",
        r#"{"a": "x\u00e9y", "b": [1, 2, 3.5, 40], "c": {"d": null, "e": [true]}}"#,
    );
    write(
        "macros.m4",
        "define(`f', `ifelse($1, 0, 1, `eval($1 * f(eval($1 - 1)))')')f(9)\n",
    );
    write(
        "rules",
        "all: one two\none: text\n\tcat text > one\ntwo: one\n\twc one > two\n",
    );
    write(
        "change.diff",
        "--- program.c\n+++ program.c\n@@ -1,1 +1,2 @@\n+// changed\n int f(int n) { return n < 2 ? n : \
         f(n - 1) + f(n - 2); }\n",
    );
    write(
        "loop.tcl",
        "set s 0\nfor {set i 0} {$i < 2000} {incr i} { incr s [expr {$i*$i%7}] }\nputs $s\n",
    );
    write(
        "program.cc",
        "#include <cstdio>\n#include <stdexcept>\n#include <string>\n#include <vector>\n\
         struct A { virtual ~A() {} virtual int f(int n) { return n; } };\n\
         struct B : A { int f(int n) override { if (n % 5 == 0) throw std::runtime_error(std::to_string(n)); return 2 * n; } };\n\
         int main() { int s = 0; std::vector<A *> v; for (int i = 0; i < 20; i++) v.push_back(i % 2 ? new A : new B);\n\
         for (int i = 0; i < 200; i++) try { s += v[i % 20]->f(i); } catch (const std::exception &e) { s += std::string(e.what()).size(); }\n\
         std::printf(\"%d\\n\", s); }\n",
    );
    write(
        "rust.rs",
        "use std::collections::BTreeMap;\nfn main() { let mut m = BTreeMap::new(); for i in 0u64..500 { *m.entry(i * i % 31).or_insert(0u64) += i; }\n\
         let s: String = m.iter().map(|(k, v)| format!(\"{k}={v} \")).collect(); println!(\"{s}\");\n\
         let r = std::panic::catch_unwind(|| { if s_len(&[1]) == 1 { panic!(\"so\") } }); println!(\"{}\", r.is_err()); }\n\
         fn s_len(s: &[u8]) -> usize { s.len() }\n",
    );
    crate::third_party_programs::write_inputs(&write);
    let make = |program: &str, arguments: &[&str]| {
        let _ = std::process::Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
    };
    make("g++", &["-O1", "-g", "program.cc", "-o", "exceptions"]);
    make(
        "rustc",
        &["-O", "-C", "panic=unwind", "rust.rs", "-o", "rust"],
    );
    crate::third_party_programs::compile(&make);
    make("gzip", &["-n", "-k", "text"]);
    make("bzip2", &["-k", "text"]);
    make("xz", &["-k", "-T1", "text"]);
    make("zstd", &["-q", "-k", "text"]);
    make(
        "tar",
        &["cf", "text.tar", "--mtime=@0", "text", "program.c"],
    );
    for arguments in [["-S", "program.s"], ["-c", "program.o"]] {
        let _ = std::process::Command::new("cc")
            .args(["-O1", "program.c", arguments[0], "-o", arguments[1]])
            .current_dir(directory)
            .status();
    }
}
