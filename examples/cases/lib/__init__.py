"""What the cases share: programs built from Debian's sources, genba's answers, the table."""
