//! The road from end to end: observe, locate, case file, page.
