import { endToEnd } from "./suite.js";

endToEnd("duckdb", "folder");
endToEnd("duckdb", "s3");
