//! Attribution of samples to functions, lines and instructions.
