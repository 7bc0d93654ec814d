import { flag, value } from "../program/command-line/mod.ts";

/** The arguments of a command that looks at storage itself when no master answers. */
export const directArgs = {
  direct: flag("Read storage directly, with direct.creds, for use when no master answers"),
  creds: value("file", "Credentials for --direct (default: direct.creds next to master.creds_file)"),
} as const;

/** What was given of them. */
export interface DirectWords {
  direct?: boolean | undefined;
  creds?: string | undefined;
}
