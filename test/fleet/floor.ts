import type { Connection } from "../../internal/agent/link/connection.ts";
import type { Log } from "../../internal/base/log.ts";
import { encode } from "../../internal/base/msgpack.ts";
import { returnSubject } from "../../internal/bus/subjects/subjects.ts";
import { verifySignature } from "../../internal/identity/nkey.ts";

// The floor of the job benchmarks: plain messages over the connections of the same peels.

const requestTimeoutMs = 60_000;

/** Subjects inside the peels' account; no peel of a real fleet may use them. */
export const requestSubject = (peel: string): string => `floor.ask.${peel}`;
export const answerSubject = (peel: string): string => `floor.answer.${peel}`;

/** The job id for stored answers, which belongs to no real job. */
export const floorJob = `job-${"0".repeat(27)}`;

/** How much a peel does with an ask: answer; have the answer stored; and check a signature before. */
export type Floor = "bare" | "stored" | "signed";
/** The first byte of an ask. */
export const floorModes: Record<Floor, number> = { bare: 0, stored: 1, signed: 2 };
/** Where the signed part of an ask begins: after that byte and the signature. */
export const signedFrom = 65;

/** As many bytes as the return of a ping. */
const answer = encode({
  success: true,
  retcode: 0,
  return: true,
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 0,
});

/** Answers bare asks. */
export function serveFloor(
  connection: Connection,
  publish: (subject: string, data: Uint8Array) => void,
  peelId: string,
  key: string,
  log: Log,
): void {
  connection.subscribe(requestSubject(peelId), (_, data) => {
    if (data[0] === floorModes.bare) return publish(answerSubject(peelId), answer);
    if (data[0] === floorModes.signed) {
      const signature = data.subarray(1, signedFrom);
      if (!verifySignature("user", key, data.subarray(signedFrom), signature)) return;
    }
    // Whoever asked counts the answers; one that a lost bus swallowed is only told here.
    connection
      .request(returnSubject(floorJob, peelId), answer, requestTimeoutMs)
      .catch((error) => log.warn("answer of the floor not stored", { error }));
  });
}
