import * as v from "valibot";
import type { Bus } from "../../bus/connection/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { followJob } from "../job/follow-job.ts";
import { request } from "../request.ts";

const timeout = "20s";
const maxHeads = 100;

/** What a peel remembers of one entry, not verified yet. */
export interface RememberedHead {
  seq: number;
  /** Hexadecimal. */
  hash: string;
  /** As a master signed it, base64url. */
  signed: string;
  /** RFC 3339, by the clock of the peel. */
  seenAt: string;
}

/** What a peel answered. */
export interface Witness {
  /** Encoded id. */
  peel: string;
  heads: RememberedHead[];
  /** Why it answered nothing. */
  error?: string;
}

const answer = v.object({
  heads: v.pipe(
    v.array(v.object({ seq: v.number(), hash: v.string(), signed: v.string(), seen_at: v.string() })),
    v.maxLength(maxHeads),
  ),
});

/** Asks the peels of a target what they remember. @throws SvcError as the masters answer */
export async function queryWitnesses(bus: Bus, target: string): Promise<Witness[]> {
  const job = await request(bus, jobOperations.createJob, {
    target,
    function: "audit.head",
    args: {},
    timeout,
  });
  const view = await followJob(bus, job.jid);
  return view.targets.map((peel) => {
    const returned = view.returns[peel];
    if (returned === undefined) return { peel, heads: [], error: view.outcomes[peel] ?? "no answer" };
    if (!returned.success) return { peel, heads: [], error: returned.error ?? "it failed" };
    const parsed = v.safeParse(answer, returned.return);
    if (!parsed.success) return { peel, heads: [], error: "its answer cannot be read" };
    return { peel, heads: parsed.output.heads.map(({ seen_at: seenAt, ...rest }) => ({ ...rest, seenAt })) };
  });
}
