import { lostFiles } from "./lost-files.js";

lostFiles({ catalog: "duckdb", data: "folder" });
