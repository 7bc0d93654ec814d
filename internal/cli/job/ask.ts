export const jidArg = {
  type: "positional",
  required: true,
  description: "Job id, job-…",
  ids: "jobs",
} as const;

/** The flags that choose what is shown of the answers. */
export const answerArgs = {
  failed: { type: "boolean", description: "Show only peels that did not end well" },
  terse: { type: "boolean", description: "Show of states only the counts, and what failed" },
  full: { type: "boolean", description: "Show each peel in a row of its own, with its whole answer" },
} as const;

/** The flags as they were given. */
export function readAnswerArgs(
  args: {
    [name in keyof typeof answerArgs]?: boolean | undefined;
  },
): { failed: boolean; terse: boolean; full: boolean } {
  return { failed: args.failed === true, terse: args.terse === true, full: args.full === true };
}
