import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../../internal/base/msgpack.ts";
import type { Bus } from "../../../internal/bus/connection/connect.ts";
import { jobDoors } from "../../../internal/fleet/jobs/doors.ts";
import { merkleTree } from "../../../internal/identity/merkle/merkle.ts";
import { newKeyPair } from "../../../internal/identity/nkey.ts";
import { encodeCall } from "../../../internal/wire/call.ts";
import { signCommand } from "../../../internal/wire/command.ts";
import { type Floor, floorJob, floorModes, requestSubject, signedFrom } from "../../fleet/floor.ts";
import { requestAs, signedBy, type TestOperator } from "../../harness/operators.ts";
import { bareAnswers, type Observer } from "./observer.ts";

const requestTimeoutMs = 30_000;

/** A job of the bench. */
export interface BenchJob {
  target: string;
  function: string;
  args: Record<string, Plain>;
}

/** Arrival times of the answers to one request, in milliseconds after the request. */
export type Answers = readonly number[];

/**
 * Dispatches a job over the bus.
 *
 * @param signed in whose name, and for which peels, it is signed
 * @returns its ID
 */
export async function dispatchBenchJob(
  bus: Pick<Bus, "nats">,
  job: BenchJob,
  signed?: { by: TestOperator; peels: readonly string[] },
): Promise<string> {
  const fields = { operator: "bench", timeout: "60s", ...job };
  let reply = decode(await sendJob(bus, fields, signed));
  // One operator may start 50 jobs a second.
  while (JSON.stringify(reply).includes("rate_limited")) reply = decode(await sendJob(bus, fields, signed));
  if (typeof reply === "object" && reply !== null && "jid" in reply) return String(reply.jid);
  throw new Error(`no job: ${JSON.stringify(reply)}`);
}

async function sendJob(
  bus: Pick<Bus, "nats">,
  fields: Record<string, Plain>,
  signed: Parameters<typeof dispatchBenchJob>[2],
): Promise<Uint8Array> {
  if (signed === undefined) {
    return (
      await bus.nats.request(jobDoors.createJob.bus.subject, encode(fields), { timeout: requestTimeoutMs })
    ).data;
  }
  const { by, peels } = signed;
  const body = encode({ ...fields, targets_digest: merkleTree(peels).root });
  return requestAs(
    bus,
    by,
    jobDoors.createJob.bus.subject,
    signedBy(by, jobDoors.createJob.bus.subject, body),
    requestTimeoutMs,
  );
}

/** Dispatches a job over the bus and waits until the stream has shown every return. */
export async function runJob(
  observer: Observer,
  job: BenchJob,
  targets: number,
  signed?: Parameters<typeof dispatchBenchJob>[2],
): Promise<Answers> {
  const requested = systemClock.monotonic();
  const jid = await dispatchBenchJob(observer.master, job, signed);
  const times = await observer.arrived(jid, targets);
  observer.forget(jid);
  return times.map((at) => at - requested);
}

/** Sends plain messages to one peel, with a number in flight at once. Its answers are stored. */
export async function runFloorLanes(
  observer: Observer,
  peel: string,
  count: number,
  atOnce: number,
): Promise<Answers> {
  observer.forget(floorJob);
  const requested: number[] = [];
  for (let at = 0; at < count; at++) {
    if (at >= atOnce) await observer.arrived(floorJob, at - atOnce + 1);
    requested.push(systemClock.monotonic());
    observer.requester.publish(requestSubject(peel), questionOf("stored"));
  }
  const came = await observer.arrived(floorJob, count);
  return came.map((at, index) => at - (requested[index] ?? at));
}

/**
 * Asks each peel with a bare message as long as a signed dispatch, and waits for the answers.
 *
 * @param times how often each peel is asked
 */
export async function runFloor(
  observer: Observer,
  peels: readonly string[],
  floor: Floor,
  times = 1,
): Promise<Answers> {
  const key = floor === "bare" ? bareAnswers : floorJob;
  observer.forget(key);
  const question = questionOf(floor);
  const requested = systemClock.monotonic();
  for (let time = 0; time < times; time++) {
    for (const peel of peels) {
      if (floor === "signed") question.set(observer.commandKey.sign(question.subarray(signedFrom)), 1);
      observer.requester.publish(requestSubject(peel), question);
    }
  }
  const came = await observer.arrived(key, peels.length * times);
  return came.map((at) => at - requested);
}

function questionOf(floor: Floor): Uint8Array {
  const question = new Uint8Array(dispatchBytes);
  question[0] = floorModes[floor];
  return question;
}

/** How long a signed dispatch of a ping is. */
const dispatchBytes = signCommand(
  {
    kind: "dispatch",
    jid: floorJob,
    peel: "sim-00000",
    deadline: systemClock.now(),
    body: encodeCall({ function: "test.ping", args: {} }),
  },
  newKeyPair("user", systemRandom),
).length;
