import { decodeJobReply } from "../../admin/job-message.ts";
import { SvcError } from "../../base/errors.ts";
import { encode } from "../../base/msgpack.ts";
import { openBucket } from "../../bus/bucket.ts";
import { requestReply } from "../../bus/request.ts";
import { jobRequestSubject } from "../../bus/subjects.ts";
import { displayPeelId } from "../../identity/peel-id.ts";
import { followJob } from "../../jobs/follow.ts";
import type { JobView } from "../../jobs/show.ts";
import type { Cli } from "../command.ts";
import { operatorName, withBus } from "../operator.ts";
import { formatTable } from "../print.ts";

const requestTimeoutMs = 5_000;

export interface RunRequest {
  target: string;
  function: string;
  /** A duration: `60s`. */
  timeout: string;
}

/**
 * Dispatches a job, follows it to its end, and prints what each peel answered.
 *
 * @throws SvcError `unavailable` when no master answers, or when not every peel succeeded
 */
export async function runJob(request: RunRequest, cli: Cli): Promise<void> {
  const view = await withBus(cli, async (bus) => {
    const payload = encode({ ...request, operator: operatorName() });
    const reply = await requestReply(bus, jobRequestSubject, payload, requestTimeoutMs);
    if (reply === undefined) throw new SvcError("unavailable", "no master is answering: start svc-master");
    const { jid, targets } = decodeJobReply(reply);
    const total = targets.length;
    cli.say(`${jid} on ${total} ${total === 1 ? "peel" : "peels"}`);
    const deps = {
      bus,
      jobs: await openBucket(bus, "jobs"),
      heartbeats: await openBucket(bus, "peel-heartbeat"),
      clock: cli.clock,
    };
    return followJob(deps, jid, (ended) => {
      if (cli.stderr.isTTY) cli.stderr.write(`\r${ended}/${total} answered${ended === total ? "\n" : ""}`);
    });
  });
  await cli.print(view, () => formatReturns(view, cli));
  if (view.status !== "completed") {
    const failed = view.targets.length - (view.counts.ok ?? 0);
    throw new SvcError("unavailable", `${failed} of ${view.targets.length} peels did not succeed`);
  }
}

function formatReturns(view: JobView, cli: { color: boolean }): string {
  const rows = view.targets.map((peel) => {
    const returned = view.returns[peel];
    const answer = returned?.error ?? (returned === undefined ? "" : JSON.stringify(returned.return));
    return [displayPeelId(peel), view.outcomes[peel] ?? "", answer];
  });
  return formatTable(["PEEL ID", "OUTCOME", "RETURN"], rows, cli);
}
