import { flag, word } from "../../program/command-line/mod.ts";

export const jidArg = word("Job id, job-…", { required: true, ids: "jobs" });

/** The flags that choose what is shown of the answers. */
export const answerArgs = {
  failed: flag("Show only peels that did not end well"),
  terse: flag("Show of states only the counts, and what failed"),
  full: flag("Show each peel in a row of its own, with its whole answer"),
} as const;

/** The flags as they were given. */
export function readAnswerArgs(
  args: {
    [name in keyof typeof answerArgs]?: boolean | undefined;
  },
): { failed: boolean; terse: boolean; full: boolean } {
  return { failed: args.failed === true, terse: args.terse === true, full: args.full === true };
}
