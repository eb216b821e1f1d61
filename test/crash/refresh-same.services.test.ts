import { killedRefreshes } from "./refresh-suite.js";

killedRefreshes("killed at a step, then run again", {
  density: { inside: 1, outside: 8 },
  changeAgain: false,
});
