import { SvcError } from "../../base/errors.ts";
import { type Bus, requestReply } from "../../bus/connection/mod.ts";
import { encodeSuccess, openReply } from "../../bus/subjects/envelope.ts";
import { filesOfMasterSubject } from "../../bus/subjects/subjects.ts";
import { type FilesReport, filesReport } from "../../fleet/releases/mod.ts";

/** Below the time in which svc status wants an answer. */
const answerMs = 2_000;

/** Answers the other masters what this one refuses, while it publishes. */
export function serveReport(bus: Pick<Bus, "serve">, name: string, report: () => FilesReport) {
  return bus.serve(filesOfMasterSubject(name), name, async () => encodeSuccess({ ...report() }));
}

/** What another master refuses; `undefined` when it does not answer, or runs a version that does not say. */
export async function requestReport(bus: Bus, master: string): Promise<FilesReport | undefined> {
  try {
    const answer = await requestReply(bus, filesOfMasterSubject(master), new Uint8Array(), answerMs);
    return answer && openReply(filesReport, answer);
  } catch (thrown) {
    if (thrown instanceof SvcError) return undefined;
    throw thrown;
  }
}
