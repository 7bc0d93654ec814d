import { logFormats, logLevels } from "../../base/log.ts";
import { inGroup, option } from "./option.ts";
import { oneOf } from "./scalar.ts";

/** The log of a daemon. */
export const logOptions = {
  ...inGroup("Health and logs", {
    log_level: option({ type: oneOf(logLevels), default: "info", doc: "minimum level to log" }),
    log_format: option({
      type: oneOf(logFormats),
      default: "json",
      doc: "form of log records: lines on standard error, or fields in the journal of the system",
    }),
  }),
};
