import { mirrors } from "./suite.js";

mirrors("ducklake", 2);
