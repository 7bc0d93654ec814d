import { defined } from "../../base/defined.ts";
import { approvalOperations } from "../../fleet/approvals/mod.ts";
import { command, Exit } from "../../program/command-line/mod.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { operatorIn } from "./request.ts";
import { seenDigest } from "./seen.ts";
import { idArg } from "./show.ts";

/** After these the operator needs another file, which nobody got while the request waited. */
const fileMakers: ReadonlySet<string> = new Set(["operators.add", "operators.roles"]);

export const approveCommand = command({
  name: "approve",
  description: "Agree to the request of another operator; the last agreement that it needs starts it.",
  examples: ["svc approval approve apr-3MRx"],
  args: idArg,
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("apr", args.id, bus, cli);
      const request_digest = await seenDigest(bus, id, cli);
      const requested = { id, ...defined({ request_digest }) };
      const { approval } = await request(bus, approvalOperations.approveRequest, requested);
      const { state, agreed, needs, outcome, reason, job, rollout, operation } = approval;
      await cli.print(approval, () => {
        if (state === "waiting") return `agreed to ${id}: ${agreed.length} of ${needs} so far`;
        if (outcome === "failed") return `agreed to ${id}, and it failed: ${reason}`;
        const made = job ?? rollout;
        return `agreed to ${id}: it was started${made === undefined ? "" : ` as ${made}`}`;
      });
      if (job !== undefined) cli.say(`watch with svc job watch ${job}`);
      if (rollout !== undefined) cli.say(`watch with svc rollout watch ${rollout}`);
      if (outcome === "done" && fileMakers.has(operation)) {
        const name = operatorIn(approval.request)?.name ?? "NAME";
        cli.say(`write the operator file of ${name} with svc operator renew ${name} > ${name}.operator`);
      }
      // It was agreed to, and is not done.
      if (outcome === "failed") throw new Exit(1);
    }),
});

export const denyCommand = command({
  name: "deny",
  description: "Deny a request that waits, or withdraw your own.",
  examples: ["svc approval deny apr-3MRx --reason 'not during the sale'"],
  args: {
    ...idArg,
    reason: {
      ...{ type: "string", valueHint: "text" },
      description: "Why; the requester and the audit see it",
    },
  },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("apr", args.id, bus, cli);
      const { approval } = await request(bus, approvalOperations.denyRequest, {
        id,
        ...defined({ reason: args.reason }),
      });
      await cli.print(approval, () => `denied ${id}`);
    }),
});
