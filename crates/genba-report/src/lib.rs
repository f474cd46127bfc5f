//! Terminal tables and plots, the HTML page, flame graphs.
