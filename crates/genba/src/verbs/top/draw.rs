//! The live view on the terminal.

use genba_report::terminal;
use genba_runtime::live_view::FunctionRow;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::state::State;

/// Draws the view, or the annotation over it.
pub fn draw(frame: &mut Frame<'_>, state: &mut State) {
    let [head, threads, names, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(u16::from(
            state.screenful.is_none() && !state.threads.is_empty(),
        )),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    state.height = usize::from(body.height);
    let dim = Style::new().add_modifier(Modifier::DIM);
    let strong = Style::new().add_modifier(Modifier::BOLD);
    if let Some(text) = &state.screenful {
        let title = Line::styled(genba_report::sanitise(&text.title), strong);
        frame.render_widget(Paragraph::new(title), head);
        let end = (text.top + state.height).min(text.lines.len());
        let lines = text.lines[text.top.min(end)..end].iter();
        let lines: Vec<Line<'_>> = lines.map(|l| Line::raw(l.as_str())).collect();
        frame.render_widget(Paragraph::new(lines), body);
        let keys = Line::styled("arrows, PgUp, PgDn move   any other key returns", dim);
        frame.render_widget(Paragraph::new(keys), foot);
        return;
    }
    state.follow();
    frame.render_widget(Paragraph::new(Line::styled(summary(state), strong)), head);
    let division = terminal::thread_division(&state.threads);
    frame.render_widget(Paragraph::new(Line::styled(division, dim)), threads);
    let columns = Line::styled("   self  samples     function  module", dim);
    frame.render_widget(Paragraph::new(columns), names);
    let rows = state.view.rows.iter().enumerate();
    let lines: Vec<Line<'_>> = rows
        .skip(state.top)
        .take(state.height)
        .map(|(index, row)| line(row, index == state.selected, body))
        .collect();
    frame.render_widget(Paragraph::new(lines), body);
    let keys = "Enter annotates  t threads  p pauses  z discards samples  +/- window  q quits";
    frame.render_widget(Paragraph::new(Line::styled(keys, dim)), foot);
}

/// The title line.
fn summary(state: &State) -> String {
    let view = &state.view;
    let mut text = format!(
        "{}: {} samples in the last {:.0} s, {:.0} % kernel",
        state.what,
        view.samples,
        view.seconds.max(0.0).min(state.window),
        view.kernel * 100.0
    );
    if view.lost > 0 {
        text.push_str(&format!(", {} lost", view.lost));
    }
    if state.ended {
        text.push_str("  [ended]");
    }
    if state.paused {
        text.push_str("  [paused]");
    }
    text
}

fn line(row: &FunctionRow, selected: bool, area: Rect) -> Line<'_> {
    let colour = match row.share {
        s if s >= 0.05 => Style::new().fg(Color::Red),
        s if s >= 0.005 => Style::new().fg(Color::Green),
        _ => Style::new(),
    };
    let base = if selected {
        Style::new().add_modifier(Modifier::REVERSED)
    } else {
        Style::new()
    };
    let module = row.name.module.rsplit('/').next().unwrap_or_default();
    let module = genba_report::sanitise(module);
    let function = genba_report::sanitise(&row.name.function);
    // Function names are shortened so that the module stays on the screen.
    let room = usize::from(area.width).saturating_sub(23 + module.chars().count());
    let function: String = if function.chars().count() > room {
        let cut = function.chars().take(room.saturating_sub(1));
        cut.chain(['…']).collect()
    } else {
        function
    };
    let mode = if row.name.kernel { 'k' } else { 'u' };
    Line::from(vec![
        Span::styled(format!("{:5.1} %", row.share * 100.0), base.patch(colour)),
        Span::styled(format!(" {:8}  {mode}  {function}  ", row.samples), base),
        Span::styled(module, base.add_modifier(Modifier::DIM)),
    ])
}

#[cfg(test)]
mod tests {
    use genba_runtime::function_names::FunctionName;
    use genba_runtime::live_view::LiveView;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    #[test]
    fn head_rows_and_modules_are_drawn_and_names_sanitised() {
        let mut state = State::new("./prog", 10.0);
        let row = |function: &str, share: f64| FunctionRow {
            name: FunctionName {
                function: function.to_owned(),
                module: "/usr/lib/libx.so".to_owned(),
                kernel: false,
            },
            samples: (share * 1000.0) as u64,
            share,
        };
        state.show(LiveView {
            rows: vec![row("hot\u{1b}[31m", 0.9), row(&"long".repeat(30), 0.1)],
            samples: 1000,
            seconds: 9.7,
            kernel: 0.25,
            lost: 3,
        });
        let thread = |running: f64, runnable: f64| genba_model::ThreadTime {
            pid: 1,
            tid: 1,
            name: "worker".to_owned(),
            began: 0.0,
            wall: 2.0,
            running,
            runnable,
            blocked: 2.0 - running - runnable,
            unknown: 0.0,
            switches: 1,
            timeline: Vec::new(),
        };
        state.threads = vec![thread(1.0, 0.4), thread(0.0, 0.0)];
        let mut terminal = Terminal::new(TestBackend::new(60, 7)).unwrap();
        terminal.draw(|frame| draw(frame, &mut state)).unwrap();
        let shown = terminal.backend().to_string();
        assert!(shown.contains("./prog: 1000 samples in the last 10 s, 25 % kernel, 3 lost"));
        assert!(
            shown.contains("2 threads: running 25 %, runnable 10 %, blocked 65 %"),
            "{shown}"
        );
        assert!(shown.contains("90.0 %"), "{shown}");
        assert!(shown.contains("longlong"), "{shown}");
        assert!(shown.matches("libx.so").count() == 2, "{shown}");
        assert!(!shown.contains('\u{1b}'));
    }
}
