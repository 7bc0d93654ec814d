import { SvcError } from "../../base/errors.ts";
import { command, value, word } from "../../program/command-line/mod.ts";

/** Imported by the command tree, so it loads its own imports only when it runs. */
export const canCommand = command({
  name: "can",
  description: "See whether you may do something, and by which rule. The exit code is 1 if you may not.",
  examples: [
    "svc can run 'web-*' service.restart",
    "svc can run 'web-*' state.apply environment=test",
    "svc can enrollments approve --role approver",
  ],
  args: {
    role: value("role", "Ask for an operator who has this role, or these, separated by commas"),
    words: word(
      "What: run TARGET FUNCTION [ARGUMENTS], upgrade TARGET, rollout TARGET FUNCTION [ARGUMENTS], or a kind and an action such as enrollments approve",
      { rest: true },
    ),
  },
  async run({ words: { words, literal }, role }, cli) {
    const requested = [...words, ...literal];
    if (requested.length === 0) {
      throw new SvcError(
        "usage",
        "say what: run TARGET FUNCTION, or a kind and an action such as enrollments approve",
      );
    }
    const { printMayDo } = await import("./may-do.ts");
    await printMayDo(requested, role?.split(","), cli);
  },
});
