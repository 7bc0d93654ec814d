import { value } from "../../program/command-line/mod.ts";

export const credsArg = value(
  "file",
  "Credentials of a master (master.creds); operator credentials cannot read everything",
  { required: true },
);
