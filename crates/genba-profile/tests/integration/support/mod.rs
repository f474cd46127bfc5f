//! Fixtures of the tests of recordings, and helpers that compile, record and read them.
use std::path::{Path, PathBuf};

use genba_profile::reader::{Samples, Tables};
use genba_profile::sampler::RecordOptions;
use genba_profile::{ProfileError, ReadOptions, RecordOutcome, Recording};
use genba_run::{Cancel, CommandSpec, Launcher};

/// A program with a thread, a child and an `execve`, each executing a function of its own name for a
/// number of iterations: a busy machine makes it slower, not shorter. `wait` waits for input first.
pub const FIXTURE: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double sink;
#define BURN(name) __attribute__((noinline)) void name(long n){ double x=1; \
  for(long i=0;i<n;i++) x=x*1.0000001+0.5/(x+1); sink=x; }
BURN(in_main) BURN(in_thread) BURN(in_child)
static void* thread(void* n){ sigset_t all; sigfillset(&all); pthread_sigmask(SIG_SETMASK,&all,0);
  in_thread((long)n); return 0; }
int main(int argc,char**argv){
  long n = argc>2?atol(argv[2]):40000000;
  if(argc>1&&!strcmp(argv[1],"burn")){ in_main(n); return 0; }
  if(argc>1&&!strcmp(argv[1],"wait")){ getchar(); in_main(n); return 0; }
  pthread_t t; pthread_create(&t,0,thread,(void*)n);
  pid_t c=fork(); if(!c){ in_child(n); _exit(0); }
  in_main(n); pthread_join(t,0); waitpid(c,0,0);
  execl(argv[0],argv[0],"burn",argc>2?argv[2]:"40000000",(char*)0); return 1; }
"#;

/// Compiles a C program in a directory; `None`, and `test` skipped, if there is no compiler.
pub fn compile(test: &str, directory: &Path, source: &str, flags: &[&str]) -> Option<PathBuf> {
    genba_testing::compile_c(test, directory, source, &["-O2", "-pthread"], flags)
}

/// Records one run of a command.
pub fn record(
    argv: &[&str],
    options: &RecordOptions,
    out: &Path,
) -> Result<RecordOutcome, ProfileError> {
    let mut launcher = Launcher::new()?;
    let cancel = Cancel::new()?;
    let spec = CommandSpec::direct(argv.iter().copied());
    genba_profile::record(&mut launcher, &spec, options, out, &cancel)
}

/// Reads all samples of a recording.
pub fn load(path: &Path) -> Samples {
    let recording = Recording::open(path).expect("a recording");
    recording.load(&ReadOptions::default()).expect("samples")
}

/// Path of the module of a sample.
pub fn module_of<'a>(tables: &'a Tables, sample: &genba_profile::reader::Sample) -> &'a str {
    let location = tables.location(sample.location);
    &tables.module(location.module).path
}

/// The file offsets of a function, from the symbol table; `None` if it has no such symbol.
pub fn function(program: &Path, name: &str) -> Option<std::ops::Range<u64>> {
    use object::{Object, ObjectSegment, ObjectSymbol};
    let data = std::fs::read(program).ok()?;
    let elf = object::File::parse(&*data).ok()?;
    let symbol = elf.symbols().find(|s| s.name() == Ok(name))?;
    let segment = elf
        .segments()
        .find(|s| (s.address()..s.address() + s.size()).contains(&symbol.address()))?;
    let start = symbol.address() - segment.address() + segment.file_range().0;
    Some(start..start + symbol.size())
}
