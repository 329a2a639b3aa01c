//! The options that say who asks an etcd, and how the way to it is encrypted.

use std::path::PathBuf;

use clap::Args;
use wayleave_client::OwnCertificate;
use wayleave_server::cluster::{Access, User};

/// Access to an etcd. Its members are named by another option.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Access to etcd")]
pub(crate) struct EtcdArgs {
    /// The user of etcd, if it wants one
    #[arg(long, value_name = "NAME", requires = "etcd_password_file", requires = "etcd")]
    etcd_user: Option<String>,
    /// The file with the user's password, which nobody else may read; it is read again whenever etcd wants it
    #[arg(long, value_name = "FILE", requires = "etcd_user")]
    etcd_password_file: Option<PathBuf>,
    /// Certificates (PEM) to trust in place of those of the web, for https:// addresses of members
    #[arg(long, value_name = "FILE", requires = "etcd")]
    etcd_ca: Option<PathBuf>,
    /// The certificate (PEM) that is shown to members that ask for one
    #[arg(long, value_name = "FILE", requires = "etcd_key", requires = "etcd")]
    etcd_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_cert")]
    etcd_key: Option<PathBuf>,
}

impl EtcdArgs {
    /// The way to these members.
    pub(crate) fn access(&self, members: Vec<String>) -> Access {
        let Self { etcd_user, etcd_password_file, etcd_ca, etcd_cert, etcd_key } = self.clone();
        let user = etcd_user.zip(etcd_password_file).map(|(name, password_file)| User { name, password_file });
        let certificate = etcd_cert.zip(etcd_key).map(|(chain, key)| OwnCertificate { chain, key });
        Access { members, ca: etcd_ca, certificate, user }
    }
}
