import type { ArgsDef } from "citty";

/** Options that several `svc ca` commands share. */
export const dirArg = {
  type: "string",
  valueHint: "directory",
  default: "/var/lib/svc/auth/ca",
  description: "CA directory",
} as const;

/** Options of the commands that issue a certificate. */
export const issueArgs = {
  dir: dirArg,
  out: { type: "string", valueHint: "directory", default: ".", description: "Where the files are written" },
  validity: {
    type: "string",
    valueHint: "duration",
    default: "8760h",
    description: "How long it is valid; never longer than the intermediate",
  },
  force: { type: "boolean", description: "Replace files that exist; without it nothing is overwritten" },
} as const satisfies ArgsDef;
