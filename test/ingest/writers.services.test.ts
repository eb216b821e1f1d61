import { writersTests } from "./writers-suite.js";

writersTests({ catalog: "postgres", data: "folder" });
