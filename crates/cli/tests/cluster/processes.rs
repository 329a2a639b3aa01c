//! Members of etcd and controllers as processes. They end with the test, also when that is killed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wayleave_replica::EtcdAccess;
use wayleave_repo_checks::{KilledChild, TempFolder, wait_for, wait_until};

use super::clients::get;

/// A controller or a member of etcd.
pub(crate) struct Process(KilledChild);

impl Process {
    pub(crate) fn start(log: &Path, arguments: &[String]) -> Self {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(KilledChild(child))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.0.id() as i32), signal);
    }

    pub(crate) fn wait(&mut self) {
        let _ = self.0.wait();
    }

    /// Exit of the process: `Some(true)` for success; `None` while it runs.
    pub(crate) fn ended(&mut self) -> Option<bool> {
        self.0.try_wait().unwrap().map(|status| status.success())
    }

    /// Stops one of its threads, and no other part, until [`Self::thaw`] is called by this thread of the test.
    pub(crate) fn freeze(&self, thread: &str) -> Pid {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap().flatten();
        let is_it = |task: &std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == thread)
        };
        let task = tasks.into_iter().find(is_it).unwrap_or_else(|| panic!("no thread {thread}"));
        let task = Pid::from_raw(task.file_name().to_str().unwrap().parse().unwrap());
        ptrace::seize(task, ptrace::Options::empty()).unwrap();
        ptrace::interrupt(task).unwrap();
        waitpid(task, Some(WaitPidFlag::__WALL)).unwrap();
        task
    }

    pub(crate) fn thaw(task: Pid) {
        ptrace::detach(task, None).unwrap();
    }
}

/// A path to an address that can be cut and delayed.
struct Proxy {
    address: SocketAddr,
    fault: Arc<LinkFault>,
}

/// Fault of the connection to etcd.
#[derive(Default)]
struct LinkFault {
    is_cut: AtomicBool,
    /// In each direction, in milliseconds.
    delay: AtomicU64,
}

impl Proxy {
    fn to(there: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, fault) = (listener.local_addr().unwrap(), Arc::<LinkFault>::default());
        let of = fault.clone();
        spawn(move || {
            for here in listener.incoming().flatten() {
                let Ok(there) = TcpStream::connect(there) else { continue };
                for (from, to) in [(&here, &there), (&there, &here)] {
                    let _ = to.set_nodelay(true);
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let ((late, on_time), of) = (channel(), [of.clone(), of.clone()]);
                    let [of_reader, of_writer] = of;
                    spawn(move || read(from, &late, &of_reader));
                    spawn(move || write(&on_time, to, &of_writer));
                }
            }
        });
        Self { address, fault }
    }
}

/// Bytes, and when they arrive.
type Late = (Instant, Vec<u8>);

fn read(mut from: TcpStream, late: &Sender<Late>, fault: &LinkFault) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let at = Instant::now() + Duration::from_millis(fault.delay.load(Relaxed));
        if late.send((at, bytes[..count].to_vec())).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Read);
}

/// Bytes that come while it is cut are held back, as by a network that drops them, without a report to either end.
fn write(on_time: &Receiver<Late>, mut to: TcpStream, fault: &LinkFault) {
    while let Ok((at, bytes)) = on_time.recv() {
        sleep(at.saturating_duration_since(Instant::now()));
        while fault.is_cut.load(Relaxed) {
            sleep(Duration::from_millis(5));
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// Ports without a listener.
pub(crate) fn free<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// Members that speak to one another.
pub(crate) struct Etcd {
    members: Vec<Process>,
    pub(crate) ports: Vec<u16>,
}

impl Etcd {
    pub(crate) fn start(folder: &Path, count: usize) -> Self {
        let etcd = Self::start_with(folder, count, "http", &[]);
        for port in &etcd.ports {
            wait_until("etcd answers", || ureq::get(format!("http://127.0.0.1:{port}/health")).call().is_ok());
        }
        etcd
    }

    /// Starts an etcd whose clients speak by this scheme, with further options.
    pub(crate) fn start_with(folder: &Path, count: usize, scheme: &str, more: &[(&str, String)]) -> Self {
        let (clients, peers): ([u16; 3], [u16; 3]) = (free(), free());
        let peer = |at: usize| format!("http://127.0.0.1:{}", peers[at]);
        let all: Vec<String> = (0..count).map(|at| format!("m{at}={}", peer(at))).collect();
        let member = |at: usize| {
            let client = format!("{scheme}://127.0.0.1:{}", clients[at]);
            let options = [
                ("name", format!("m{at}")),
                ("data-dir", folder.join(format!("m{at}")).display().to_string()),
                ("listen-client-urls", client.clone()),
                ("advertise-client-urls", client),
                ("listen-peer-urls", peer(at)),
                ("initial-advertise-peer-urls", peer(at)),
                ("initial-cluster", all.join(",")),
                ("log-level", "error".to_owned()),
            ];
            let options = options.iter().chain(more).map(|(name, value)| format!("--{name}={value}"));
            let arguments: Vec<String> = std::iter::once("etcd".to_owned()).chain(options).collect();
            Process::start(&folder.join("etcd.log"), &arguments)
        };
        Self { members: (0..count).map(member).collect(), ports: clients[..count].to_vec() }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.members.iter().for_each(|member| member.signal(signal));
    }

    /// Asks the first member something that its operators ask.
    pub(crate) fn ask(&self, path: &str, body: &Value) -> Value {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let sent = agent.post(format!("http://127.0.0.1:{}/v3/{path}", self.ports[0])).send(body.to_string());
        serde_json::from_str(&sent.unwrap().body_mut().read_to_string().unwrap()).unwrap()
    }

    /// Deletes keys, from one up to another.
    pub(crate) fn delete(&self, from: &str, to: &str) {
        let key = |text: &str| STANDARD.encode(text);
        let answer = self.ask("kv/deleterange", &json!({ "key": key(from), "range_end": key(to) }));
        assert!(answer["deleted"].is_string(), "{from}: {answer}");
    }

    pub(crate) fn access(&self) -> EtcdAccess {
        EtcdAccess { members: vec![self.urls()], ..EtcdAccess::default() }
    }

    pub(crate) fn urls(&self) -> String {
        self.ports.iter().map(|port| format!("http://127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }
}

/// Returns the operator's token that controllers of a folder have made, or an empty text before that.
pub(crate) fn token(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("token")).unwrap_or_default().trim().to_owned()
}

/// Returns the role of a controller of a folder, if it answers.
pub(crate) fn role(folder: &Path, url: &str) -> Option<String> {
    get(url, "/v1/status", &token(folder)).map(|(role, _)| role)
}

/// Waits until a controller of a folder has a role.
pub(crate) fn until_role(folder: &Path, url: &str, expected: &str) {
    wait_for(&format!("{url} is {expected}"), || (role(folder, url)? == expected).then_some(()));
}

/// A folder for one test.
pub(crate) fn folder(name: &str) -> TempFolder {
    TempFolder::within(env!("CARGO_TARGET_TMPDIR"), &format!("cluster-{name}"))
}

pub(crate) struct Controllers {
    folder: TempFolder,
    etcd: Etcd,
    /// Of each controller, to each member.
    proxies: Vec<Vec<Proxy>>,
    ports: [u16; 3],
    running: Vec<Option<Process>>,
    /// Files that take up the space of a disk.
    ballast: Vec<Option<PathBuf>>,
    /// A thread that is stopped.
    frozen: Option<Pid>,
}

impl Controllers {
    pub(crate) fn start() -> Self {
        let folder = folder("controllers");
        let etcd = Etcd::start(&folder, 3);
        let path = |port: &u16| Proxy::to(SocketAddr::from(([127, 0, 0, 1], *port)));
        let proxies: Vec<Vec<Proxy>> = (0..3).map(|_| etcd.ports.iter().map(path).collect()).collect();
        own_mounts();
        let mut controllers = Self {
            folder,
            etcd,
            proxies,
            ports: free(),
            running: Vec::new(),
            ballast: vec![None, None, None],
            frozen: None,
        };
        for at in 0..3 {
            controllers.make_disk(at);
            controllers.running.push(None);
            controllers.restart(at);
        }
        controllers
    }

    fn disk(&self, at: usize) -> PathBuf {
        self.folder.join(format!("disk{at}"))
    }

    /// A disk of its own if that is allowed, so that it can be full.
    fn make_disk(&self, at: usize) {
        let disk = self.disk(at);
        std::fs::create_dir_all(&disk).unwrap();
        let _ = mount(Some("tmpfs"), &disk, Some("tmpfs"), MsFlags::empty(), Some("size=32m"));
    }

    pub(crate) fn url(&self, at: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[at])
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        (0..3).map(|at| self.url(at)).collect()
    }

    pub(crate) fn token(&self) -> String {
        token(&self.folder)
    }

    pub(crate) fn role(&self, at: usize) -> Option<String> {
        role(&self.folder, &self.url(at))
    }

    pub(crate) fn leader(&self) -> Option<usize> {
        (0..3).find(|&at| self.role(at).as_deref() == Some("leader"))
    }

    pub(crate) fn restart(&mut self, at: usize) {
        let etcd: Vec<String> = self.proxies[at].iter().map(|path| format!("http://{}", path.address)).collect();
        let arguments = [
            env!("CARGO_BIN_EXE_wayleave").to_owned(),
            "serve".to_owned(),
            "-t".to_owned(),
            "fat-tree:k=4".to_owned(),
            format!("--ledger={}", self.disk(at).join("copy.db").display()),
            format!("--listen=127.0.0.1:{}", self.ports[at]),
            format!("--etcd={}", etcd.join(",")),
            format!("--operator-token-file={}", self.folder.join("token").display()),
            "--log-level=warn".to_owned(),
        ];
        self.running[at] = Some(Process::start(&self.folder.join(format!("controller{at}.log")), &arguments));
    }

    pub(crate) fn kill(&mut self, at: usize) {
        self.running[at] = None;
    }

    pub(crate) fn pause(&self, at: usize) {
        self.signal(at, Signal::SIGSTOP);
    }

    pub(crate) fn wake(&self, at: usize) {
        self.signal(at, Signal::SIGCONT);
    }

    pub(crate) fn end(&mut self, at: usize) {
        self.signal(at, Signal::SIGTERM);
        if let Some(mut process) = self.running[at].take() {
            process.wait();
        }
    }

    /// A member of etcd accepts connections and does not answer, from now on or no more.
    pub(crate) fn hang_member(&self, at: usize, hangs: bool) {
        self.etcd.members[at].signal(if hangs { Signal::SIGSTOP } else { Signal::SIGCONT });
    }

    pub(crate) fn cut(&self, at: usize, is_cut: bool) {
        for path in &self.proxies[at] {
            path.fault.is_cut.store(is_cut, Relaxed);
        }
    }

    /// From now on everything between a controller and etcd takes longer by `delay`, in each direction.
    pub(crate) fn delay(&self, at: usize, delay: Duration) {
        for path in &self.proxies[at] {
            path.fault.delay.store(delay.as_millis() as u64, Relaxed);
        }
    }

    /// Controller that exited although no test ended it, with its last message.
    pub(crate) fn has_failed(&mut self, at: usize) -> Option<String> {
        self.running[at].as_mut()?.ended()?;
        let log = std::fs::read_to_string(self.folder.join(format!("controller{at}.log"))).unwrap_or_default();
        Some(log.lines().last().unwrap_or_default().to_owned())
    }

    /// The engine of a controller does nothing any more, while all its other threads continue.
    pub(crate) fn freeze(&mut self, at: usize) {
        self.frozen = self.running[at].as_ref().map(|process| process.freeze("engine"));
    }

    pub(crate) fn thaw(&mut self) {
        self.frozen.take().into_iter().for_each(Process::thaw);
    }

    /// Takes all space of its disk; without a disk of its own it is killed.
    pub(crate) fn fill(&mut self, at: usize) {
        let file = self.disk(at).join("ballast");
        let is_own =
            std::fs::read_to_string("/proc/thread-self/mounts").unwrap().contains(&*self.disk(at).to_string_lossy());
        if !is_own {
            return self.kill(at);
        }
        let mut ballast = std::fs::File::create(&file).unwrap();
        while ballast.write_all(&[7; 4096]).is_ok() {}
        self.ballast[at] = Some(file);
    }

    /// There is space again.
    pub(crate) fn empty(&mut self, at: usize) {
        match self.ballast[at].take() {
            Some(file) => std::fs::remove_file(file).unwrap(),
            None => self.restart(at),
        }
    }

    fn signal(&self, at: usize, signal: Signal) {
        if let Some(process) = &self.running[at] {
            process.signal(signal);
        }
    }
}

/// File systems that this thread and its processes mount from now on end with them, also when they are killed.
/// Without the right to do this nothing can be mounted either.
fn own_mounts() {
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).unwrap();
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.running.clear();
        for at in 0..3 {
            let _ = umount(&self.disk(at));
        }
    }
}
