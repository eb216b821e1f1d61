import { endToEnd } from "./suite.js";

endToEnd("sqlite", "folder");
endToEnd("sqlite", "s3");
