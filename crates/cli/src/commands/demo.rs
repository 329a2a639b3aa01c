//! `wayleave demo`: four tenants on one network; then one list of requests, offered to Wayleave and to Silo side by side; text, a picture and a page. [`serving`] leaves a
//! controller with it.

mod live;
mod serving;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use wayleave_explain::table::{fit, write_table};

use crate::demo::{DemoOptions, FabricDemo, Paint, USUAL_LIMIT, demo, fabric_demo};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{is_colourful, out, plain_table};
use crate::progress::Progress;

const EXAMPLE: &str = "\
Examples:
  wayleave demo --scenario 8 --seed 1 --out wayleave-demo
  wayleave demo --serve --count 500";

/// Demonstrate four tenants on one network, and compare admission with Silo (seconds)
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// Mix of flow types: Table 2 of Chameleon (CoNEXT 2020)
    #[arg(long, value_name = "1 TO 8", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    scenario: u8,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of requests
    #[arg(long, default_value_t = 2500, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    count: u32,
    /// Maximum number of admitted flows to reroute for a request
    #[arg(long, visible_alias = "reroute-limit", value_name = "LIMIT", default_value_t = USUAL_LIMIT,
        num_args = 0..=1, default_missing_value = "20")]
    reroute: u32,
    /// Directory of report.html and reservations.svg
    #[arg(long, value_name = "DIRECTORY", default_value = "wayleave-demo")]
    out: PathBuf,
    /// Run a controller with the four tenants, their simulated traffic, and these requests until Ctrl-C, without text and pictures
    #[arg(long)]
    serve: bool,
    /// Ledger of that controller [default: temporary]
    #[arg(long, value_name = "FILE", requires = "serve")]
    ledger: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let &DemoArgs { scenario, seed, count, reroute, .. } = args;
    let options = DemoOptions { scenario, seed, count, reroute };
    if args.serve {
        return serving::run(&options, args.ledger.as_deref());
    }
    let mut out = out();
    let fabric = fabric_demo()?;
    one_fabric(&fabric, args, &mut out)?;
    let is_kept = fabric.is_kept();
    let demo = demo(&options, &mut Progress::new(false))?.with_tenants(fabric.report());
    let [report, picture] = demo.write(&args.out)?;
    let paint = if is_colourful() { Paint::Ansi } else { Paint::Plain };
    out.write_all(demo.text(&report, &picture, paint).as_bytes())?;
    out.flush()?;
    Ok(if demo.is_sound() && is_kept { Exit::Fine } else { Exit::Unsound })
}

/// Shows four tenants on one network.
fn one_fabric(fabric: &FabricDemo, args: &DemoArgs, out: &mut impl Write) -> Result<(), Failure> {
    let picture = fabric.write(&args.out)?;
    writeln!(out, "{}\n", FabricDemo::SETTING)?;
    let mut table = plain_table(&FabricDemo::HEADS);
    for row in fabric.rows() {
        table.add_row(row);
    }
    fit(&mut table);
    write_table(out, &mut table)?;
    writeln!(out, "\nPicture: {picture}\n")?;
    out.flush()?;
    Ok(())
}
