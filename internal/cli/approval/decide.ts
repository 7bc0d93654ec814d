import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { type Cli, command, Exit, type RestWords, visible, word } from "../../program/command-line/mod.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { gatherDecisions } from "../gather.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, requesterName } from "../request.ts";
import { operatorIn } from "./request.ts";
import { readSeen } from "./seen.ts";
import { idArg } from "./show.ts";

/** After these the operator needs another file, which nobody got while the request waited. */
const fileMakers: ReadonlySet<string> = new Set(["operators.add", "operators.roles"]);

const idArgs = { ...idArg, more: word("More ids", { rest: true }) } as const;

type Shown = AnswerTo<typeof approvalOperations.approveRequest>["approval"];

export const approveCommand = command({
  name: "approve",
  description: "Agree to requests of other operators; the last agreement that one needs starts it.",
  examples: ["svc approval approve apr-3MRx", "svc approval approve apr-3MRx apr-3MRy"],
  args: { ...idArgs, yes: yesArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const agree = gatherDecisions(bus, approvalOperations.approveRequest, requesterName(bus));
      const ids = await wholeIds(args, bus, cli);
      // All are shown before the one question.
      const seen = await Promise.allSettled(ids.map((id) => readSeen(bus, id, cli)));
      const count = seen.filter(({ status }) => status === "fulfilled").length;
      if (count > 0) {
        await confirm(cli, count === 1 ? "Agree to it" : `Agree to these ${count}`, args.yes === true);
      }
      await decideOn(ids, cli, {
        async decide(id) {
          const shown = seen[ids.indexOf(id)];
          if (shown?.status === "rejected") throw shown.reason;
          return (await agree({ id, ...shown?.value })).approval;
        },
        line: agreedLine,
        after: (approval) => sayNext(approval, cli),
      });
    }),
});

export const denyCommand = command({
  name: "deny",
  description: "Deny requests that wait, or withdraw your own.",
  examples: ["svc approval deny apr-3MRx --reason 'not during the sale'"],
  args: {
    ...idArgs,
    yes: yesArg,
    reason: {
      ...{ type: "string", valueHint: "text" },
      description: "Why; the requester and the audit see it",
    },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const deny = gatherDecisions(bus, approvalOperations.denyRequest, requesterName(bus));
      const ids = await wholeIds(args, bus, cli);
      await confirm(
        cli,
        `Deny ${ids.length === 1 ? visible(args.id) : `these ${ids.length}`}`,
        args.yes === true,
      );
      await decideOn(ids, cli, {
        decide: async (id) => (await deny({ id, ...defined({ reason: args.reason }) })).approval,
        line: (id) => `denied ${id}`,
        after: () => {},
      });
    }),
});

async function wholeIds(
  { id, more }: { id: string; more: RestWords },
  bus: Bus,
  cli: Cli,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const one of [id, ...more.words, ...more.literal]) found.add(await fullId("apr", one, bus, cli));
  return [...found];
}

/**
 * Decides on each, and prints what became of it.
 *
 * @throws SvcError what a master answered, for the only one
 * @throws Exit 1 when one was not decided, or failed when it was started
 */
async function decideOn(
  ids: readonly string[],
  cli: Cli,
  {
    decide,
    line,
    after,
  }: {
    decide(id: string): Promise<Shown | undefined>;
    line(id: string, approval: Shown | undefined): string;
    after(approval: Shown): void;
  },
): Promise<void> {
  const outcomes = await Promise.allSettled(ids.map(decide));
  const [only] = outcomes;
  if (outcomes.length === 1 && only?.status === "rejected") throw only.reason;
  const results: unknown[] = [];
  const lines: string[] = [];
  const decided: Shown[] = [];
  let hasFailed = false;
  for (const [at, id] of ids.entries()) {
    const outcome = outcomes[at];
    if (outcome?.status === "fulfilled") {
      const { value } = outcome;
      results.push(value ?? { id });
      lines.push(line(id, value));
      if (value !== undefined) decided.push(value);
      hasFailed ||= value?.outcome === "failed";
      continue;
    }
    const reason: unknown = outcome?.reason;
    if (!(reason instanceof SvcError)) throw reason;
    hasFailed = true;
    results.push({ id, error: reason.message });
    cli.warn(`${id}: ${reason.message}`);
  }
  const data = ids.length === 1 ? results[0] : results;
  await cli.print(data, () => lines.join("\n"));
  for (const approval of decided) after(approval);
  // It was agreed to, and is not done.
  if (hasFailed) throw new Exit(1);
}

function agreedLine(id: string, approval: Shown | undefined): string {
  if (approval === undefined) return `agreed to ${id}`;
  const { state, agreed, needs, outcome, reason, job, rollout } = approval;
  if (state === "waiting") return `agreed to ${id}: ${agreed.length} of ${needs} so far`;
  if (outcome === "failed") return `agreed to ${id}, and it failed: ${reason}`;
  const made = job ?? rollout;
  return `agreed to ${id}: it was started${made === undefined ? "" : ` as ${made}`}`;
}

function sayNext({ outcome, job, rollout, operation, request }: Shown, cli: Cli): void {
  if (job !== undefined) cli.say(`watch with svc job watch ${job}`);
  if (rollout !== undefined) cli.say(`watch with svc rollout watch ${rollout}`);
  if (outcome !== "done" || !fileMakers.has(operation)) return;
  const name = operatorIn(request)?.name ?? "NAME";
  cli.say(`write the operator file of ${name} with svc operator renew ${name} > ${name}.operator`);
}
