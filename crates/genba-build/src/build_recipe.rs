//! A change of the build, as data.

/// Families of compilers with the same flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// GCC.
    Gcc,
    /// Clang.
    Clang,
}

impl Family {
    /// Names of the C and the C++ compiler.
    #[must_use]
    pub fn programs(self) -> (&'static str, &'static str) {
        match self {
            Self::Gcc => ("gcc", "g++"),
            Self::Clang => ("clang", "clang++"),
        }
    }

    /// Debian packages that contain them.
    #[must_use]
    pub fn packages(self) -> &'static str {
        match self {
            Self::Gcc => "gcc g++",
            Self::Clang => "clang lld llvm",
        }
    }
}

/// What a recipe affects; a combination has at most one recipe of each slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The optimisation level, `-O…`.
    Optimisation,
    /// The instruction set.
    Target,
    /// Link-time optimisation.
    LinkTime,
    /// Profile-guided optimisation.
    Profile,
    /// The compiler.
    Compiler,
    /// Calls of functions in shared libraries.
    Calls,
    /// Semantic interposition of functions of a shared library.
    Interposition,
    /// Stack protector.
    Protection,
    /// Frame pointers.
    Frames,
    /// Code layout.
    Layout,
    /// Flags given by the user.
    Own,
}

/// Requirements of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Only the compiler of the project.
    Nothing,
    /// The compilers of this family.
    Compiler(Family),
}

/// A change of the build, added to the flags of the project's own build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Name of the recipe.
    pub name: String,
    /// What it affects.
    pub slots: Vec<Slot>,
    /// Flags appended to every call of a C or C++ compiler, compiling and linking.
    pub flags: Vec<String>,
    /// Flags appended to every call of `rustc`.
    pub rust_flags: Vec<String>,
    /// Environment variables for Cargo's profile.
    pub cargo: Vec<(String, String)>,
    /// Compiler used instead of the project's.
    pub compiler: Option<Family>,
    /// Whether link-time optimisation is used: flags by family, and an `ar`, `nm` and `ranlib` for
    /// such objects.
    pub link_time: bool,
    /// Whether the build is profile-guided: instrumented build, profiling run, final build.
    pub profiled: bool,
    /// Drawback, if any.
    pub caution: Option<String>,
    /// Order of trying: expected gain for its cost, 0 to 100.
    pub priority: u8,
}

impl Recipe {
    /// The project's own build.
    #[must_use]
    pub fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            slots: Vec::new(),
            flags: Vec::new(),
            rust_flags: Vec::new(),
            cargo: Vec::new(),
            compiler: None,
            link_time: false,
            profiled: false,
            caution: None,
            priority: 50,
        }
    }

    /// A recipe with flags of the user for C and C++ compilers.
    #[must_use]
    pub fn own(name: &str, flags: Vec<String>) -> Self {
        Self {
            slots: vec![Slot::Own],
            flags,
            ..Self::plain(name)
        }
    }

    /// Requirements of the recipe.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.compiler.map_or(Needs::Nothing, Needs::Compiler)
    }

    /// Whether both can be combined.
    #[must_use]
    pub fn can_combine_with(&self, other: &Self) -> bool {
        !self
            .slots
            .iter()
            .any(|slot| *slot != Slot::Own && other.slots.contains(slot))
    }

    /// The combination of both.
    #[must_use]
    pub fn combined_with(&self, other: &Self) -> Self {
        let join = |one: &[String], two: &[String]| [one, two].concat();
        Self {
            name: format!("{} + {}", self.name, other.name),
            slots: [&self.slots[..], &other.slots[..]].concat(),
            flags: join(&self.flags, &other.flags),
            rust_flags: join(&self.rust_flags, &other.rust_flags),
            cargo: [&self.cargo[..], &other.cargo[..]].concat(),
            compiler: self.compiler.or(other.compiler),
            link_time: self.link_time || other.link_time,
            profiled: self.profiled || other.profiled,
            caution: match (&self.caution, &other.caution) {
                (Some(one), Some(two)) => Some(format!("{one}; {two}")),
                (one, two) => one.clone().or_else(|| two.clone()),
            },
            priority: self.priority.max(other.priority),
        }
    }

    /// How to make the same change in the project's own build.
    #[must_use]
    pub fn describe(&self, family: Family, rust: bool) -> String {
        let mut parts = Vec::new();
        if rust {
            if !self.rust_flags.is_empty() {
                parts.push(format!("RUSTFLAGS: {}", self.rust_flags.join(" ")));
            }
            for (name, value) in &self.cargo {
                parts.push(format!("{name}={value}"));
            }
        } else {
            let family = self.compiler.unwrap_or(family);
            if let Some(compiler) = self.compiler {
                let (c, cxx) = compiler.programs();
                parts.push(format!("CC={c} CXX={cxx}"));
            }
            let mut flags = self.flags.clone();
            if self.link_time {
                flags.extend(link_time_flags(family, false));
            }
            if !flags.is_empty() {
                parts.push(format!("compile and link with {}", flags.join(" ")));
            }
            if self.link_time {
                parts.push(match family {
                    Family::Gcc => "AR=gcc-ar NM=gcc-nm RANLIB=gcc-ranlib".to_owned(),
                    Family::Clang => "AR=llvm-ar NM=llvm-nm RANLIB=llvm-ranlib".to_owned(),
                });
            }
        }
        if self.profiled {
            parts.push(
                "build with -fprofile-generate, run the workload, build again with -fprofile-use"
                    .to_owned(),
            );
        }
        parts.join("; ")
    }
}

/// Flags for link-time optimisation. Clang's objects need a linker that supports them: `lld`, or the
/// default linker with its plug-in.
pub(crate) fn link_time_flags(family: Family, lld: bool) -> Vec<String> {
    let flags: &[&str] = match (family, lld) {
        (Family::Gcc, _) => &["-flto=auto"],
        (Family::Clang, true) => &["-flto", "-fuse-ld=lld"],
        (Family::Clang, false) => &["-flto"],
    };
    flags.iter().map(|flag| (*flag).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_presets;

    #[test]
    fn recipes_of_one_slot_cannot_be_combined() {
        let all = build_presets(false);
        let find = |name: &str| {
            all.iter()
                .find(|one| one.name == name)
                .expect("known")
                .clone()
        };
        let (o3, lto) = (find("-O3"), find("LTO"));
        assert!(o3.can_combine_with(&lto) && !o3.can_combine_with(&o3));
        let both = o3.combined_with(&lto);
        assert_eq!(both.name, "-O3 + LTO");
        assert!(both.link_time && both.flags == ["-O3"]);
        assert!(!both.can_combine_with(&lto));
        assert_eq!(
            both.describe(Family::Gcc, false),
            "compile and link with -O3 -flto=auto; AR=gcc-ar NM=gcc-nm RANLIB=gcc-ranlib"
        );
    }
}
