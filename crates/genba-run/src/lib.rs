//! Start a command, account for it, and end its whole process tree.
