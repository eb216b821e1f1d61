import { writersTests } from "./writers-suite.js";

// A SQLite catalog is busy for all but one, again and again, which tells nothing of this.
writersTests({ catalog: "duckdb", data: "folder" });
