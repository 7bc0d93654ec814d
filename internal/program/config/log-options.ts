import { logFormats, logLevels } from "../../base/log.ts";
import { inGroup, option } from "./option.ts";
import { oneOf } from "./scalar.ts";

/** The log of a daemon. */
export const logOptions = {
  ...inGroup("Health and logs", {
    log_level: option(oneOf(logLevels), "info", "minimum level to log"),
    log_format: option(
      oneOf(logFormats),
      "json",
      "form of log records: lines on standard error, or fields in the journal of the system",
    ),
  }),
};
