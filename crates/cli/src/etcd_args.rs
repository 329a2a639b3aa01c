//! Options for an etcd: credentials, and encryption of the connection.

use std::path::PathBuf;

use clap::Args;
use wayleave_client::OwnCertificate;
use wayleave_server::cluster::{EtcdAccess, User};

/// Access to an etcd. Its members are named by another option.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Access to etcd")]
pub(crate) struct EtcdArgs {
    /// User of etcd, if it requires authentication
    #[arg(long, value_name = "NAME", requires = "etcd_password_file", requires = "etcd")]
    etcd_user: Option<String>,
    /// File with the user's password, readable by its owner only
    #[arg(long, value_name = "FILE", requires = "etcd_user")]
    etcd_password_file: Option<PathBuf>,
    /// Certificates (PEM) to trust in place of public authorities, for https:// members
    #[arg(long, value_name = "FILE", requires = "etcd")]
    etcd_ca: Option<PathBuf>,
    /// Client certificate (PEM) for members that request one
    #[arg(long, value_name = "FILE", requires = "etcd_key", requires = "etcd")]
    etcd_cert: Option<PathBuf>,
    /// Private key (PEM) of that certificate
    #[arg(long, value_name = "FILE", requires = "etcd_cert")]
    etcd_key: Option<PathBuf>,
}

impl EtcdArgs {
    /// Returns the access to these members.
    pub(crate) fn access(&self, members: Vec<String>) -> EtcdAccess {
        let Self { etcd_user, etcd_password_file, etcd_ca, etcd_cert, etcd_key } = self.clone();
        let user = etcd_user.zip(etcd_password_file).map(|(name, password_file)| User { name, password_file });
        let certificate = etcd_cert.zip(etcd_key).map(|(chain, key)| OwnCertificate { chain, key });
        EtcdAccess { members, ca: etcd_ca, certificate, user }
    }
}
