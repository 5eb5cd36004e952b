//! Command bytes: the first byte of the first packet of a command.
//!
//! Source: MySQL `include/my_command.h`, MariaDB `include/mysql_com.h`.
//! Not here: what each is answered with (`conversation::reply`).

#![allow(missing_docs, reason = "each constant is a name of MySQL's manual")]

pub const COM_SLEEP: u8 = 0x00;
pub const COM_QUIT: u8 = 0x01;
pub const COM_INIT_DB: u8 = 0x02;
pub const COM_QUERY: u8 = 0x03;
pub const COM_FIELD_LIST: u8 = 0x04;
pub const COM_CREATE_DB: u8 = 0x05;
pub const COM_DROP_DB: u8 = 0x06;
pub const COM_REFRESH: u8 = 0x07;
pub const COM_SHUTDOWN: u8 = 0x08;
pub const COM_STATISTICS: u8 = 0x09;
pub const COM_PROCESS_INFO: u8 = 0x0a;
pub const COM_CONNECT: u8 = 0x0b;
pub const COM_PROCESS_KILL: u8 = 0x0c;
pub const COM_DEBUG: u8 = 0x0d;
pub const COM_PING: u8 = 0x0e;
pub const COM_CHANGE_USER: u8 = 0x11;
pub const COM_BINLOG_DUMP: u8 = 0x12;
pub const COM_TABLE_DUMP: u8 = 0x13;
pub const COM_REGISTER_SLAVE: u8 = 0x15;
pub const COM_STMT_PREPARE: u8 = 0x16;
pub const COM_STMT_EXECUTE: u8 = 0x17;
pub const COM_STMT_SEND_LONG_DATA: u8 = 0x18;
pub const COM_STMT_CLOSE: u8 = 0x19;
pub const COM_STMT_RESET: u8 = 0x1a;
pub const COM_SET_OPTION: u8 = 0x1b;
pub const COM_STMT_FETCH: u8 = 0x1c;
pub const COM_BINLOG_DUMP_GTID: u8 = 0x1e;
pub const COM_RESET_CONNECTION: u8 = 0x1f;
pub const COM_CLONE: u8 = 0x20;
pub const COM_SUBSCRIBE_GROUP_REPLICATION_STREAM: u8 = 0x21;
/// MariaDB: execution of many rows at once.
pub const COM_STMT_BULK_EXECUTE: u8 = 0xfa;

/// What MySQL's process list calls a command.
pub const fn name(command: u8) -> &'static str {
    match command {
        COM_QUIT => "Quit",
        COM_INIT_DB => "Init DB",
        COM_QUERY => "Query",
        COM_FIELD_LIST => "Field List",
        COM_STATISTICS => "Statistics",
        COM_PROCESS_INFO => "Processlist",
        COM_PROCESS_KILL => "Kill",
        COM_PING => "Ping",
        COM_CHANGE_USER => "Change user",
        COM_BINLOG_DUMP => "Binlog Dump",
        COM_BINLOG_DUMP_GTID => "Binlog Dump GTID",
        COM_TABLE_DUMP => "Table Dump",
        COM_REGISTER_SLAVE => "Register Replica",
        COM_STMT_PREPARE => "Prepare",
        COM_STMT_EXECUTE | COM_STMT_BULK_EXECUTE => "Execute",
        COM_STMT_SEND_LONG_DATA => "Long Data",
        COM_STMT_CLOSE => "Close stmt",
        COM_STMT_RESET => "Reset stmt",
        COM_SET_OPTION => "Set option",
        COM_STMT_FETCH => "Fetch",
        COM_RESET_CONNECTION => "Reset Connection",
        COM_CLONE => "Clone",
        _ => "Other",
    }
}
