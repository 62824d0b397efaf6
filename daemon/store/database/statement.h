/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statement: SQL next to the code that binds its values and reads its columns
 *
 * Values are bound in the order of the statement's parameters, and a run asserts that every parameter has a value.
 * Columns are read by numbers from an enum next to the SQL; preparing asserts the number of columns. Each connection
 * prepares a statement when it is first used. The linker puts all statements into one array, so that each statement
 * has a number, and all can be checked when the database is opened.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "json/json_text.h"
#include "store/database/pack.h"

typedef struct StoreRow StoreRow;

typedef struct Statement {
        const char *sql;     /* NULL: a gap between the statements of two files */
        int n_columns;       /* number of columns of a row; 0: the statement returns no rows */
        const StoreRow *row; /* or NULL; sql then begins behind the list of columns */
} __attribute__((aligned(16))) Statement;

#define SQL(text, n) { .sql = text, .n_columns = n }
/* A statement that selects the columns of an array or of COLUMNS(), members of a struct. tail: " FROM …". */
#define COLUMNS(...) ((const StoreColumn[]){ __VA_ARGS__ })
#define SELECT(Type, columns_, tail) \
        { .sql = tail, .n_columns = N_ELEMENTS(columns_), .row = &(const StoreRow){ columns_, N_ELEMENTS(columns_), sizeof(Type) } }

/* Declares a statement, or an array of statements. */
#define STATEMENT static const Statement __attribute__((section("statements")))

/* The array of all statements, which the linker bounds by these two names. */
extern const Statement __start_statements[], __stop_statements[];

/* A statement as one connection has prepared it. */
typedef struct Prepared {
        const Statement *statement;
        sqlite3_stmt *handle; /* owned; NULL: not prepared yet, or could not be prepared */
        int n_bound;          /* parameters that have a value */
        int code;             /* error code of SQLite that explains why handle is NULL */
} Prepared;

#define STATEMENT_CACHE_SLOTS 256

/* Prepared statements of one connection, by the number of the statement. */
typedef struct StatementCache {
        Prepared slots[STATEMENT_CACHE_SLOTS];
} StatementCache;

/*
 * Rows that the SQL function visible(UID) admits, for statements that list rows of users: WHERE … AND visible(uid).
 * Zeroed: all of them. visible(-1) is false while rows of users are hidden.
 */
typedef struct VisibleRows {
        bool is_hiding;
        int64_t uid; /* the user whose rows are visible; -1: nobody's are */
} VisibleRows;

/* Defines visible(); `rows` is borrowed, NULL: all rows are visible. Returns a code of SQLite. */
int statement_define_visible(sqlite3 *db, const VisibleRows *rows);

void statement_put_sql(const Statement *statement, Buffer *out);
/* Prepares a statement; flags: SQLITE_PREPARE_…. Returns a code of SQLite. */
int statement_prepare(sqlite3 *db, const Statement *statement, unsigned flags, sqlite3_stmt **ret);

/* Returns the statement, without values. Borrowed until the cache is cleared. */
Prepared *statement_cache_get(StatementCache *cache, sqlite3 *db, const Statement *statement);
/* Resets all statements, which ends their read transaction. */
void statement_cache_reset(StatementCache *cache);
/* Call before the connection is closed. */
void statement_cache_clear(StatementCache *cache);

/* True if each parameter has a value. */
bool statement_is_bound(const Prepared *prepared);

/* Binds a value to the next parameter. Texts and blobs are copied, or else must stay until the statement ran. */
void statement_bind(Prepared *prepared, const Field *fields, size_t n, bool is_copied);

/* For a statement that is prepared outside of a cache. */
static inline void statement_finalizep(sqlite3_stmt **handle) {
        sqlite3_finalize(*handle);
}

/* Columns of the current row, borrowed until the next step. */
static inline bool column_is_null(const Prepared *prepared, int i) {
        return sqlite3_column_type(prepared->handle, i) == SQLITE_NULL;
}

static inline int64_t column_i64(const Prepared *prepared, int i) {
        return sqlite3_column_int64(prepared->handle, i);
}

static inline uint64_t column_u64(const Prepared *prepared, int i) {
        return (uint64_t)sqlite3_column_int64(prepared->handle, i);
}

static inline double column_double(const Prepared *prepared, int i) {
        return sqlite3_column_double(prepared->handle, i);
}

/* NULL: null, or out of memory. */
static inline const char *column_text(const Prepared *prepared, int i) {
        return (const char *)sqlite3_column_text(prepared->handle, i);
}

static inline size_t column_bytes(const Prepared *prepared, int i) {
        return (size_t)sqlite3_column_bytes(prepared->handle, i);
}

/* Empty JsonText: null. */
static inline JsonText column_json(const Prepared *prepared, int i) {
        const char *text = column_text(prepared, i);

        return json_text(text, text ? column_bytes(prepared, i) : 0);
}

/* Bytes of a column; NULL: null. */
typedef struct Blob {
        const void *bytes;
        size_t n;
} Blob;

static inline Blob column_blob(const Prepared *prepared, int i) {
        const void *bytes = sqlite3_column_blob(prepared->handle, i);

        return (Blob){ bytes, bytes ? column_bytes(prepared, i) : 0 };
}

/* Members of a struct as columns, one after the other: each is said once. The types follow from the members. */
typedef enum ColumnType {
        COLUMN_I64,
        COLUMN_U64,
        COLUMN_I32, /* -1: negative or out of range */
        COLUMN_U32, /* 0: out of range */
        COLUMN_DOUBLE,
        COLUMN_TEXT, /* const char *, borrowed until the next step */
        COLUMN_BLOB, /* Blob, borrowed until the next step */
        COLUMN_JSON, /* JsonText, borrowed until the next step */
        COLUMN_COPY, /* char[n], truncated */
        COLUMN_ID,   /* uint8_t[n]; unchanged if null, or of another length */
} ColumnType;

typedef struct StoreColumn {
        const char *sql; /* expression that selects the column */
        ColumnType type;
        bool is_required; /* a text that is never null: NULL means out of memory */
        size_t offset, n; /* offset of the member */
        size_t has;       /* offset of a bool that is true if the column has a value; 0: none */
} StoreColumn;

struct StoreRow {
        const StoreColumn *columns;
        size_t n, n_bytes; /* n_bytes: of the struct */
};

#define COLUMN_MEMBER(Type, member) (((Type *)0)->member)
#define COLUMN_OF(Type, member)                                                                                \
        .type = _Generic(COLUMN_MEMBER(Type, member), int64_t: COLUMN_I64, uint64_t: COLUMN_U64,               \
                         int32_t: COLUMN_I32, uint32_t: COLUMN_U32, double: COLUMN_DOUBLE,                     \
                         const char *: COLUMN_TEXT, JsonText: COLUMN_JSON, Blob: COLUMN_BLOB,                  \
                         char *: COLUMN_COPY, uint8_t *: COLUMN_ID),                                           \
        .offset = offsetof(Type, member), .n = sizeof(COLUMN_MEMBER(Type, member))
#define COLUMN(Type, member, expression) { expression, COLUMN_OF(Type, member) }
#define COLUMN_REQUIRED(Type, member, expression) { expression, COLUMN_OF(Type, member), .is_required = true }
#define COLUMN_OPTIONAL(Type, member, has_member, expression)                                                          \
        { expression, COLUMN_OF(Type, member), .has = offsetof(Type, has_member) }

/* Reads the current row of a SELECT() into *ret; other members of the struct stay. False: out of memory. */
bool statement_read(const Prepared *prepared, void *ret);

/* Copies a text for the caller; *ret is unchanged if null. 0 or -ENOMEM. */
int statement_column_copy(const Prepared *prepared, int i, char **ret);
