import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { command } from "../../program/command-line/command.ts";
import { readFlag } from "../../program/command-line/flag.ts";
import { parseBatchSize } from "./batch.ts";

/** Stands at the top of the tree, so what it needs is only loaded when it runs. */
export const runCommand = command({
  name: "run",
  description: "Run a function on peels and show what each answers.",
  args: {
    target: {
      type: "positional",
      required: true,
      description: "Which peels: a glob on the peel id, such as 'web-*', or a compound expression",
      ids: "members",
    },
    function: { type: "positional", required: true, description: "module.function, such as test.ping" },
    args: {
      type: "positional",
      rest: true,
      description: "Its arguments, in their order or as name=value; words behind -- are taken as they are",
    },
    timeout: {
      type: "string",
      valueHint: "duration",
      default: "60s",
      description: "After this time no peel begins, and what still runs is stopped",
    },
    async: { type: "boolean", description: "Do not wait: print the job id" },
    batch: {
      type: "string",
      valueHint: "n|n%",
      description: "Run on so many peels at a time, each batch when the one before has ended",
    },
    "batch-wait": {
      type: "string",
      valueHint: "duration",
      description: "Wait so long between two batches",
    },
    preview: { type: "boolean", description: "Show which peels it would run on, and run nothing" },
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
