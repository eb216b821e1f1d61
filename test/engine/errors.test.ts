/** DuckDB tells the kind of an error by its words only; these are words that it was seen to use. */
import { expect, test } from "vitest";
import { engineError } from "../../src/engine/errors.js";

test.each([
  ['IO Error: Could not write file "/x/data/main/t/a.parquet": No space left on device', "disk_full"],
  [
    'TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\nFailed to execute query "COMMIT": database or disk is full',
    "disk_full",
  ],
  [
    "Invalid Error: Failed to commit DuckLake transaction. Could not write to WAL: No space left on device",
    "disk_full",
  ],
  [
    'TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\nTransaction conflict - attempting to delete from table with index "3"',
    "conflict",
  ],
  ["IO Error: database is locked", "catalog_busy"],
  [
    'TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\nFailed to flush changes into DuckLake: Failed to execute query "INSERT INTO ducklake_snapshot VALUES (8)": ERROR:  permission denied for table ducklake_snapshot\n',
    "database_denied",
  ],
  [
    'TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\nFailed to execute query "INSERT …": ERROR:  cannot execute INSERT in a read-only transaction',
    "database_denied",
  ],
  [
    'Failed to commit DuckLake transaction.\nFailed to execute query "COMMIT": attempt to write a readonly database',
    "database_denied",
  ],
  // Words of a row are not those of the error.
  [
    'Failed to commit DuckLake transaction.\nFailed to execute query "INSERT INTO ducklake_inlined_data_1_1 VALUES (\'permission denied for x\')": ERROR:  duplicate key value violates unique constraint "ducklake_snapshot_pkey"\nDETAIL:  Key (snapshot_id)=(8) already exists.',
    "conflict",
  ],
  ["FATAL Error: Failed: database has been invalidated because of a previous fatal error.", "engine_fatal"],
])("%s", (message, code) => {
  expect(engineError(new Error(message), (text) => text).code).toBe(code);
});

test("an error of the catalog's server does not repeat the statement, which may hold rows", () => {
  const message =
    'Failed to commit DuckLake transaction.\nFailed to flush changes into DuckLake: Failed to execute query "INSERT INTO a VALUES (\'x": y\');\nINSERT INTO b VALUES (1)": ERROR:  duplicate key value';
  expect(engineError(new Error(message), (text) => text).message).toBe(
    "Another writer changed the lake first. Failed to commit DuckLake transaction.\nFailed to flush changes into DuckLake: ERROR:  duplicate key value",
  );
});
