import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { command, flag, type RestWords, readFlag, value, word } from "../../program/command-line/mod.ts";
import { answerArgs, readAnswerArgs } from "./args.ts";
import { parseBatchSize } from "./batch.ts";

/** Imported by the command tree, so it loads its own imports only when it runs. */
export const runCommand = command({
  name: "run",
  description: "Run a function on peels and show the results.",
  examples: [
    "svc run '*' test.ping",
    "svc run 'web-*' service.restart nginx --batch 10%",
    "svc run 'G@os:Debian' pkg.install name=curl --timeout 10m",
    "svc run web-1 cmd.run -- uptime --pretty",
    "svc run 'T@env:prod' state.apply nginx --preview",
    "svc run '*' state.apply --terse --failed",
    "svc run db-1 state.apply nginx environment=feature --tree ./states",
    "svc run --again job-3MRx",
  ],
  args: {
    target: word("Target: a glob on the peel id, such as 'web-*', or a compound expression", {
      required: false,
      ids: "members",
    }),
    function: word("module.function, such as test.ping", { required: false, ids: "functions" }),
    args: word("Arguments, positional or as name=value; words after -- are passed literally", {
      rest: true,
      ids: "arguments",
    }),
    timeout: value(
      "duration",
      "Timeout of the job: after it no peel starts, and running functions are stopped (default: 60s, or that of the job that is run again)",
    ),
    again: value(
      "jid",
      "Run this job again, on those of its peels that did not end well, as they failed or were offline",
      { ids: "jobs" },
    ),
    tree: value(
      "directory",
      "Your checkout with the state files, once for each source: these run, also when nobody released them, on peels that obey operators only and let one of your roles release",
      { repeated: true },
    ),
    async: flag("Print the job id and do not wait"),
    batch: value("n|n%", "Number of peels per batch; each batch starts when the previous one has ended"),
    "batch-wait": value("duration", "Pause between two batches"),
    preview: flag("Show the peels that match, and run nothing"),
    follow: flag("Show on standard error what the command writes while it runs, on at most 16 peels"),
    "ignore-offline": flag("Peels that are not connected do not change the exit code"),
    "wait-offline": flag("Wait also for peels that are not connected, until the deadline"),
    yes: flag("Do not ask before it runs"),
    ...answerArgs,
  },
  async run(args, cli) {
    const { batch, "batch-wait": batchWait } = args;
    const isAsync = args.async === true;
    const isPreview = args.preview === true;
    const { timeout } = args;
    if (timeout !== undefined) readFlag("--timeout", timeout, parseDuration);
    if (isAsync && isPreview) throw new SvcError("usage", "give --async or --preview, not both");
    if (isAsync && batch !== undefined) {
      throw new SvcError("usage", "give --async or --batch, not both: batches are started from here");
    }
    if (args.follow === true && (isAsync || isPreview || batch !== undefined)) {
      throw new SvcError("usage", "--follow shows one job as it runs: give no --async, --preview or --batch");
    }
    checkOffline(args, isAsync || isPreview);
    if (args.tree.length > 0 && args.again !== undefined) {
      throw new SvcError("usage", "give --tree or --again, not both");
    }
    if (batchWait !== undefined && batch === undefined) {
      throw new SvcError("usage", "--batch-wait needs --batch");
    }
    const { runJob } = await import("./dispatch.ts");
    await runJob(
      {
        what: whatOf(args),
        trees: args.tree,
        ...defined({ timeout }),
        isConfirmed: args.yes === true,
        ...(batch === undefined ? {} : { batch: readFlag("--batch", batch, parseBatchSize) }),
        batchWaitMs: batchWait === undefined ? 0 : readFlag("--batch-wait", batchWait, parseDuration),
        mode: isPreview ? "preview" : isAsync ? "async" : "follow",
        offline: {
          ...(args["ignore-offline"] === true ? { ignore: true } : {}),
          ...(args["wait-offline"] === true ? { wait: true } : {}),
        },
        show: { ...readAnswerArgs(args), follow: args.follow === true },
      },
      cli,
    );
  },
});

/** @throws SvcError `usage` when nothing is waited for */
function checkOffline(
  args: { "ignore-offline"?: boolean | undefined; "wait-offline"?: boolean | undefined },
  isNotFollowed: boolean,
): void {
  for (const name of ["ignore-offline", "wait-offline"] as const) {
    if (args[name] === true && isNotFollowed)
      throw new SvcError("usage", `--${name} is about waiting for peels: give no --async or --preview`);
  }
}

/** @throws SvcError `usage` when a function is missing, or given in addition to a job */
function whatOf({
  again,
  ...typed
}: {
  again?: string | undefined;
  target?: string | undefined;
  function?: string | undefined;
  args: RestWords;
}) {
  const { target, function: name, args } = typed;
  if (again !== undefined) {
    if (target === undefined) return { again };
    throw new SvcError(
      "usage",
      "--again takes the function, its arguments and the peels from the job: give no others",
    );
  }
  for (const [word, value] of Object.entries({ target, function: name })) {
    if (value === undefined) throw new SvcError("usage", `<${word}> is required; see svc run --help`);
  }
  return { target: target ?? "", function: name ?? "", words: args };
}
