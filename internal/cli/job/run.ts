import { parseDuration } from "../../base/duration.ts";
import { command } from "../command.ts";
import { readFlag } from "../flag.ts";

/** Stands at the top of the tree, so what it needs is only loaded when it runs. */
export const runCommand = command({
  name: "run",
  description: "Run a function on peels and show what each answers.",
  args: {
    target: { type: "positional", required: true, description: "Glob on the peel id, such as 'web-*'" },
    function: { type: "positional", required: true, description: "module.function, such as test.ping" },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "60s",
      description: "How long a peel may take",
    },
  },
  async run(args, cli) {
    readFlag("--timeout", args.timeout, parseDuration);
    const { runJob } = await import("./dispatch.ts");
    await runJob({ target: args.target, function: args.function, timeout: args.timeout }, cli);
  },
});
