import { type Cli, choice } from "../program/command-line/mod.ts";
import type { Turns } from "../tree/check/mod.ts";

/** As `states.salt_compat` of masters. */
export const checkCompats = ["strict", "salt", "bridge"] as const;

/** A command has nothing else to do while it checks. */
export const turnsOf = ({ clock }: Pick<Cli, "clock">): Turns => ({
  pause: async () => {},
  now: clock.monotonic,
});

export const checkArg = choice(
  ["syntax", "compile"],
  "What is checked, as states.check of masters; compile also compiles for one peel of each kind, with facts and settings from a master",
  { default: "syntax" },
);
