//! What the live view shows, and what keys do to it. No terminal here.

use genba_runtime::live::View;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks of the program.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing but another picture.
    None,
    /// To end.
    Quit,
    /// To annotate this function.
    Annotate(String),
    /// To forget the samples so far.
    Forget,
    /// To show so many seconds.
    Window(f64),
}

/// Text that covers the list: an annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Screenful {
    /// Its head.
    pub title: String,
    /// Its lines.
    pub lines: Vec<String>,
    /// First line shown.
    pub top: usize,
}

impl Screenful {
    /// A text from its beginning: for an annotation, from the hottest line's surroundings.
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

/// The view's state.
#[derive(Clone, Debug)]
pub struct State {
    /// What is watched.
    pub what: String,
    /// What is seen.
    pub view: View,
    /// Index of the chosen row.
    pub chosen: usize,
    /// Rows of the list on the screen, told by who draws.
    pub height: usize,
    /// First row shown.
    pub top: usize,
    /// Whether the view stands still.
    pub stopped: bool,
    /// Whether the target has ended.
    pub ended: bool,
    /// Whether all that the target left has been shown.
    pub settled: bool,
    /// Seconds shown.
    pub window: f64,
    /// What covers the list.
    pub screenful: Option<Screenful>,
}

impl State {
    /// Nothing seen yet.
    pub fn new(what: &str, window: f64) -> Self {
        Self {
            what: what.to_owned(),
            view: View::default(),
            chosen: 0,
            height: 10,
            top: 0,
            stopped: false,
            ended: false,
            settled: false,
            window,
            screenful: None,
        }
    }

    /// Takes a new view; who has chosen a function keeps it under the bar, unless it is the
    /// first.
    pub fn show(&mut self, view: View) {
        let chosen = self.view.rows.get(self.chosen).map(|row| row.name.clone());
        self.view = view;
        if self.chosen > 0
            && let Some(name) = chosen
            && let Some(index) = self.view.rows.iter().position(|row| row.name == name)
        {
            self.chosen = index;
        }
        self.chosen = self.chosen.min(self.view.rows.len().saturating_sub(1));
        self.follow();
    }

    /// What a key does.
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
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(page),
            KeyCode::PageDown => self.chosen = (self.chosen + page).min(last),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('p' | ' ') => self.stopped = !self.stopped,
            KeyCode::Char('z') => {
                self.view = View::default();
                self.chosen = 0;
                self.top = 0;
                return Action::Forget;
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
                if let Some(row) = self.view.rows.get(self.chosen) {
                    return Action::Annotate(row.name.function.clone());
                }
            }
            _ => {}
        }
        self.follow();
        Action::None
    }

    /// Keeps the chosen row on the screen.
    pub fn follow(&mut self) {
        let height = self.height.max(1);
        if self.chosen < self.top {
            self.top = self.chosen;
        } else if self.chosen >= self.top + height {
            self.top = self.chosen + 1 - height;
        }
    }
}

#[cfg(test)]
mod tests {
    use genba_runtime::live::Row;
    use genba_runtime::names::Name;

    use super::*;

    fn view(names: &[&str]) -> View {
        let row = |name: &&str| Row {
            name: Name {
                function: (*name).to_owned(),
                module: "m".to_owned(),
                kernel: false,
            },
            samples: 1,
            share: 1.0 / names.len() as f64,
        };
        View {
            rows: names.iter().map(row).collect(),
            ..View::default()
        }
    }

    fn press(state: &mut State, code: KeyCode) -> Action {
        state.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn the_bar_moves_and_stays_on_the_screen() {
        let mut state = State::new("x", 10.0);
        state.show(view(&["a", "b", "c", "d", "e"]));
        state.height = 3;
        for _ in 0..9 {
            press(&mut state, KeyCode::Down);
        }
        assert_eq!((state.chosen, state.top), (4, 2));
        press(&mut state, KeyCode::Home);
        assert_eq!((state.chosen, state.top), (0, 0));
        press(&mut state, KeyCode::PageDown);
        assert_eq!(state.chosen, 2);
        assert_eq!(
            press(&mut state, KeyCode::Enter),
            Action::Annotate("c".to_owned())
        );
        assert_eq!(press(&mut state, KeyCode::Char('q')), Action::Quit);
    }

    #[test]
    fn a_chosen_function_is_followed_and_the_first_place_stays_first() {
        let mut state = State::new("x", 10.0);
        state.show(view(&["a", "b", "c"]));
        state.show(view(&["b", "a", "c"]));
        assert_eq!(state.chosen, 0);
        press(&mut state, KeyCode::Down);
        state.show(view(&["c", "b", "a"]));
        assert_eq!(state.view.rows[state.chosen].name.function, "a");
        state.show(view(&["c"]));
        assert_eq!(state.chosen, 0);
        state.show(view(&[]));
        assert_eq!(press(&mut state, KeyCode::Enter), Action::None);
    }

    #[test]
    fn an_annotation_scrolls_and_goes() {
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
    fn the_window_changes_in_steps() {
        let mut state = State::new("x", 10.0);
        assert_eq!(press(&mut state, KeyCode::Char('+')), Action::Window(20.0));
        press(&mut state, KeyCode::Char('-'));
        assert_eq!(press(&mut state, KeyCode::Char('-')), Action::Window(5.0));
    }
}
