#pragma once
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

/// The error number of the last system call on the database or on its log that failed; 0 if none has.
///
/// SQLite reports a read that fails as damage: EIO becomes SQLITE_CORRUPT, or a line of the quick check.
static inline int sqlite_shim_file_errno(sqlite3 *connection) {
  int number = 0;
  sqlite3_file *log = (sqlite3_file *)0;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK && number != 0) return number;
  number = 0;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log && log->pMethods
      && log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK) return number;
  return 0;
}

/// Binds bytes that SQLite copies.
static inline int sqlite_shim_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}
