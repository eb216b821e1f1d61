import { z } from "zod";

/** The value of `float_sums`, in the configuration and in a view's header. */
export const floatSums = z.enum(["reread", "fold"], { error: "must be reread or fold" });

export const FLOAT_SUMS_HELP =
  "reread evaluates groups with changed rows anew, fold adds and takes away, which is cheaper and rounds at every step.";
