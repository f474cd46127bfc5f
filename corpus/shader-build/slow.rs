//! Builds shaders: a compiler process for each, whose code the program links afterwards.
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};

const CODE_WORDS: u32 = 40000;

/// What the compiler process does: its code goes to standard output, as text.
fn compile(shader: u32) {
    let mut state = shader + 1;
    let mut code = String::new();
    for _ in 0..CODE_WORDS {
        for _ in 0..3000 {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223) ^ state >> 11;
        }
        code.push_str(&state.to_string());
        code.push('\n');
    }
    print!("{code}");
}

fn start_compiler(shader: u32) -> io::Result<Child> {
    Command::new(std::env::current_exe()?).arg("--compile").arg(shader.to_string()).stdout(Stdio::piped()).spawn()
}

fn code_of(mut compiler: Child) -> io::Result<String> {
    let mut code = String::new();
    compiler.stdout.take().expect("stdout is piped").read_to_string(&mut code)?;
    compiler.wait()?;
    Ok(code)
}

/// Places the words of the code where their addresses are free.
fn link(code: &str) -> u64 {
    let mut sum = 0u64;
    for word in code.lines() {
        let mut address: u64 = word.parse().unwrap_or(0);
        for _ in 0..2500 {
            address = address.wrapping_mul(6364136223846793005) ^ address >> 27;
        }
        sum = sum.wrapping_mul(31).wrapping_add(address);
    }
    sum
}

fn build(shaders: u32) -> io::Result<u64> {
    let mut sum = 0u64;
    for shader in 0..shaders {
        let code = code_of(start_compiler(shader)?)?;
        sum = sum.wrapping_mul(31).wrapping_add(link(&code));
    }
    Ok(sum)
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [option, shader] if option == "--compile" => compile(shader.parse().unwrap_or(0)),
        _ => println!("{:016x}", build(arguments.first().and_then(|a| a.parse().ok()).unwrap_or(10))?),
    }
    Ok(())
}
