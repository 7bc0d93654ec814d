import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { command, readFlag } from "../../program/command-line/mod.ts";
import { parseBatchSize } from "./batch.ts";

/** Imported by the command tree, so it loads its own imports only when it runs. */
export const runCommand = command({
  name: "run",
  description: "Run a function on peels and show the results.",
  args: {
    target: {
      type: "positional",
      required: true,
      description: "Target: a glob on the peel id, such as 'web-*', or a compound expression",
      ids: "members",
    },
    function: {
      type: "positional",
      required: true,
      description: "module.function, such as test.ping",
      ids: "functions",
    },
    args: {
      type: "positional",
      rest: true,
      description: "Arguments, positional or as name=value; words after -- are passed literally",
    },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "60s",
      description: "Timeout of the job: after it no peel starts, and running functions are stopped",
    },
    async: { type: "boolean", description: "Print the job id and do not wait" },
    batch: {
      type: "string",
      valueHint: "n|n%",
      description: "Number of peels per batch; each batch starts when the previous one has ended",
    },
    "batch-wait": {
      type: "string",
      valueHint: "duration",
      description: "Pause between two batches",
    },
    preview: { type: "boolean", description: "Show the peels that match, and run nothing" },
  },
  async run(args, cli) {
    const { batch, "batch-wait": batchWait } = args;
    const isAsync = args.async === true;
    const isPreview = args.preview === true;
    readFlag("--timeout", args.timeout, parseDuration);
    if (isAsync && isPreview) throw new SvcError("usage", "give --async or --preview, not both");
    if (isAsync && batch !== undefined) {
      throw new SvcError("usage", "give --async or --batch, not both: batches are started from here");
    }
    if (batchWait !== undefined && batch === undefined) {
      throw new SvcError("usage", "--batch-wait needs --batch");
    }
    const { runJob } = await import("./dispatch.ts");
    await runJob(
      {
        target: args.target,
        function: args.function,
        words: args.args,
        timeout: args.timeout,
        ...(batch === undefined ? {} : { batch: readFlag("--batch", batch, parseBatchSize) }),
        batchWaitMs: batchWait === undefined ? 0 : readFlag("--batch-wait", batchWait, parseDuration),
        mode: isPreview ? "preview" : isAsync ? "async" : "follow",
      },
      cli,
    );
  },
});
