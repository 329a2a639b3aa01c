//! Contexts saved by `wayleave login`: addresses of servers, and credentials for them. Only its owner can read the
//! file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wayleave_client::OwnCertificate;

use crate::failure::Failure;

/// A server, and the credential for it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    pub(crate) url: String,
    /// Absent if a certificate acts in its place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) token: Option<String>,
    /// Default tenant.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) tenant: Option<String>,
    /// Certificates to trust.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ca: Option<PathBuf>,
    /// The client's own certificate, and its private key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) cert: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) key: Option<PathBuf>,
}

impl Context {
    /// The client's own certificate.
    pub(crate) fn certificate(&self) -> Option<OwnCertificate> {
        Some(OwnCertificate { chain: self.cert.clone()?, key: self.key.clone()? })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("url", &self.url).field("token", &"not shown").finish_non_exhaustive()
    }
}

/// All that was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    /// Name of the default context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// Returns the path of the file: `$XDG_CONFIG_HOME/wayleave/client.toml`.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let base = base.ok_or_else(|| {
        Failure::Usage("neither XDG_CONFIG_HOME nor HOME is set: `wayleave login` has no directory for its file".into())
    })?;
    Ok(base.join("wayleave").join("client.toml"))
}

impl Contexts {
    /// Reads the saved contexts; none if there is no file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::Usage(format!("cannot read {}: {error}", path.display()))),
        };
        let mode = fs::metadata(path).map(|metadata| metadata.permissions().mode()).unwrap_or_default();
        if mode & 0o077 != 0 {
            crate::output::tell!(
                "warning: the tokens in {0} are readable by other users: run chmod 600 {0}",
                path.display()
            );
        }
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            // The message alone: the excerpt could show a token.
            Failure::Located(format!(
                "{}:{line}: {}\n  hint: `wayleave login` writes this file; it can be deleted",
                path.display(),
                error.message()
            ))
        })
    }

    /// Saves all, so that there is either the old file or the new one.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let fail = |error: io::Error| Failure::Internal(format!("cannot write {}: {error}", path.display()));
        let text = toml::to_string(self).map_err(|error| Failure::Internal(error.to_string()))?;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(fail)?;
        }
        let beside = path.with_extension("toml.new");
        write_private(&beside, &text).and_then(|()| fs::rename(&beside, path)).map_err(fail)
    }

    /// The one of a name, or the current one.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Option<&Context>, Failure> {
        let Some(wanted) = name.or(self.current.as_deref()) else { return Ok(None) };
        if let Some(context) = self.contexts.get(wanted) {
            return Ok(Some(context));
        }
        let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
        let known = if names.is_empty() {
            "no contexts are saved".to_owned()
        } else {
            format!("saved contexts: {}", names.join(", "))
        };
        Err(Failure::Usage(format!("no context {wanted}: {known}; `wayleave login --context {wanted}` creates it")))
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // A file that was there keeps its mode.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_context_is_read_back_and_readable_by_its_owner_only() {
        let directory = std::env::temp_dir().join(format!("wayleave-contexts-{}", std::process::id()));
        let path = directory.join("a").join("client.toml");
        let context = Context { url: "http://h".into(), token: Some("wl_secret".into()), ..Context::default() };
        let contexts = Contexts { current: Some("lab".into()), contexts: [("lab".to_owned(), context.clone())].into() };
        contexts.write(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        let read = Contexts::read(&path).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(read, contexts);
        assert_eq!(read.find(None).unwrap(), Some(&context));
        assert!(!format!("{read:?}").contains("wl_secret"));
        let missing = read.find(Some("prod")).unwrap_err().to_string();
        assert_eq!(missing, "error: no context prod: saved contexts: lab; `wayleave login --context prod` creates it");
    }
}
