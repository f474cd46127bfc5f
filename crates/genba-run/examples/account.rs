//! `account COMMAND…`: what `time -v` says, told apart by target and processes beside it.

fn main() -> Result<(), genba_run::RunError> {
    let spec = genba_run::CommandSpec::direct(std::env::args_os().skip(1));
    let mut launcher = genba_run::Launcher::new()?;
    let finished = launcher.run(&spec, &genba_run::Cancel::new()?)?;
    println!("{finished:#?}");
    Ok(())
}
