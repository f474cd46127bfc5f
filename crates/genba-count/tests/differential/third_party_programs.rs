//! More programs of many kinds, with their inputs: other languages, compilers and linkers, editors,
//! interpreters.

use crate::programs::{PYTHON, Program, program};

/// Programs that are also compared with single-stepping, where nothing may differ. Excluded are
/// those that take long, or that look at what the engine cannot but change (`/proc/self/maps`,
/// addresses, threads).
pub const STEPPED: &str = "awk true ls cat uniq wc cut tr seq factor expr base64 sha256sum md5sum zstd sed find tar \
    git git-hash readelf strip strings exceptions gunzip untar comm join paste fold fmt nl \
    tac shuf split cksum b2sum dd date tsort numfmt patch git-diff dbm dc ed pascal fortran \
    swapcontext gprof addr2line c++filt sort gzip xz";

/// Programs that are compared with qemu.
pub const OTHERS: &[Program] = &[
    Program {
        name: "ssh-keygen",
        argv: &["ssh-keygen", "-l", "-f", "key.pub"],
        environment: NO_EXTENSIONS,
    },
    program("rsync", &["rsync", "--version"]),
    Program {
        name: "gdb",
        argv: &[
            "gdb",
            "-nx",
            "--batch",
            "-ex",
            "maint set worker-threads 0",
            "-ex",
            "p 6*7",
            "-ex",
            "p sizeof(long)",
        ],
        environment: PYTHON,
    },
    program(
        "gawk",
        &[
            "gawk",
            "{ a[$3] += $9; n += gsub(/eta/, \"x\") } END { for (k in a) print k, a[k]; print n }",
            "text",
        ],
    ),
    program("dc", &["dc", "-e", "40 k 2 v p 3 100 ^ p"]),
    program("ed", &["ed", "-s", "text"]),
    program("flex", &["flex", "-o", "lexer.c", "lexer.l"]),
    program("nasm", &["nasm", "-felf64", "program.asm", "-o", "out.o"]),
    program("tcc", &["tcc", "-c", "program.c", "-o", "out.o"]),
    program("gold", &["ld.gold", "-r", "program.o", "-o", "linked.o"]),
    program(
        "fpc",
        &[
            "ppcx64",
            "-n",
            "-Fu/usr/lib/x86_64-linux-gnu/fpc/3.2.2/units/x86_64-linux/rtl",
            "-Cn",
            "-s",
            "program.pas",
        ],
    ),
    program("pascal", &["./program-pascal"]),
    program("fortran", &["./program-fortran"]),
    program("ada", &["./program-ada"]),
    program("ocamlrun", &["ocamlrun", "program-ocaml-bytecode"]),
    program("swapcontext", &["./contexts"]),
    program(
        "vim",
        &[
            "vim",
            "-u",
            "NONE",
            "-i",
            "NONE",
            "-n",
            "-es",
            "-c",
            "%s/alpha/OMEGA/g",
            "-c",
            "sort",
            "-c",
            "wq! out",
            "text",
        ],
    ),
    program("pdftotext", &["pdftotext", "page.pdf", "-"]),
    program(
        "convert",
        &[
            "convert",
            "-limit",
            "thread",
            "1",
            "-size",
            "40x40",
            "gradient:red-blue",
            "-resize",
            "60x50",
            "ppm:-",
        ],
    ),
    program("units", &["units", "-t", "3 miles", "km"]),
    program("cmake", &["cmake", "--version"]),
    program("cmake-script", &["cmake", "-P", "script.cmake"]),
    program("ninja", &["ninja", "-n", "-f", "rules.ninja"]),
    program("wget", &["wget", "--version"]),
    program("curl-file", &["curl", "-s", "file:///etc/passwd"]),
    program("gprof", &["gprof", "-v"]),
    program("addr2line", &["addr2line", "-e", "program.o", "0x1200"]),
    program(
        "c++filt",
        &["c++filt", "_ZNSt6vectorIiSaIiEE9push_backERKi"],
    ),
    program(
        "aes",
        &[
            "openssl",
            "enc",
            "-aes-128-cbc",
            "-K",
            "00",
            "-iv",
            "00",
            "-in",
            "text",
        ],
    ),
    program("lz4", &["lz4", "-c", "text"]),
];

/// Programs that are compared with single-stepping only.
pub const ONLY_STEPPED: &[Program] = &[
    program(
        "busybox",
        &["busybox", "awk", "{ s += $9 } END { print s }", "text"],
    ),
    program("musl", &["./program-musl"]),
    program("musl-static", &["./program-musl-static"]),
    program("pkg-config", &["pkg-config", "--version"]),
];

/// Disables OpenSSL's processor-specific code.
const NO_EXTENSIONS: &[(&str, &str)] = &[("OPENSSL_ia32cap", "0:0")];

/// Creates sources and inputs.
pub fn write_inputs(write: &dyn Fn(&str, &str)) {
    write(
        "key.pub",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f key\n",
    );
    write(
        "lexer.l",
        "%%\n[a-z]+ { return 1; }\n[0-9]+ { return 2; }\n. ;\n%%\n",
    );
    write(
        "program.asm",
        "global _start\nsection .text\n_start: mov ecx,1000\nl: loop l\nmov eax,60\nxor edi,edi\n\
         syscall\n",
    );
    write(
        "program.f90",
        "program x\nreal(8)::a(30,30),b(30,30)\na=1.5d0\nb=2\nprint *, sum(matmul(a,b))\nend\n",
    );
    write(
        "program.adb",
        "with Ada.Text_IO; use Ada.Text_IO;\nprocedure Program is\n procedure R is begin raise \
         Constraint_Error with \"x\"; end R;\nbegin\n for I in 1 .. 10 loop begin R; exception \
         when Constraint_Error => Put (Integer'Image (I)); end; end loop;\nend Program;\n",
    );
    write(
        "program.pas",
        "{$mode objfpc} program p; uses sysutils; var i,s:longint; begin s:=0; for i:=1 to 10000 do s:=s+i mod 7; \
         writeln(s); try raise exception.create('x') except on e:exception do writeln(e.message) \
         end end.\n",
    );
    write(
        "program.ml",
        "let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2)\nlet () = print_int (fib 18); \
         (try failwith \"x\" with Failure s -> print_string s)\n",
    );
    write(
        "contexts.c",
        "#include <ucontext.h>\n#include <stdio.h>\nstatic ucontext_t m, c; static char \
         st[65536]; static int n;\nstatic void f(void) { for (;;) { n++; swapcontext(&c, &m); } }\n\
         int main(void) { getcontext(&c); c.uc_stack.ss_sp = st; c.uc_stack.ss_size = sizeof st; \
         makecontext(&c, f, 0); for (int i = 0; i < 500; i++) swapcontext(&m, &c); \
         printf(\"%d\\n\", n); }\n",
    );
    write(
        "loop.lua",
        "local n = 0 for i = 1, 500 do if not pcall(error, {i}) then n = n + 1 end end print(n)\n\
         local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i) end end)\n\
         print(co(), co(), string.format('%5.2f', 3.14159))\n",
    );
    write(
        "page.ps",
        "%!PS\n/Helvetica findfont 20 scalefont setfont 100 100 moveto (hello) show 0 1 20 { dup \
         moveto 3 3 rlineto } for stroke showpage\n",
    );
    write(
        "script.cmake",
        "foreach(i RANGE 50)\n math(EXPR s \"${s}+0+${i}*${i}%7\")\nendforeach()\n\
         string(REGEX REPLACE \"a+\" \"x\" r \"aabaa\")\nmessage(\"${s} ${r}\")\n",
    );
    write(
        "rules.ninja",
        "rule c\n command = cp $in $out\nbuild one: c text\nbuild two: c one\n",
    );
}

/// Compiles the programs; skips those whose compiler is missing.
pub fn compile(make: &dyn Fn(&str, &[&str])) {
    make("fpc", &["-O2", "program.pas", "-oprogram-pascal"]);
    make("gfortran", &["-O1", "program.f90", "-o", "program-fortran"]);
    make("gnatmake", &["-q", "program.adb", "-o", "program-ada"]);
    make("ocamlc", &["program.ml", "-o", "program-ocaml-bytecode"]);
    make("musl-gcc", &["-O1", "program.c", "-o", "program-musl"]);
    make(
        "musl-gcc",
        &["-O1", "-static", "program.c", "-o", "program-musl-static"],
    );
    make("cc", &["-O1", "contexts.c", "-o", "contexts"]);
    make(
        "gs",
        &[
            "-q",
            "-dBATCH",
            "-dNOPAUSE",
            "-sDEVICE=pdfwrite",
            "-sOutputFile=page.pdf",
            "page.ps",
        ],
    );
}
