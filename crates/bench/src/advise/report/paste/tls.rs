//! The TLS that the server was spoken to with, in the words of each line to paste.
//!
//! Not here: what the words mean (MySQL manual, "Command Options for Encrypted Connections").

use crate::advise::SslOption;

/// What was given on the command line; nothing where that left all to the defaults.
pub(super) struct Tls<'a>(&'a [SslOption]);

impl<'a> Tls<'a> {
    pub(super) fn new(options: &'a [SslOption]) -> Self {
        let is_default = matches!(options, [one] if one.name == MODE && one.value == "preferred");
        Self(if is_default { &[] } else { options })
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|option| option.name == name).map(|option| option.value.as_str())
    }

    fn mode(&self) -> &'a str {
        self.value(MODE).unwrap_or("preferred")
    }

    /// Whether there has to be TLS.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self.mode(), "preferred" | "disabled")
    }

    /// ` --ssl-mode=...`; MySQL's client knows no fingerprint.
    pub(super) fn of_mysql(&self) -> String {
        let mut text = String::new();
        for SslOption { name, value } in self.0.iter().filter(|option| option.name != FINGERPRINT) {
            let value = if *name == MODE { value.to_uppercase() } else { value.clone() };
            text.push_str(&format!(" --{name}={value}"));
        }
        text
    }

    /// ` --ssl ...` in the words of MariaDB's clients, which check the whole certificate or nothing.
    pub(super) fn of_mariadb(&self) -> String {
        if !self.is_wanted() {
            return String::new();
        }
        let mut text = " --ssl".to_owned();
        for name in [CA, CERT, KEY, FINGERPRINT] {
            if let Some(value) = self.value(name) {
                text.push_str(&format!(" --{name}={value}"));
            }
        }
        text.push_str(match self.mode() {
            "required" => "",
            _ => " --ssl-verify-server-cert",
        });
        text
    }

    /// Keys of `wirepress.toml` for a server leg.
    pub(super) fn of_server_leg(&self) -> Vec<String> {
        self.0.iter().map(|option| format!("{} = {:?}", option.name, option.value)).collect()
    }

    /// Keys of `wirepress.toml` for a client leg that is as safe: beside the server, with the server's own certificate,
    /// so that clients may check the same.
    pub(super) fn of_client_leg(&self) -> Vec<String> {
        if !self.is_wanted() {
            return Vec::new();
        }
        let lines = [
            "tls = \"required\"",
            "tls-cert = \"DATADIR_OF_THE_SERVER/server-cert.pem\"",
            "tls-key = \"DATADIR_OF_THE_SERVER/server-key.pem\"",
        ];
        lines.map(str::to_owned).to_vec()
    }

    /// `&sslMode=...`, Connector/J's words; authorities stand in a key store there.
    pub(super) fn of_connector_j(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut text = format!("&sslMode={}", self.mode().to_uppercase());
        if self.value(CA).is_some() {
            text.push_str("&trustCertificateKeyStoreUrl=file:TRUST_STORE");
        }
        if self.value(CERT).is_some() {
            text.push_str("&clientCertificateKeyStoreUrl=file:KEY_STORE");
        }
        text
    }

    /// `&tls=...` of go-sql-driver: files are read by the program, which registers them under a name.
    pub(super) fn of_go(&self) -> &'static str {
        match (self.is_wanted(), self.value(CA).or_else(|| self.value(CERT)), self.mode()) {
            (false, ..) => "",
            (true, Some(_), _) => "&tls=NAME_OF_REGISTERED_TLS_CONFIG",
            (true, None, "required") => "&tls=skip-verify",
            (true, None, _) => "&tls=true",
        }
    }

    /// What mysqli is told before it connects, and its flags behind `MYSQLI_CLIENT_COMPRESS`.
    pub(super) fn of_mysqli(&self) -> (Option<String>, &'static str) {
        if !self.is_wanted() {
            return (None, "");
        }
        let file = |name| self.value(name).map_or_else(|| "null".to_owned(), |path| format!("'{path}'"));
        let has_files = [CA, CERT].iter().any(|name| self.value(name).is_some());
        let set = has_files
            .then(|| format!("$link->ssl_set({}, {}, {}, null, null);", file(KEY), file(CERT), file(CA)));
        let checks = self.mode() != "required";
        let flags = if checks {
            " | MYSQLI_CLIENT_SSL"
        } else {
            " | MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT"
        };
        (set, flags)
    }
}

const MODE: &str = "ssl-mode";
const CA: &str = "ssl-ca";
const CERT: &str = "ssl-cert";
const KEY: &str = "ssl-key";
const FINGERPRINT: &str = "ssl-fp";

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&'static str, &str)]) -> Vec<SslOption> {
        given.iter().map(|(name, value)| SslOption { name, value: (*value).to_owned() }).collect()
    }

    #[test]
    fn what_was_not_asked_for_is_not_told() {
        for options in [options(&[]), options(&[(MODE, "preferred")])] {
            let tls = Tls::new(&options);
            assert_eq!(tls.of_mysql() + &tls.of_connector_j() + tls.of_go(), "");
            assert_eq!(tls.of_mysqli(), (None, ""));
            assert_eq!([tls.of_server_leg(), tls.of_client_leg()].concat(), Vec::<String>::new());
        }
    }

    #[test]
    fn each_is_told_in_its_own_words() {
        let given = options(&[(MODE, "verify_ca"), (CA, "/ca.pem"), (CERT, "/me.pem"), (KEY, "/me.key")]);
        let tls = Tls::new(&given);
        assert_eq!(
            tls.of_mysql(),
            " --ssl-mode=VERIFY_CA --ssl-ca=/ca.pem --ssl-cert=/me.pem --ssl-key=/me.key"
        );
        assert_eq!(tls.of_server_leg()[..2], ["ssl-mode = \"verify_ca\"", "ssl-ca = \"/ca.pem\""]);
        assert_eq!(tls.of_client_leg()[0], "tls = \"required\"");
        assert_eq!(
            tls.of_connector_j(),
            "&sslMode=VERIFY_CA&trustCertificateKeyStoreUrl=file:TRUST_STORE\
             &clientCertificateKeyStoreUrl=file:KEY_STORE"
        );
        assert_eq!(tls.of_go(), "&tls=NAME_OF_REGISTERED_TLS_CONFIG");
        let set = "$link->ssl_set('/me.key', '/me.pem', '/ca.pem', null, null);".to_owned();
        assert_eq!(tls.of_mysqli(), (Some(set), " | MYSQLI_CLIENT_SSL"));

        let pinned = options(&[(MODE, "required"), (FINGERPRINT, "AA:BB")]);
        let tls = Tls::new(&pinned);
        assert_eq!(tls.of_mysql(), " --ssl-mode=REQUIRED");
        assert_eq!(tls.of_server_leg(), ["ssl-mode = \"required\"", "ssl-fp = \"AA:BB\""]);
        assert_eq!(tls.of_go(), "&tls=skip-verify");
        assert!(tls.of_mysqli().1.contains("DONT_VERIFY"));

        let off = options(&[(MODE, "disabled")]);
        let tls = Tls::new(&off);
        assert_eq!(tls.of_mysql() + &tls.of_connector_j(), " --ssl-mode=DISABLED&sslMode=DISABLED");
        assert!(tls.of_client_leg().is_empty());
    }
}
