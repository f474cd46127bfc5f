//! Renders the inline markup of comments (emphasis, code, links, entities, mentions) as HTML.

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 20) as u32) % n
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Emphasis,
    Strong,
    Deleted,
}

#[derive(Default, Debug)]
struct Counts {
    emphasis: u64,
    code: u64,
    links: u64,
    mentions: u64,
    escaped: u64,
    breaks: u64,
}

struct Renderer<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<Mark>,
    out: &'a mut Vec<u8>,
    counts: &'a mut Counts,
}

/// What one kind of markup does where it begins: true if it took something.
type Rule = for<'a, 'b> fn(&'b mut Renderer<'a>) -> bool;

static RULES: [Rule; 8] = [
    |r| r.backslash(),
    |r| r.emphasis(),
    |r| r.deleted(),
    |r| r.code_span(),
    |r| r.link(),
    |r| r.mention(),
    |r| r.entity(),
    |r| r.line_break(),
];

impl<'a> Renderer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn find(&self, from: usize, byte: u8) -> Option<usize> {
        self.text[from..].iter().position(|&b| b == byte).map(|p| p + from)
    }

    fn escape_into(out: &mut Vec<u8>, text: &[u8]) {
        for &b in text {
            match b {
                b'&' => out.extend_from_slice(b"&amp;"),
                b'<' => out.extend_from_slice(b"&lt;"),
                b'>' => out.extend_from_slice(b"&gt;"),
                b'"' => out.extend_from_slice(b"&quot;"),
                _ => out.push(b),
            }
        }
    }

    fn backslash(&mut self) -> bool {
        if self.peek(0) != b'\\' || !self.peek(1).is_ascii_punctuation() {
            return false;
        }
        let literal = [self.peek(1)];
        Self::escape_into(self.out, &literal);
        self.counts.escaped += 1;
        self.at += 2;
        true
    }

    fn toggle(&mut self, mark: Mark, tag: &str) {
        let closing = self.open.contains(&mark);
        if closing {
            self.open.retain(|&m| m != mark);
        } else {
            self.open.push(mark);
        }
        self.out.extend_from_slice(if closing { b"</" } else { b"<" });
        self.out.extend_from_slice(tag.as_bytes());
        self.out.push(b'>');
        self.counts.emphasis += 1;
    }

    fn emphasis(&mut self) -> bool {
        let c = self.peek(0);
        if c != b'*' && c != b'_' {
            return false;
        }
        if self.peek(1) == c {
            self.toggle(Mark::Strong, "strong");
            self.at += 2;
        } else {
            self.toggle(Mark::Emphasis, "em");
            self.at += 1;
        }
        true
    }

    fn deleted(&mut self) -> bool {
        if self.peek(0) != b'~' || self.peek(1) != b'~' {
            return false;
        }
        self.toggle(Mark::Deleted, "del");
        self.at += 2;
        true
    }

    fn code_span(&mut self) -> bool {
        if self.peek(0) != b'`' {
            return false;
        }
        let Some(end) = self.find(self.at + 1, b'`') else { return false };
        self.out.extend_from_slice(b"<code>");
        Self::escape_into(self.out, &self.text[self.at + 1..end]);
        self.out.extend_from_slice(b"</code>");
        self.counts.code += 1;
        self.at = end + 1;
        true
    }

    fn link(&mut self) -> bool {
        if self.peek(0) != b'[' {
            return false;
        }
        let Some(close) = self.find(self.at + 1, b']') else { return false };
        if self.text.get(close + 1) != Some(&b'(') {
            return false;
        }
        let Some(end) = self.find(close + 2, b')') else { return false };
        self.out.extend_from_slice(b"<a href=\"");
        Self::escape_into(self.out, &self.text[close + 2..end]);
        self.out.extend_from_slice(b"\">");
        Self::escape_into(self.out, &self.text[self.at + 1..close]);
        self.out.extend_from_slice(b"</a>");
        self.counts.links += 1;
        self.at = end + 1;
        true
    }

    fn mention(&mut self) -> bool {
        if self.peek(0) != b'@' || (self.at > 0 && self.text[self.at - 1].is_ascii_alphanumeric()) {
            return false;
        }
        let name = &self.text[self.at + 1..];
        let length = name.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
        if length == 0 {
            return false;
        }
        self.out.extend_from_slice(b"<b>@");
        self.out.extend_from_slice(&name[..length]);
        self.out.extend_from_slice(b"</b>");
        self.counts.mentions += 1;
        self.at += 1 + length;
        true
    }

    fn entity(&mut self) -> bool {
        let c = self.peek(0);
        if c != b'&' && c != b'<' && c != b'>' && c != b'"' {
            return false;
        }
        Self::escape_into(self.out, &[c]);
        self.counts.escaped += 1;
        self.at += 1;
        true
    }

    fn line_break(&mut self) -> bool {
        if self.peek(0) != b'\n' {
            return false;
        }
        self.out.extend_from_slice(b"<br>\n");
        self.counts.breaks += 1;
        self.at += 1;
        true
    }

    fn render(&mut self) {
        while self.at < self.text.len() {
            if RULES.iter().any(|rule| rule(self)) {
                continue;
            }
            self.out.push(self.text[self.at]);
            self.at += 1;
        }
        while let Some(mark) = self.open.pop() {
            let tag: &[u8] = match mark {
                Mark::Emphasis => b"</em>",
                Mark::Strong => b"</strong>",
                Mark::Deleted => b"</del>",
            };
            self.out.extend_from_slice(tag);
        }
    }
}

/// The beginning of a comment for a list: letters without tags, cut at a word.
fn excerpt(html: &[u8], limit: usize, out: &mut Vec<u8>) {
    out.clear();
    let mut inside = false;
    for &b in html {
        match b {
            b'<' => inside = true,
            b'>' if inside => inside = false,
            _ if inside => {}
            b'\n' => out.push(b' '),
            _ => out.push(b),
        }
        if out.len() >= limit {
            break;
        }
    }
    while out.last().is_some_and(|&b| b != b' ') && out.len() >= limit / 2 {
        out.pop();
    }
}

fn digest(seed: u64, text: &[u8]) -> u64 {
    let mut h = seed;
    for chunk in text.chunks_exact(8) {
        let w = u64::from_le_bytes(chunk.try_into().unwrap());
        h = (h ^ w).wrapping_mul(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    h ^ text.len() as u64
}

fn make_comment(random: &mut Random) -> String {
    const WORDS: [&str; 12] =
        ["thanks", "the", "review", "looks", "good", "please", "rebase", "on", "main", "before", "merging", "failure"];
    let mut text = String::new();
    for _ in 0..20 + random.below(60) {
        let word = WORDS[random.below(12) as usize];
        match random.below(70) {
            0 => text += &format!("*{word}*"),
            1 => text += &format!("**{word}**"),
            2 => text += &format!("`{word}({word} < 3)`"),
            3 => text += &format!("[{word}](https://example.org/{word}?a=1&b=2)"),
            4 => text += &format!("@{word}-{}", random.below(90)),
            5 => text += &format!("~~{word}~~ \\*"),
            6 => text += &format!("\"{word}\" & co"),
            7 => text += &format!("{word}.\n"),
            _ => text += word,
        }
        text.push(' ');
    }
    text
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100);
    let mut random = Random(0x853c49e6748fea9b);
    let comments: Vec<String> = (0..2000).map(|_| make_comment(&mut random)).collect();
    let (mut html, mut short) = (Vec::new(), Vec::new());
    let mut counts = Counts::default();
    let mut sum = 0;
    for _ in 0..rounds {
        for comment in &comments {
            html.clear();
            let text = comment.as_bytes();
            Renderer { text, at: 0, open: Vec::new(), out: &mut html, counts: &mut counts }.render();
            excerpt(&html, 80, &mut short);
            sum = digest(digest(sum, &html), &short);
        }
    }
    println!("{counts:?} {sum:016x}");
}
