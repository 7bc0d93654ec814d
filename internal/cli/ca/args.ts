import type { ArgsDef } from "citty";
import { flag, value } from "../../program/command-line/mod.ts";

/** Common options of the `svc ca` commands. */
export const dirArg = value("directory", "CA directory", { default: "/var/lib/svc/auth/ca" });

/** Options of the commands that issue a certificate. */
export const issueArgs = {
  dir: dirArg,
  out: value("directory", "Output directory", { default: "." }),
  validity: value("duration", "Validity of the certificate; it never outlives the intermediate", {
    default: "8760h",
  }),
  force: flag("Overwrite existing files"),
} as const satisfies ArgsDef;
