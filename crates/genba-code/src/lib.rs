//! ELF, DWARF, symbols, demangling, disassembly, control flow and loops.
