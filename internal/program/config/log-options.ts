import { logFormats, logLevels } from "../../base/log.ts";
import { option } from "./option.ts";
import { oneOf } from "./scalar.ts";

/** The log of a daemon. */
export const logOptions = {
  log_level: option({
    group: "Health and logs",
    type: oneOf(logLevels),
    default: "info",
    doc: "minimum level to log",
  }),
  log_format: option({
    group: "Health and logs",
    type: oneOf(logFormats),
    default: "json",
    doc: "form of log records: lines on standard error, or fields in the journal of the system",
  }),
};
