#pragma once
#include <errno.h>
#include <sqlite3.h>

// Variadic functions and macros, which Swift cannot call.

/// Keeps the write-ahead log when the connection closes, instead of moving it into the database.
static inline int sqlite_shim_keep_log(sqlite3 *connection, int keeps) {
  return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}

/// Forbids statements that could damage the file's structure, and trusts nothing in the schema.
static inline int sqlite_shim_defend(sqlite3 *connection) {
  int result = sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  return result ? result : sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

/// The error number of the last system call on the database that failed; 0 if none has.
static inline int sqlite_shim_database_errno(sqlite3 *connection) {
  int number = 0;
  return sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK ? number : 0;
}

/// The same for its log.
static inline int sqlite_shim_log_errno(sqlite3 *connection) {
  int number = 0;
  sqlite3_file *log = (sqlite3_file *)0;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods
      && log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK) return number;
  return 0;
}

/// The error number of the last system call on the database or on its log that failed; 0 if none has.
///
/// SQLite reports a read that fails as damage: EIO becomes SQLITE_CORRUPT, or a line of the quick check.
static inline int sqlite_shim_file_errno(sqlite3 *connection) {
  int number = sqlite_shim_database_errno(connection);
  return number ? number : sqlite_shim_log_errno(connection);
}

/// Whether SQLite reports a read that fails with this number as SQLITE_CORRUPT (unixRead in os_unix.c).
static inline int sqlite_shim_is_taken_for_damage(int number) {
  return number == EIO || number == ENXIO || number == ERANGE;
}

/// The error number of a read that SQLite has reported as SQLITE_CORRUPT; 0 if there is none.
///
/// A call that succeeds does not clear the number. So any other number is of an earlier call, such as a write to a full
/// disk.
static inline int sqlite_shim_read_errno(sqlite3 *connection) {
  int number = sqlite_shim_database_errno(connection);
  if (sqlite_shim_is_taken_for_damage(number)) return number;
  number = sqlite_shim_log_errno(connection);
  return sqlite_shim_is_taken_for_damage(number) ? number : 0;
}

/// Binds bytes that SQLite copies.
static inline int sqlite_shim_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}
