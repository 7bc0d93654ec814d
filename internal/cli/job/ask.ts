import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connect.ts";
import { requestReply } from "../../bus/request.ts";
import { operatorName } from "../operator.ts";

/** How long a master has to answer. */
const timeoutMs = 5_000;

export const jidArg = { type: "positional", required: true, description: "Job id, job-…" } as const;

/**
 * Asks the masters something about jobs; one of them answers.
 *
 * @returns the reply as it came
 * @throws SvcError `unavailable` when no master answers
 */
export async function askMasters(
  bus: Bus,
  subject: string,
  request: Readonly<Record<string, Plain>>,
): Promise<Uint8Array> {
  const payload = encode({ ...request, operator: operatorName() });
  const reply = await requestReply(bus, subject, payload, timeoutMs);
  if (reply === undefined) throw new SvcError("unavailable", "no master is answering: start svc-master");
  return reply;
}
