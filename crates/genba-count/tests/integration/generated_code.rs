//! Counts of code that a program writes while it runs, in memory that stays writable, are exact.

use std::collections::BTreeMap;
use std::process::Command;

use genba_count::{CountRequest, Engine, Transfers, native::Native};
use genba_model::RawCounts;
use genba_run::{CommandSpec, Output};

use crate::support::{compile, count};

/// Address of the code that the programs write.
pub(crate) const PAGE: u64 = 0x2000_0000;

/// Functions of two instructions, `lea` and `ret`: at the page's start one that is rewritten, at 64
/// one beside it, at 128 one that another thread rewrites. At 0x800 a loop that patches its own
/// next instruction.
const REWRITTEN: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
typedef long (*function)(long);
static unsigned char *page;
static void make(unsigned char *to, int32_t add) {
    unsigned char code[8] = {0x48, 0x8D, 0x87, 0, 0, 0, 0, 0xC3};
    memcpy(code + 3, &add, 4);
    memcpy(to, code, 8);
}
static void *writes(void *to) { for (int i = 0; i < 300; i++) make(to, i); return 0; }
int main(void) {
    page = mmap((void *)0x20000000, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page != (void *)0x20000000) return 1;
    long sum = 0;
    make(page + 64, 1);
    for (int i = 0; i < 400; i++) {
        make(page, i);
        for (int k = 0; k < 50; k++) sum += ((function)page)(0) + ((function)(page + 64))(0);
    }
    pthread_t thread;
    pthread_create(&thread, 0, writes, page + 128);
    for (int k = 0; k < 100000; k++) sum += ((function)(page + 64))(0);
    pthread_join(thread, 0);
    sum += ((function)(page + 128))(0);
    /* mov ecx, 100; 1: mov [rip + 1], cl; mov eax, imm32; dec ecx; jnz 1b; ret */
    static const unsigned char self[] = {0xB9, 100, 0, 0, 0, 0x88, 0x0D, 1, 0, 0, 0,
                                         0xB8, 0, 0, 0, 0, 0xFF, 0xC9, 0x75, 0xF1, 0xC3};
    memcpy(page + 0x800, self, sizeof self);
    for (int k = 0; k < 20; k++) sum += ((function)(page + 0x800))(0);
    printf("%ld\n", sum);
    return 0;
}
"#;

/// Instructions that the program wrote: their addresses and executions.
pub(crate) fn written(counts: &RawCounts) -> impl Iterator<Item = (u64, u64)> {
    let modules = counts.processes[0].modules.iter();
    modules
        .filter(|module| module.path == "[generated]")
        .flat_map(|module| &module.instructions)
        .map(|one| (one.address, one.count))
}

/// The same in the page, by their offset.
pub(crate) fn generated(counts: &RawCounts) -> BTreeMap<u64, u64> {
    written(counts)
        .map(|(at, count)| (at - PAGE, count))
        .collect()
}

#[test]
fn instructions_of_rewritten_code_are_counted_exactly() {
    let test = "instructions_of_rewritten_code_are_counted_exactly";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(directory.path(), test, REWRITTEN, &["-pthread"]) else {
        return;
    };
    let native = Command::new(&program).output().expect("it runs");
    assert!(native.status.success());
    for transfers in [Transfers::None, Transfers::Entries, Transfers::Everywhere] {
        let output = directory.path().join("output");
        let mut spec = CommandSpec::direct([&program]);
        spec.stdout = Output::File(output.clone());
        let request = CountRequest {
            spec,
            transfers: transfers.clone(),
            children: false,
            observe: None,
            native_exit: None,
        };
        if let Err(error) = Native.check(&request) {
            genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error.to_string());
            return;
        }
        let counts = count(&Native, &request).expect("counts");
        assert_eq!(counts.exit, 0);
        assert_eq!(std::fs::read(&output).expect("its output"), native.stdout);
        let expected = BTreeMap::from([
            (0, 20_000),
            (7, 20_000),
            (64, 120_000),
            (71, 120_000),
            (128, 1),
            (135, 1),
            (0x800, 20),
            (0x805, 2000),
            (0x80B, 2000),
            (0x810, 2000),
            (0x812, 2000),
            (0x814, 20),
        ]);
        assert_eq!(generated(&counts), expected, "{transfers:?}");
    }
}
