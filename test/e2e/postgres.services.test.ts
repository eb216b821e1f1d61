import { endToEnd } from "./suite.js";

endToEnd("postgres", "folder");
endToEnd("postgres", "s3");
