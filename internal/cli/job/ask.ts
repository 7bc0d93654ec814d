import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connect.ts";
import { askMasters } from "../ask-masters.ts";

export const jidArg = {
  type: "positional",
  required: true,
  description: "Job id, job-…",
  ids: "jobs",
} as const;

/**
 * Asks the masters something about jobs; one of them answers.
 *
 * @param read reads the reply
 * @throws SvcError what the master answered, or `unavailable` when none did
 */
export async function askAboutJobs<T>(
  bus: Bus,
  subject: string,
  request: Readonly<Record<string, Plain>>,
  read: (reply: Uint8Array) => T,
): Promise<T> {
  const answer = await askMasters(bus, subject, request, read);
  if (answer === undefined) throw new SvcError("unavailable", "no master is answering: start svc-master");
  return answer;
}
