import type { ArgsDef } from "citty";

/** Common options of the `svc ca` commands. */
export const dirArg = {
  type: "string",
  valueHint: "directory",
  default: "/var/lib/svc/auth/ca",
  description: "CA directory",
} as const;

/** Options of the commands that issue a certificate. */
export const issueArgs = {
  dir: dirArg,
  out: { type: "string", valueHint: "directory", default: ".", description: "Output directory" },
  validity: {
    type: "string",
    valueHint: "duration",
    default: "8760h",
    description: "Validity of the certificate; it never outlives the intermediate",
  },
  force: { type: "boolean", description: "Overwrite existing files" },
} as const satisfies ArgsDef;
