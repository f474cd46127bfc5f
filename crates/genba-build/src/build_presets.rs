//! The known ways of building otherwise.

use crate::{Family, Recipe, Slot};

/// What may be tried, most promising first; for a Cargo project (`rust`) what concerns it.
///
/// Not in it: `-ffast-math` and its like, which change what a program computes.
#[must_use]
pub fn build_presets(rust: bool) -> Vec<Recipe> {
    let mut all = if rust { for_rust() } else { for_c() };
    all.sort_by_key(|recipe| std::cmp::Reverse(recipe.priority));
    all
}

fn for_c() -> Vec<Recipe> {
    let flags = |name: &str, slot, flags: &[&str], priority| Recipe {
        slots: vec![slot],
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        priority,
        ..Recipe::plain(name)
    };
    vec![
        Recipe {
            link_time: true,
            ..flags("LTO", Slot::LinkTime, &[], 90)
        },
        flags("-O3", Slot::Optimisation, &["-O3"], 85),
        Recipe {
            caution: Some("the program then runs on processors like this one only".to_owned()),
            ..flags("-march=native", Slot::Target, &["-march=native"], 80)
        },
        Recipe {
            profiled: true,
            ..flags("PGO", Slot::Profile, &[], 75)
        },
        Recipe {
            compiler: Some(Family::Clang),
            ..flags("clang", Slot::Compiler, &[], 60)
        },
        Recipe {
            compiler: Some(Family::Gcc),
            ..flags("gcc", Slot::Compiler, &[], 60)
        },
        flags("-fno-plt", Slot::Calls, &["-fno-plt"], 40),
        flags(
            "-fno-semantic-interposition",
            Slot::Interposition,
            &["-fno-semantic-interposition"],
            40,
        ),
        Recipe {
            caution: Some("gives up a protection against overflows on the stack".to_owned()),
            ..flags(
                "no stack protector",
                Slot::Protection,
                &["-fno-stack-protector"],
                30,
            )
        },
        Recipe {
            caution: Some("costs a register; profilers then need no stack copies".to_owned()),
            ..flags(
                "frame pointers",
                Slot::Frames,
                &["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"],
                10,
            )
        },
    ]
}

fn for_rust() -> Vec<Recipe> {
    let cargo = |name: &str, slots: &[Slot], cargo: &[(&str, &str)], priority| Recipe {
        slots: slots.to_vec(),
        cargo: (cargo.iter())
            .map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), (*value).to_owned()))
            .collect(),
        priority,
        ..Recipe::plain(name)
    };
    let rustc = |name: &str, slot, flags: &[&str], priority| Recipe {
        slots: vec![slot],
        rust_flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        priority,
        ..Recipe::plain(name)
    };
    vec![
        cargo(
            "LTO",
            &[Slot::LinkTime],
            &[("LTO", "fat"), ("CODEGEN_UNITS", "1")],
            90,
        ),
        Recipe {
            caution: Some("the program then runs on processors like this one only".to_owned()),
            ..rustc(
                "target-cpu=native",
                Slot::Target,
                &["-Ctarget-cpu=native"],
                80,
            )
        },
        cargo(
            "opt-level=3",
            &[Slot::Optimisation],
            &[("OPT_LEVEL", "3")],
            70,
        ),
        Recipe {
            caution: Some("a panic then ends the program at once, without unwinding".to_owned()),
            ..cargo("panic=abort", &[Slot::Own], &[("PANIC", "abort")], 30)
        },
        rustc(
            "frame pointers",
            Slot::Frames,
            &["-Cforce-frame-pointers=yes"],
            10,
        ),
    ]
}

/// Builds that differ from the project's own in where functions lie, and in nothing that is
/// executed: what differs between them is what layout alone can do (Mytkowicz et al., ASPLOS
/// 2009; Curtsinger and Berger, "Stabilizer", ASPLOS 2013).
///
/// `-fpatchable-function-entry=N,N` puts N one-byte no-ops *before* every function's entry, where
/// nothing executes them; multiples of 16 keep the entries' alignment.
#[must_use]
pub fn layout_presets(rust: bool) -> Vec<Recipe> {
    [16, 48, 80, 32]
        .into_iter()
        .enumerate()
        .map(|(number, bytes)| Recipe {
            slots: vec![Slot::Layout],
            flags: vec![format!("-fpatchable-function-entry={bytes},{bytes}")],
            rust_flags: if rust {
                // Of LLVM's options the one that moves functions: 2^5, 2^6, … bytes.
                vec![format!("-Cllvm-args=-align-all-functions={}", number + 5)]
            } else {
                Vec::new()
            },
            ..Recipe::plain(&format!("layout {}", number + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_all_do_something() {
        for rust in [false, true] {
            let all = [build_presets(rust), layout_presets(rust)].concat();
            let names: BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names.len(), all.len());
            for one in &all {
                assert!(!one.slots.is_empty());
                let nothing = Recipe {
                    slots: one.slots.clone(),
                    priority: one.priority,
                    caution: one.caution.clone(),
                    ..Recipe::plain(&one.name)
                };
                assert_ne!(*one, nothing);
            }
        }
    }
}
