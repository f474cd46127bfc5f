//! Microarchitecture names from vendor, family and model.
//!
//! Sources: Linux `arch/x86/include/asm/intel-family.h` and `arch/x86/kernel/cpu/amd.c`
//! (`bsp_init_amd`) for x86, `arch/arm64/include/asm/cputype.h` for Arm. A model that these do
//! not name gives an empty string: a wrong name would be worse than none.

use crate::cpuinfo::CpuInfo;

/// The microarchitecture's name, or an empty string.
#[must_use]
pub fn microarchitecture(cpu: &CpuInfo) -> &'static str {
    let (Some(family), Some(model)) = (cpu.family, cpu.model) else {
        return "";
    };
    match cpu.vendor.as_str() {
        "AuthenticAMD" => amd(family, model),
        "HygonGenuine" if family == 0x18 => "Dhyana (Zen)",
        "GenuineIntel" if family == 6 => intel(model, cpu.stepping.unwrap_or(0)),
        "0x41" => arm(model),
        "0xc0" if matches!(model, 0xac3 | 0xac4) => "AmpereOne",
        _ => "",
    }
}

fn amd(family: u32, model: u32) -> &'static str {
    match (family, model) {
        (0x10, _) => "K10",
        (0x14, _) => "Bobcat",
        (0x15, 0x02 | 0x10..=0x1f) => "Piledriver",
        (0x15, 0x00 | 0x01) => "Bulldozer",
        (0x15, 0x30..=0x3f) => "Steamroller",
        (0x15, 0x60..=0x7f) => "Excavator",
        (0x16, 0x00..=0x0f) => "Jaguar",
        (0x16, 0x30..=0x3f) => "Puma",
        (0x17, 0x08 | 0x18) => "Zen+",
        (0x17, 0x00..=0x2f | 0x50..=0x5f) => "Zen",
        (0x17, 0x30..=0x4f | 0x60..=0x7f | 0x90..=0x91 | 0x98 | 0xa0..=0xaf) => "Zen 2",
        (0x19, 0x00..=0x0f | 0x20..=0x5f) => "Zen 3",
        (0x19, 0x10..=0x1f | 0x60..=0xaf) => "Zen 4",
        (0x1a, 0x00..=0x2f | 0x40..=0x4f | 0x60..=0x7f) => "Zen 5",
        (0x1a, 0x50..=0x5f | 0x80..=0xaf | 0xc0..=0xcf) => "Zen 6",
        _ => "",
    }
}

fn intel(model: u32, stepping: u32) -> &'static str {
    match model {
        0x0f | 0x16 => "Core (Merom)",
        0x17 | 0x1d => "Penryn",
        0x1a | 0x1e | 0x1f | 0x2e => "Nehalem",
        0x25 | 0x2c | 0x2f => "Westmere",
        0x2a | 0x2d => "Sandy Bridge",
        0x3a | 0x3e => "Ivy Bridge",
        0x3c | 0x3f | 0x45 | 0x46 => "Haswell",
        0x3d | 0x47 | 0x4f | 0x56 => "Broadwell",
        0x4e | 0x5e => "Skylake",
        0x55 => match stepping {
            0..=4 => "Skylake-SP",
            5..=9 => "Cascade Lake",
            _ => "Cooper Lake",
        },
        // Later steppings of these two are sold as Coffee, Whiskey, Amber and Comet Lake; the
        // core is the same.
        0x8e | 0x9e => "Kaby Lake",
        0xa5 | 0xa6 => "Comet Lake",
        0x66 => "Cannon Lake",
        0x6a | 0x6c | 0x7d | 0x7e | 0x9d => "Ice Lake",
        0xa7 => "Rocket Lake",
        0x8c | 0x8d => "Tiger Lake",
        0x8f => "Sapphire Rapids",
        0xcf => "Emerald Rapids",
        0xad | 0xae => "Granite Rapids",
        0x97 | 0x9a => "Alder Lake",
        0xbe => "Gracemont",
        0xb7 | 0xba | 0xbf => "Raptor Lake",
        0xaa | 0xac => "Meteor Lake",
        0xb5 | 0xc5 | 0xc6 => "Arrow Lake",
        0xbd => "Lunar Lake",
        0xcc => "Panther Lake",
        0xaf => "Sierra Forest",
        0xb6 => "Grand Ridge",
        0xdd => "Clearwater Forest",
        0x1c | 0x26 => "Bonnell",
        0x27 | 0x35 | 0x36 => "Saltwell",
        0x37 | 0x4a | 0x4d | 0x5a | 0x5d => "Silvermont",
        0x4c => "Airmont",
        0x5c | 0x5f => "Goldmont",
        0x7a => "Goldmont Plus",
        0x86 | 0x8a | 0x96 | 0x9c => "Tremont",
        0x57 => "Knights Landing",
        0x85 => "Knights Mill",
        _ => "",
    }
}

fn arm(part: u32) -> &'static str {
    match part {
        0xd03 => "Cortex-A53",
        0xd05 => "Cortex-A55",
        0xd07 => "Cortex-A57",
        0xd08 => "Cortex-A72",
        0xd09 => "Cortex-A73",
        0xd0a => "Cortex-A75",
        0xd0b => "Cortex-A76",
        0xd0c => "Neoverse N1",
        0xd0d => "Cortex-A77",
        0xd40 => "Neoverse V1",
        0xd41 => "Cortex-A78",
        0xd49 => "Neoverse N2",
        0xd4f => "Neoverse V2",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(vendor: &str, family: u32, model: u32, stepping: u32) -> &'static str {
        microarchitecture(&CpuInfo {
            vendor: vendor.to_owned(),
            family: Some(family),
            model: Some(model),
            stepping: Some(stepping),
            ..CpuInfo::default()
        })
    }

    #[test]
    fn common_machines_are_named() {
        assert_eq!(name("AuthenticAMD", 26, 2, 1), "Zen 5"); // EPYC 9005
        assert_eq!(name("AuthenticAMD", 25, 17, 1), "Zen 4"); // EPYC 9004
        assert_eq!(name("AuthenticAMD", 25, 1, 1), "Zen 3"); // EPYC 7003
        assert_eq!(name("AuthenticAMD", 23, 49, 0), "Zen 2"); // EPYC 7002
        assert_eq!(name("AuthenticAMD", 23, 8, 2), "Zen+"); // Ryzen 2700X
        assert_eq!(name("GenuineIntel", 6, 85, 7), "Cascade Lake");
        assert_eq!(name("GenuineIntel", 6, 85, 4), "Skylake-SP");
        assert_eq!(name("GenuineIntel", 6, 151, 2), "Alder Lake");
        assert_eq!(name("0x41", 8, 0xd0c, 1), "Neoverse N1");
    }

    #[test]
    fn unknown_machines_have_no_name() {
        assert_eq!(name("GenuineIntel", 6, 0xfff, 0), "");
        assert_eq!(name("GenuineIntel", 19, 1, 0), "");
        assert_eq!(name("AuthenticAMD", 0x99, 1, 0), "");
        assert_eq!(name("Somebody", 6, 0x55, 0), "");
        assert_eq!(microarchitecture(&CpuInfo::default()), "");
    }
}
