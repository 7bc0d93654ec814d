import { defined } from "../../base/defined.ts";
import { SvcError, toSvcError } from "../../base/errors.ts";
import type { PlanDocument } from "../../fleet/plans/mod.ts";
import {
  type Cli,
  choice,
  command,
  Exit,
  flag,
  outputFormats,
  value,
  visible,
} from "../../program/command-line/mod.ts";
import { targetArg } from "../peel-args.ts";

/** Imported by the command tree, so it loads its own imports only when it runs. */
export const planCommand = command({
  name: "plan",
  description:
    "Show what a change of files and settings would order, on which peels and why. Nothing is asked of peels.",
  examples: [
    "svc plan --tree .",
    "svc plan 'web-*' --tree ./states --settings ./settings",
    "svc plan --environment feature --since-last-run",
    "svc plan --tree . --detailed-exitcode --output markdown",
  ],
  args: {
    target: targetArg,
    tree: value(
      "directory",
      "Your checkout as it lies, once for each source; one with states/top.sls is a whole repository, and its settings/ count as well",
      { repeated: true },
    ),
    environment: value("name", "Published files of this environment (default: base)"),
    commit: value("commit", "Published files of this commit of the environment"),
    settings: value("directory", "Settings files, in place of those of the masters"),
    "since-last-run": flag("Compare with what each peel ran last, and not with base in force"),
    "detailed-exitcode": flag(
      "Exit 0 only when every peel was compiled and nothing changes, 2 when something does, 1 for errors",
    ),
    output: choice(
      [...outputFormats, "text", "markdown"],
      "Output format; markdown is one comment of a pull request",
      {
        default: "table",
      },
    ),
  },
  async run({ target, tree, environment, commit, settings, ...args }, cli) {
    const isDetailed = args["detailed-exitcode"] === true;
    try {
      if (tree.length > 0 && commit !== undefined) {
        throw new SvcError("usage", "--tree and --commit exclude each other");
      }
      const { packTrees } = await import("./read-trees.ts");
      const isSent = tree.length > 0 || settings !== undefined;
      const packed = isSent ? await packTrees(tree, settings, cli.clock) : undefined;
      for (const note of packed?.notes ?? []) cli.say(visible(note));
      const [{ requestPlan }, { withBus }] = [
        await import("./request-plan.ts"),
        await import("../operator.ts"),
      ];
      const wanted = defined({ target, environment, commit, since_last_run: args["since-last-run"] });
      const plan = await withBus(cli, (bus) => requestPlan(bus, wanted, packed?.bytes));
      await print(plan, args.output, cli);
      const code = exitCodeOf(plan, isDetailed);
      if (code !== 0) throw new Exit(code);
    } catch (thrown) {
      // 2 means that something changes.
      if (!isDetailed || thrown instanceof Exit || toSvcError(thrown).kind !== "usage") throw thrown;
      throw new SvcError("bad_request", toSvcError(thrown).message, { cause: thrown });
    }
  },
});

async function print(plan: PlanDocument, output: string | undefined, cli: Cli): Promise<void> {
  if (output === "markdown") {
    const { formatMarkdown } = await import("./markdown.ts");
    cli.stdout.write(formatMarkdown(plan));
    return;
  }
  const { formatPlan } = await import("./format.ts");
  if (output === "text") {
    cli.stdout.write(`${formatPlan(plan)}\n`);
    return;
  }
  await cli.print(plan, () => formatPlan(plan));
}

function exitCodeOf(
  { groups, peels, unchanged, cannot_be_bound: unbound }: PlanDocument,
  isDetailed: boolean,
): 0 | 1 | 2 {
  if (groups.some(({ error }) => error !== undefined)) return 1;
  if (!isDetailed || (unchanged === peels && unbound.length === 0)) return 0;
  return 2;
}
