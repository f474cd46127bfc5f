//! Turns small pictures into style sheets: finds each picture's colours, names them, writes the rows by runs.

use std::collections::HashMap;

struct Picture {
    width: usize,
    pixels: Vec<u32>,
}

struct Palette {
    index: HashMap<u32, usize>,
    colours: Vec<u32>,
}

impl Palette {
    fn of(picture: &Picture) -> Self {
        let (mut index, mut colours) = (HashMap::new(), Vec::new());
        let mut last = None;
        for &pixel in &picture.pixels {
            if last == Some(pixel) {
                continue;
            }
            last = Some(pixel);
            index.entry(pixel).or_insert_with(|| {
                colours.push(pixel);
                colours.len() - 1
            });
        }
        Palette { index, colours }
    }

    fn nearest(&self, colour: u32) -> usize {
        if let Some(&found) = self.index.get(&colour) {
            return found;
        }
        let channel = |c: u32, shift: u32| (c >> shift & 255) as i32;
        let distance = |c: &u32| [0, 8, 16].iter().map(|&s| (channel(*c, s) - channel(colour, s)).pow(2)).sum::<i32>();
        (0..self.colours.len()).min_by_key(|&i| distance(&self.colours[i])).unwrap_or(0)
    }
}

fn css_colour(colour: u32) -> String {
    let mut text = String::with_capacity(7);
    text.push('#');
    for shift in [20, 16, 12, 8, 4, 0] {
        text.push(b"0123456789abcdef"[(colour >> shift & 15) as usize] as char);
    }
    text
}

fn write_number(sheet: &mut String, value: usize) {
    if value >= 10 {
        write_number(sheet, value / 10);
    }
    sheet.push((b'0' + (value % 10) as u8) as char);
}

fn write_rows(sheet: &mut String, picture: &Picture) {
    for (y, row) in picture.pixels.chunks(picture.width).enumerate() {
        sheet.push_str("tr:nth-child(");
        write_number(sheet, y + 1);
        sheet.push_str(") { background: linear-gradient(to right");
        let mut x = 0;
        while x < row.len() {
            let run = row[x..].iter().take_while(|&&p| p == row[x]).count();
            sheet.push_str(", ");
            sheet.push_str(&css_colour(row[x]));
            sheet.push(' ');
            write_number(sheet, x);
            sheet.push_str("px ");
            write_number(sheet, x + run);
            sheet.push_str("px");
            x += run;
        }
        sheet.push_str("); }\n");
    }
}

fn export(sheet: &mut String, picture: &Picture, accent: u32) {
    let palette = Palette::of(picture);
    sheet.push_str(":root { --accent: ");
    sheet.push_str(&css_colour(palette.colours[palette.nearest(accent)]));
    sheet.push_str("; }\n");
    write_rows(sheet, picture);
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let side = arguments.first().copied().unwrap_or(32);
    let count = arguments.get(1).copied().unwrap_or(20);
    let mut state = 83u32;
    let mut random = move || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        state >> 8
    };
    let (mut sum, mut sheet) = (0u64, String::new());
    for _ in 0..count {
        let colours: Vec<u32> = (0..24).map(|_| random() & 0xFFFFFF).collect();
        let mut picture = Picture { width: side, pixels: Vec::with_capacity(side * side) };
        while picture.pixels.len() < side * side {
            let colour = colours[random() as usize >> 4 & 15];
            let run = 1 + random() as usize % 12;
            picture.pixels.extend(std::iter::repeat(colour).take(run.min(side * side - picture.pixels.len())));
        }
        sheet.clear();
        export(&mut sheet, &picture, random() & 0xFFFFFF);
        sum = sheet.bytes().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    }
    println!("{sum:016x}");
}
