import { decodeJobReply } from "../../admin/job-message.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { openBucket } from "../../bus/bucket.ts";
import { requestReply } from "../../bus/request.ts";
import { jobRequestSubject } from "../../bus/subjects.ts";
import { displayPeelId } from "../../identity/peel-id.ts";
import { followJob } from "../../jobs/follow.ts";
import type { JobView } from "../../jobs/show.ts";
import { command } from "../command.ts";
import { readFlag } from "../flag.ts";
import { operatorName, withBus } from "../operator.ts";
import { formatTable } from "../print.ts";

const requestTimeoutMs = 5_000;

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
    const view = await withBus(cli, async (bus) => {
      const request = {
        target: args.target,
        function: args.function,
        timeout: args.timeout,
        operator: operatorName(),
      };
      const reply = await requestReply(bus, jobRequestSubject, encode(request), requestTimeoutMs);
      if (reply === undefined) throw new SvcError("unavailable", "no master is answering: start svc-master");
      const { jid, targets } = decodeJobReply(reply);
      cli.say(`${jid} on ${targets.length} ${targets.length === 1 ? "peel" : "peels"}`);
      const deps = {
        bus,
        jobs: await openBucket(bus, "jobs"),
        heartbeats: await openBucket(bus, "peel-heartbeat"),
        clock: cli.clock,
      };
      return followJob(deps, jid, (ended) => {
        if (cli.stderr.isTTY)
          cli.stderr.write(`\r${ended}/${targets.length} answered${ended === targets.length ? "\n" : ""}`);
      });
    });
    await cli.print(view, () => formatReturns(view, cli));
    if (view.status !== "completed") {
      const failed = view.targets.length - (view.counts.ok ?? 0);
      throw new SvcError("unavailable", `${failed} of ${view.targets.length} peels did not succeed`);
    }
  },
});

function formatReturns(view: JobView, cli: { color: boolean }): string {
  const rows = view.targets.map((peel) => {
    const returned = view.returns[peel];
    const answer = returned?.error ?? (returned === undefined ? "" : JSON.stringify(returned.return));
    return [displayPeelId(peel), view.outcomes[peel] ?? "", answer];
  });
  return formatTable(["PEEL ID", "OUTCOME", "RETURN"], rows, cli);
}
