//! The state of the live view and its key bindings, without a terminal.

use genba_model::ThreadTime;
use genba_runtime::live_view::LiveView;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What the program must do after a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Redraw.
    None,
    /// Quit.
    Quit,
    /// Annotate this function.
    Annotate(String),
    /// Show the threads.
    Threads,
    /// Discard the samples so far.
    Discard,
    /// Change the window to this many seconds.
    Window(f64),
}

/// A text shown instead of the list: an annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Screenful {
    /// Title line.
    pub title: String,
    /// Lines of the text.
    pub lines: Vec<String>,
    /// First line shown.
    pub top: usize,
}

impl Screenful {
    /// A text, scrolled to its beginning.
    pub fn new(title: &str, text: &str) -> Self {
        Self {
            title: title.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            top: 0,
        }
    }
}

/// Windows that + and - choose from, seconds.
const WINDOWS: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 1800.0];

/// State of the live view.
#[derive(Clone, Debug)]
pub struct State {
    /// The process or command that is watched.
    pub what: String,
    /// The functions shown.
    pub view: LiveView,
    /// The threads' time since the last update, that with most CPU time first.
    pub threads: Vec<ThreadTime>,
    /// Index of the selected row.
    pub selected: usize,
    /// Rows of the list on the screen, set by `draw`.
    pub height: usize,
    /// First row shown.
    pub top: usize,
    /// Whether updates are paused.
    pub paused: bool,
    /// Whether the target has ended.
    pub ended: bool,
    /// Whether the samples up to the target's end have been shown.
    pub complete: bool,
    /// Length of the window, seconds.
    pub window: f64,
    /// The text shown instead of the list.
    pub screenful: Option<Screenful>,
}

impl State {
    /// The state before the first samples.
    pub fn new(what: &str, window: f64) -> Self {
        Self {
            what: what.to_owned(),
            view: LiveView::default(),
            threads: Vec::new(),
            selected: 0,
            height: 10,
            top: 0,
            paused: false,
            ended: false,
            complete: false,
            window,
            screenful: None,
        }
    }

    /// Replaces the view. The selection follows its function, unless the first row is selected.
    pub fn show(&mut self, view: LiveView) {
        let selected = self
            .view
            .rows
            .get(self.selected)
            .map(|row| row.name.clone());
        self.view = view;
        if self.selected > 0
            && let Some(name) = selected
            && let Some(index) = self.view.rows.iter().position(|row| row.name == name)
        {
            self.selected = index;
        }
        self.selected = self.selected.min(self.view.rows.len().saturating_sub(1));
        self.follow();
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c')) {
            return Action::Quit;
        }
        let page = self.height.max(2) - 1;
        if let Some(text) = &mut self.screenful {
            let last = text.lines.len().saturating_sub(self.height);
            match key.code {
                KeyCode::Up | KeyCode::Char('k') => text.top = text.top.saturating_sub(1),
                KeyCode::Down | KeyCode::Char('j') => text.top = (text.top + 1).min(last),
                KeyCode::PageUp => text.top = text.top.saturating_sub(page),
                KeyCode::PageDown | KeyCode::Char(' ') => text.top = (text.top + page).min(last),
                KeyCode::Home => text.top = 0,
                KeyCode::End => text.top = last,
                _ => self.screenful = None,
            }
            return Action::None;
        }
        let last = self.view.rows.len().saturating_sub(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(page),
            KeyCode::PageDown => self.selected = (self.selected + page).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('t') => return Action::Threads,
            KeyCode::Char('z') => {
                self.view = LiveView::default();
                self.selected = 0;
                self.top = 0;
                return Action::Discard;
            }
            KeyCode::Char('+') => {
                let wider = WINDOWS.into_iter().find(|&w| w > self.window);
                self.window = wider.unwrap_or(self.window);
                return Action::Window(self.window);
            }
            KeyCode::Char('-') => {
                let narrower = WINDOWS.into_iter().rev().find(|&w| w < self.window);
                self.window = narrower.unwrap_or(self.window);
                return Action::Window(self.window);
            }
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('a') => {
                if let Some(row) = self.view.rows.get(self.selected) {
                    return Action::Annotate(row.name.function.clone());
                }
            }
            _ => {}
        }
        self.follow();
        Action::None
    }

    /// Scrolls so that the selected row is on the screen.
    pub fn follow(&mut self) {
        let height = self.height.max(1);
        if self.selected < self.top {
            self.top = self.selected;
        } else if self.selected >= self.top + height {
            self.top = self.selected + 1 - height;
        }
    }
}

#[cfg(test)]
mod tests {
    use genba_runtime::function_names::FunctionName;
    use genba_runtime::live_view::FunctionRow;

    use super::*;

    fn view(names: &[&str]) -> LiveView {
        let row = |name: &&str| FunctionRow {
            name: FunctionName {
                function: (*name).to_owned(),
                module: "m".to_owned(),
                kernel: false,
            },
            samples: 1,
            share: 1.0 / names.len() as f64,
        };
        LiveView {
            rows: names.iter().map(row).collect(),
            ..LiveView::default()
        }
    }

    fn press(state: &mut State, code: KeyCode) -> Action {
        state.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn selection_moves_and_stays_on_the_screen() {
        let mut state = State::new("x", 10.0);
        state.show(view(&["a", "b", "c", "d", "e"]));
        state.height = 3;
        for _ in 0..9 {
            press(&mut state, KeyCode::Down);
        }
        assert_eq!((state.selected, state.top), (4, 2));
        press(&mut state, KeyCode::Home);
        assert_eq!((state.selected, state.top), (0, 0));
        press(&mut state, KeyCode::PageDown);
        assert_eq!(state.selected, 2);
        assert_eq!(
            press(&mut state, KeyCode::Enter),
            Action::Annotate("c".to_owned())
        );
        assert_eq!(press(&mut state, KeyCode::Char('t')), Action::Threads);
        assert_eq!(press(&mut state, KeyCode::Char('q')), Action::Quit);
    }

    #[test]
    fn selection_follows_its_function_unless_the_first_row_is_selected() {
        let mut state = State::new("x", 10.0);
        state.show(view(&["a", "b", "c"]));
        state.show(view(&["b", "a", "c"]));
        assert_eq!(state.selected, 0);
        press(&mut state, KeyCode::Down);
        state.show(view(&["c", "b", "a"]));
        assert_eq!(state.view.rows[state.selected].name.function, "a");
        state.show(view(&["c"]));
        assert_eq!(state.selected, 0);
        state.show(view(&[]));
        assert_eq!(press(&mut state, KeyCode::Enter), Action::None);
    }

    #[test]
    fn annotation_scrolls_and_closes() {
        let mut state = State::new("x", 10.0);
        state.height = 2;
        state.screenful = Some(Screenful::new("f", "1\n2\n3\n4"));
        press(&mut state, KeyCode::End);
        assert_eq!(state.screenful.as_ref().unwrap().top, 2);
        press(&mut state, KeyCode::Up);
        assert_eq!(state.screenful.as_ref().unwrap().top, 1);
        press(&mut state, KeyCode::Esc);
        assert_eq!(state.screenful, None);
    }

    #[test]
    fn plus_and_minus_change_the_window_in_steps() {
        let mut state = State::new("x", 10.0);
        assert_eq!(press(&mut state, KeyCode::Char('+')), Action::Window(20.0));
        press(&mut state, KeyCode::Char('-'));
        assert_eq!(press(&mut state, KeyCode::Char('-')), Action::Window(5.0));
    }
}
