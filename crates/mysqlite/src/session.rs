//! One connection from its greeting to its end: the command loop.
//!
//! Invariants: every command but COM_QUIT, COM_STMT_CLOSE and COM_STMT_SEND_LONG_DATA is answered; an error of
//! a statement ends the statement, one of the protocol or the socket ends the session.
//!
//! Not here: the login (`login`), SQL (behind `Engine`), rows (`reply`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use wire::command as com;
use wire::response::{OkPacket, eof};
use wire::{Capabilities, Reader, write_lenenc_bytes};

use crate::change_user::ChangeUser;
use crate::engine::{Engine, Identity, Value};
use crate::fault::{Fault, SqlFault};
use crate::login;
use crate::parameters::{Bound, Parameter};
use crate::reply::{RowFormat, Writer, send_fault};
use crate::server::Shared;
use crate::sessions::Process;
use crate::stream::{Connection, Stream};

/// Serves one client until it goes.
pub(crate) fn serve(stream: Stream, shared: &Shared) -> Result<(), Fault> {
    let id = shared.sessions.next_id();
    let (host, is_local) = (stream.host(), stream.is_local());
    let limits = &shared.options.limits;
    let process = Process {
        id,
        user: "unauthenticated user".to_owned(),
        host: host.clone(),
        schema: None,
        command: "Connect",
        since: Instant::now(),
    };
    let added = shared.sessions.add(process, stream.try_clone()?);
    let mut connection = Connection::new(stream, limits.login, limits.write)?;
    match added {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(fault) => return send_fault(&mut connection, &fault),
    }
    let _entry = Entry { shared, id };
    let client = match login::login(&mut connection, &shared.options, id, &host, is_local) {
        Ok(Some(client)) => client,
        Ok(None) => return Ok(()),
        Err(Fault::Sql(fault)) => return send_fault(&mut connection, &fault),
        Err(fault) => return Err(fault),
    };
    let level = match client.leg.algorithm {
        codec::Algorithm::Uncompressed => 0,
        codec::Algorithm::Zlib => login::ZLIB_LEVEL,
        codec::Algorithm::Zstd => client.leg.zstd_level.map_or(3, codec::ZstdLevel::get),
    };
    let identity = Identity {
        id,
        user: client.user.clone(),
        host: host.clone(),
        algorithm: client.leg.algorithm,
        level,
        tls: connection.tls_names(),
    };
    let mut engine = match shared.database.connect(identity, Arc::clone(&shared.sessions)) {
        Ok(engine) => engine,
        Err(fault) => return send_fault(&mut connection, &fault),
    };
    if let Some(Err(fault)) = client.database.as_ref().map(|database| engine.use_schema(database)) {
        return send_fault(&mut connection, &fault);
    }
    shared.sessions.set_interrupt(id, engine.interrupter());
    shared.sessions.update(id, |process| {
        process.user.clone_from(&client.user);
        process.schema.clone_from(&client.database);
        process.command = "Sleep";
    });
    login::welcome(&mut connection, client.leg.algorithm, level)?;
    connection.logged_in(limits.idle)?;
    let mut session = Session {
        connection,
        engine,
        shared,
        id,
        host,
        capabilities: client.capabilities,
        multi_statements: client.capabilities.contains(Capabilities::MULTI_STATEMENTS),
        nonce: client.nonce,
        statements: HashMap::new(),
    };
    while session.command()? {}
    Ok(())
}

/// Takes the connection off the list, however it ends.
struct Entry<'a> {
    shared: &'a Shared,
    id: u32,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.shared.sessions.remove(self.id);
    }
}

struct Session<'a> {
    connection: Connection,
    engine: Box<dyn Engine>,
    shared: &'a Shared,
    id: u32,
    host: String,
    capabilities: Capabilities,
    multi_statements: bool,
    nonce: Vec<u8>,
    statements: HashMap<u32, Bound>,
}

impl Session<'_> {
    /// Reads and answers one command. Does another one follow?
    fn command(&mut self) -> Result<bool, Fault> {
        let packet = match self.connection.packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => return Ok(false),
            Err(Fault::Sql(fault)) => {
                // The rest of an oversized packet cannot be told from the next command.
                send_fault(&mut self.connection, &fault)?;
                return Ok(false);
            }
            Err(fault) => return Err(fault),
        };
        let (&code, argument) = packet.split_first().unwrap_or((&com::COM_SLEEP, &[]));
        if code == com::COM_QUIT {
            return Ok(false);
        }
        self.shared.sessions.questions.fetch_add(1, Ordering::Relaxed);
        self.note(command_name(code));
        let result = self.answer(code, argument);
        self.note("Sleep");
        match result {
            Ok(()) => self.connection.flush()?,
            Err(Fault::Sql(fault)) => send_fault(&mut self.connection, &fault)?,
            Err(fault) => return Err(fault),
        }
        Ok(true)
    }

    fn note(&self, command: &'static str) {
        self.shared.sessions.update(self.id, |process| {
            (process.command, process.since) = (command, Instant::now());
        });
    }

    fn answer(&mut self, code: u8, argument: &[u8]) -> Result<(), Fault> {
        match code {
            com::COM_QUERY => {
                let status = self.engine.status();
                let mut writer =
                    Writer::new(&mut self.connection, self.capabilities, RowFormat::Text, status);
                self.engine.query(argument, self.multi_statements, &mut writer)
            }
            com::COM_STMT_PREPARE => self.prepare(argument),
            com::COM_STMT_EXECUTE => self.execute(argument),
            com::COM_STMT_SEND_LONG_DATA => {
                self.long_data(argument);
                Ok(())
            }
            com::COM_STMT_CLOSE => {
                if let Ok(id) = Reader::new(argument).u32() {
                    self.statements.remove(&id);
                    self.engine.close(id);
                }
                Ok(())
            }
            com::COM_STMT_RESET => {
                let id = statement_id(argument)?;
                self.statements.get_mut(&id).ok_or(SqlFault::UnknownStatement(id))?.reset();
                self.ok()
            }
            com::COM_INIT_DB => {
                let schema = String::from_utf8_lossy(argument).into_owned();
                self.use_schema(&schema)?;
                self.ok()
            }
            com::COM_PING => self.ok(),
            com::COM_FIELD_LIST => self.field_list(argument),
            com::COM_STATISTICS => self.statistics(),
            com::COM_SET_OPTION => {
                let option = Reader::new(argument).u16().map_err(|_| SqlFault::UnknownCommand)?;
                self.multi_statements = option == 0;
                self.end_of_rows()
            }
            com::COM_RESET_CONNECTION => {
                self.statements.clear();
                self.engine.reset()?;
                self.ok()
            }
            com::COM_CHANGE_USER => self.change_user(argument),
            _ => Err(SqlFault::UnknownCommand.into()),
        }
    }

    fn ok(&mut self) -> Result<(), Fault> {
        let ok = OkPacket { status: self.engine.status(), ..OkPacket::default() };
        self.connection.send(&ok.build(0))
    }

    fn end_of_rows(&mut self) -> Result<(), Fault> {
        let status = self.engine.status();
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.connection.send(&OkPacket { status, ..OkPacket::default() }.build(eof::HEADER))
        } else {
            self.connection.send(&eof::build(0, status))
        }
    }

    fn use_schema(&mut self, schema: &str) -> Result<(), SqlFault> {
        self.engine.use_schema(schema)
    }

    /// ```text
    /// 00 | 4 id | 2 columns | 2 parameters | 00 | 2 warnings      then both lists of definitions
    /// ```
    fn prepare(&mut self, sql: &[u8]) -> Result<(), Fault> {
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(SqlFault::TooManyStatements(STATEMENTS_MAX).into());
        }
        let prepared = self.engine.prepare(sql)?;
        let count = |len: usize| u16::try_from(len).unwrap_or(u16::MAX);
        let mut head = vec![0];
        head.extend(prepared.id.to_le_bytes());
        head.extend(count(prepared.columns.len()).to_le_bytes());
        head.extend(count(prepared.param_count).to_le_bytes());
        head.extend([0, 0, 0]);
        self.connection.send(&head)?;
        let parameter = crate::column::Column::expression("?", crate::column::FieldType::VarString);
        let parameters = vec![parameter; prepared.param_count];
        let status = self.engine.status();
        let mut writer = Writer::new(&mut self.connection, self.capabilities, RowFormat::Binary, status);
        for list in [&parameters, &prepared.columns] {
            if !list.is_empty() {
                writer.definitions(list)?;
            }
        }
        self.statements.insert(prepared.id, Bound::new(prepared.param_count));
        Ok(())
    }

    fn execute(&mut self, argument: &[u8]) -> Result<(), Fault> {
        let id = statement_id(argument)?;
        let bound = self.statements.get_mut(&id).ok_or(SqlFault::UnknownStatement(id))?;
        // After the id come the cursor flags, which are not needed (all rows are sent), and a constant 1.
        let parameters = bound.parse(argument.get(9..).unwrap_or_default())?;
        let values: Vec<Value<'_>> = parameters.iter().map(Parameter::value).collect();
        let status = self.engine.status();
        let mut writer = Writer::new(&mut self.connection, self.capabilities, RowFormat::Binary, status);
        self.engine.execute(id, &values, &mut writer)
    }

    fn long_data(&mut self, argument: &[u8]) {
        let mut reader = Reader::new(argument);
        let (Ok(id), Ok(index)) = (reader.u32(), reader.u16()) else { return };
        if let Some(bound) = self.statements.get_mut(&id) {
            bound.append(usize::from(index), reader.rest());
        }
    }

    /// COM_FIELD_LIST: definitions with one more field, the column's default.
    fn field_list(&mut self, argument: &[u8]) -> Result<(), Fault> {
        let name = Reader::new(argument).nul_terminated_or_rest();
        let mut payload = Vec::new();
        for (column, default) in self.engine.fields(&String::from_utf8_lossy(name))? {
            payload.clear();
            column.build(&mut payload);
            match default {
                Some(default) => write_lenenc_bytes(&mut payload, default.as_bytes()),
                None => payload.push(0xfb),
            }
            self.connection.send(&payload)?;
        }
        self.end_of_rows()
    }

    fn statistics(&mut self) -> Result<(), Fault> {
        let sessions = &self.shared.sessions;
        let uptime_s = sessions.started.elapsed().as_secs();
        let questions = sessions.questions.load(Ordering::Relaxed);
        let text = format!(
            "Uptime: {uptime_s}  Threads: {}  Questions: {questions}  Slow queries: 0  Opens: 0  Flush tables: 0  \
             Open tables: 0  Queries per second avg: {:.3}",
            sessions.processes().len(),
            questions as f64 / (uptime_s.max(1)) as f64
        );
        self.connection.send(text.as_bytes())
    }

    fn change_user(&mut self, argument: &[u8]) -> Result<(), Fault> {
        let change = ChangeUser::parse(argument)?;
        let options = &self.shared.options;
        let (user, host) = (&change.user, &self.host);
        login::authenticate(&mut self.connection, options, user, host, change.proof, &self.nonce)??;
        self.statements.clear();
        self.engine.reset()?;
        self.engine.change_user(&change.user);
        if let Some(database) = &change.database {
            self.use_schema(database)?;
        }
        self.shared.sessions.update(self.id, |process| process.user.clone_from(&change.user));
        self.ok()
    }
}

fn statement_id(argument: &[u8]) -> Result<u32, SqlFault> {
    Reader::new(argument).u32().map_err(|_| SqlFault::MalformedPacket("a statement id"))
}

/// Prepared at once by one session, MySQL's default for all of them.
const STATEMENTS_MAX: usize = 16_382;

/// What SHOW PROCESSLIST calls a command.
fn command_name(code: u8) -> &'static str {
    match code {
        com::COM_STMT_PREPARE => "Prepare",
        com::COM_STMT_EXECUTE => "Execute",
        com::COM_STMT_CLOSE => "Close stmt",
        com::COM_INIT_DB => "Init DB",
        com::COM_FIELD_LIST => "Field List",
        com::COM_PING => "Ping",
        com::COM_CHANGE_USER => "Change user",
        com::COM_RESET_CONNECTION => "Reset Connection",
        _ => "Query",
    }
}
