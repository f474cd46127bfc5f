//! Runs the command given for as long as it takes: something for the tests to kill with -9.

fn main() -> Result<(), genba_run::RunError> {
    let spec = genba_run::CommandSpec::direct(std::env::args_os().skip(1));
    let mut launcher = genba_run::Launcher::new()?;
    let running = launcher.start(&spec)?;
    println!("{}", running.pid());
    let finished = running.wait(&genba_run::Cancel::new()?)?;
    println!("{:#?}", finished);
    Ok(())
}
