//! Takes the words out of a page made of a text's lines: driver TEXT TIMES.

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use std::cell::{Cell, RefCell};

#[derive(Default)]
struct Words {
    text: RefCell<String>,
    tags: Cell<usize>,
    links: Cell<usize>,
}

impl TokenSink for Words {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::CharacterTokens(text) => self.text.borrow_mut().push_str(&text),
            Token::TagToken(Tag { kind: TagKind::StartTag, attrs, .. }) => {
                self.tags.set(self.tags.get() + 1);
                self.links.set(self.links.get() + attrs.iter().map(|attribute| attribute.value.len()).sum::<usize>());
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let text = std::fs::read_to_string(arguments.next().expect("a file")).expect("a text");
    let times: usize = arguments.next().expect("times").parse().expect("a number");
    let mut page = String::from("<!doctype html><title>Made up</title><body>");
    for (at, line) in text.lines().enumerate() {
        page += &format!("<p id=\"line-{at}\"><a href=\"/part/{at}#top\">{at}</a> {line} &amp; {line}</p>\n");
    }
    let (mut bytes, mut tags, mut links) = (0, 0, 0);
    for _ in 0..times {
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(&*page));
        let tokenizer = Tokenizer::new(Words::default(), Default::default());
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        bytes += tokenizer.sink.text.borrow().len();
        tags += tokenizer.sink.tags.get();
        links += tokenizer.sink.links.get();
    }
    println!("{bytes} {tags} {links}");
}
