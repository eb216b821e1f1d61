import { killedRefreshes } from "./refresh-suite.js";

killedRefreshes("killed at each step, then the sources change again, then run again", {
  density: { inside: 1, outside: 1 },
  changeAgain: true,
});
