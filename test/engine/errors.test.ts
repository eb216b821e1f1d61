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
  ["FATAL Error: Failed: database has been invalidated because of a previous fatal error.", "engine_fatal"],
])("%s", (message, code) => {
  expect(engineError(new Error(message), (text) => text).code).toBe(code);
});
