use wayleave_experiments::{Effort, Run, find};
fn main() {
    let mut args = std::env::args().skip(1);
    let id = args.next().unwrap();
    let effort = if args.next().as_deref() == Some("full") { Effort::Full } else { Effort::Quick };
    let figure = (find(&id).unwrap().measure)(&Run::new(effort)).unwrap();
    for s in &figure.statements {
        println!("{:?} | {} | {}", s.verdict, s.says, s.measured);
        for r in s.remarks() {
            println!("      {r}");
        }
    }
    for p in &figure.panels {
        println!("{}", p.title);
        for s in &p.series {
            println!(
                "  {:40} {}",
                s.name,
                s.points
                    .iter()
                    .map(|p| format!(
                        "{:?}: {:.4} {:?}",
                        p.x,
                        p.summary.mean,
                        p.summary.ci95.map(|c| ((c[1] - c[0]) / 2.0 * 1e3).round() / 1e3)
                    ))
                    .collect::<Vec<_>>()
                    .join("  ")
            );
        }
    }
    for t in &figure.tables {
        println!("{}\n{:?}", t.title, t.columns);
        for r in &t.rows {
            println!("  {r:?}");
        }
    }
}
