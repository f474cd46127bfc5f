//! The programs: real ones, with small inputs that are always the same.

use std::path::Path;

/// One program.
pub struct Program {
    /// Its name in the list of explained differences.
    pub name: &'static str,
    /// Program and arguments, relative to the directory with the inputs.
    pub argv: &'static [&'static str],
    /// Variables of the environment that it needs to do the same twice.
    pub environment: &'static [(&'static str, &'static str)],
}

const fn program(name: &'static str, argv: &'static [&'static str]) -> Program {
    Program {
        name,
        argv,
        environment: &[],
    }
}

/// Of these three, differences are looked for in every test run.
pub const EVERY_TIME: [&str; 3] = ["wc", "gzip", "sed"];

/// All.
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
    program("zstd", &["zstd", "-q", "-c", "--single-thread", "text"]),
    program("grep", &["grep", "-c", "eta.*9", "text"]),
    program("sed", &["sed", "s/eta/x/g", "text"]),
    program("awk", &["awk", "{ s += $9 } END { print s }", "text"]),
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
            "-I",
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

/// Makes the inputs; those that need a compiler are left out without one.
pub fn write_inputs(directory: &Path) {
    let words = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota",
    ];
    let mut text = String::new();
    // Numerical Recipes' generator: the same everywhere.
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
    for arguments in [["-S", "program.s"], ["-c", "program.o"]] {
        let _ = std::process::Command::new("cc")
            .args(["-O1", "program.c", arguments[0], "-o", arguments[1]])
            .current_dir(directory)
            .status();
    }
}
