//! Counts the entries and names of a program's debug information: driver PROGRAM TIMES.

use gimli::{EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

fn main() -> Result<(), gimli::Error> {
    let mut arguments = std::env::args().skip(1);
    let bytes = std::fs::read(arguments.next().expect("a file")).expect("a program");
    let times: usize = arguments.next().expect("times").parse().expect("a number");
    let program = object::File::parse(&*bytes).expect("an object file");
    let sections = gimli::DwarfSections::load(|id| -> Result<_, gimli::Error> {
        Ok(program.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    })?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let (mut entries, mut functions, mut names) = (0u64, 0u64, 0u64);
    for _ in 0..times {
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let mut cursor = unit.entries();
            while let Some((_, entry)) = cursor.next_dfs()? {
                entries += 1;
                if entry.tag() == gimli::DW_TAG_subprogram {
                    functions += 1;
                    names += u64::from(entry.attr_value(gimli::DW_AT_name)?.is_some());
                }
            }
        }
    }
    println!("{entries} {functions} {names}");
    Ok(())
}
