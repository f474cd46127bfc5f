//! Presets for building a program differently.

use crate::{Family, Recipe, Slot};

/// The build presets by priority, for a Cargo project (`rust`) or for C and C++.
///
/// Options that change the results of a program, such as `-ffast-math`, are not among them.
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
            caution: Some("the program then runs only on processors like this one".to_owned()),
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
            caution: Some("removes the protection against stack overflows".to_owned()),
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
            caution: Some("the program then runs only on processors like this one".to_owned()),
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
            caution: Some("a panic then aborts the program without unwinding".to_owned()),
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

/// Builds that differ from the project's own only in the addresses of functions. Their differences
/// are the effect of code layout alone (Mytkowicz et al., ASPLOS
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
                // LLVM's option that moves functions: alignment to 2^5, 2^6, … bytes.
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
    fn preset_names_are_unique_and_every_preset_changes_the_build() {
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
