//! A way of building otherwise, as data.

/// Compilers by whose flags they understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// GCC.
    Gcc,
    /// Clang.
    Clang,
}

impl Family {
    /// The compilers' names: C and C++.
    #[must_use]
    pub fn programs(self) -> (&'static str, &'static str) {
        match self {
            Self::Gcc => ("gcc", "g++"),
            Self::Clang => ("clang", "clang++"),
        }
    }

    /// Debian packages that bring them.
    #[must_use]
    pub fn packages(self) -> &'static str {
        match self {
            Self::Gcc => "gcc g++",
            Self::Clang => "clang lld llvm",
        }
    }
}

/// What a recipe changes: of each slot one recipe at most goes into a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// `-O…`.
    Optimisation,
    /// The instruction set.
    Target,
    /// Across translation units.
    LinkTime,
    /// By a profile.
    Profile,
    /// Another compiler.
    Compiler,
    /// How functions of shared libraries are called.
    Calls,
    /// Whether a library's own functions may be replaced from outside.
    Interposition,
    /// Guards on the stack.
    Protection,
    /// Frame pointers.
    Frames,
    /// Where functions lie.
    Layout,
    /// Whatever the person gave.
    Own,
}

/// What must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing beyond the project's own compiler.
    Nothing,
    /// The compilers of this family.
    Compiler(Family),
}

/// A way of building: what is added to what the project's own build says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Name.
    pub name: String,
    /// What it changes.
    pub slots: Vec<Slot>,
    /// Flags behind those of every call of a C or C++ compiler, compiling and linking alike.
    pub flags: Vec<String>,
    /// Flags behind those of every call of `rustc`.
    pub rust_flags: Vec<String>,
    /// Variables of Cargo's profile.
    pub cargo: Vec<(String, String)>,
    /// A compiler in place of the project's.
    pub compiler: Option<Family>,
    /// Optimise across translation units: flags by family, and `ar`, `nm`, `ranlib` that know
    /// such objects.
    pub link_time: bool,
    /// Build instrumented, train with the workload, build again.
    pub profiled: bool,
    /// What one gives up, if anything.
    pub caution: Option<String>,
    /// How much it can be hoped to gain for what it costs, 0 to 100: the order of trying.
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

    /// A recipe of the person's own: these flags for C and C++ compilers.
    #[must_use]
    pub fn own(name: &str, flags: Vec<String>) -> Self {
        Self {
            slots: vec![Slot::Own],
            flags,
            ..Self::plain(name)
        }
    }

    /// What must be there.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.compiler.map_or(Needs::Nothing, Needs::Compiler)
    }

    /// Whether both can be in one combination.
    #[must_use]
    pub fn goes_with(&self, other: &Self) -> bool {
        !self
            .slots
            .iter()
            .any(|slot| *slot != Slot::Own && other.slots.contains(slot))
    }

    /// Both at once.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
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

    /// What to write into the project's own build, in words.
    #[must_use]
    pub fn in_words(&self, family: Family, rust: bool) -> String {
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

/// Flags of optimisation at link time. Clang's objects need a linker that knows them: `lld`, or
/// else whatever is there with its plug-in.
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
    fn of_each_slot_one() {
        let all = build_presets(false);
        let find = |name: &str| {
            all.iter()
                .find(|one| one.name == name)
                .expect("known")
                .clone()
        };
        let (o3, lto) = (find("-O3"), find("LTO"));
        assert!(o3.goes_with(&lto) && !o3.goes_with(&o3));
        let both = o3.and(&lto);
        assert_eq!(both.name, "-O3 + LTO");
        assert!(both.link_time && both.flags == ["-O3"]);
        assert!(!both.goes_with(&lto));
        assert_eq!(
            both.in_words(Family::Gcc, false),
            "compile and link with -O3 -flto=auto; AR=gcc-ar NM=gcc-nm RANLIB=gcc-ranlib"
        );
    }
}
