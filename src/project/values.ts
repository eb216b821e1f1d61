/** Values that the configuration and the headers of views have in common. */
import { z } from "zod";
import { PERIOD, PERIOD_HELP, parsePeriod } from "./period.js";
import { expected } from "./shape.js";

export const floatSums = z.enum(["reread", "fold"], { error: "must be reread or fold" });

export const FLOAT_SUMS_HELP =
  "reread evaluates groups with changed rows anew, fold adds and takes away, which is cheaper and rounds at every step.";

/** A length of time such as `12h`, in milliseconds. */
export const period = z
  .string({ error: expected("a length of time") })
  .regex(PERIOD, "is not a length of time")
  .transform((value) => parsePeriod(value) ?? z.NEVER);

export const TARGET_LAG_HELP = `How far views may be behind before \`refresh --if-older-than\` takes them. ${PERIOD_HELP}`;
