import { lostFiles } from "./lost-files.js";

lostFiles({ catalog: "postgres", data: "s3" });
