import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { type Bus, connectBus } from "../../internal/bus/connection/connect.ts";
import { peelInboxPrefix } from "../../internal/bus/subjects/subjects.ts";
import { deriveCurveKey } from "../../internal/identity/curve.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { freshAddress, type Reply, send, sendUntilServed } from "./client.ts";
import { type LogRecord, recordingLog } from "./log.ts";
import { type TestMaster, testToken } from "./master.ts";
import { runRecord } from "./run-record.ts";

/** A peel that enrolled through the listener; tests connect as it, without its program. */
export interface EnrolledPeel {
  /** Encoded peel id. */
  peelId: string;
  enrollmentId: string;
  /** Text of its `.creds` file. */
  credentials: string;
  commandKeys: string[];
  /** The seed of its key: a secret. */
  seed: string;
}

type Door = Pick<TestMaster, "url" | "ca"> & { token?: string };

/** Enrolls a peel and leaves it pending. */
export async function submitPeel(master: Door, peelId: string) {
  const from = freshAddress();
  const key = newKeyPair("user", systemRandom);
  const curve = deriveCurveKey(key).publicKey;
  const query = new URLSearchParams({ peel_id: peelId, public_key: key.publicKey });
  const nonce = expectStatus(
    200,
    await send(master.url, master.ca, { path: `/api/v1/enroll/nonce?${query}`, from }),
  );
  const signature = key.sign(
    Buffer.concat([Buffer.from(String(nonce.challenge), "base64"), Buffer.from(curve)]),
  );
  const body = JSON.stringify({
    peel_id: peelId,
    public_key: key.publicKey,
    curve_public_key: curve,
    challenge_id: nonce.challenge_id,
    signature: Buffer.from(signature).toString("base64"),
  });
  const headers = { "content-type": "application/json" };
  const made = expectStatus(
    201,
    await send(master.url, master.ca, { method: "POST", path: "/api/v1/enroll", headers, body, from }),
  );
  return { peelId, enrollmentId: String(made.id), key };
}

/** Sends an operator's request about an enrollment. */
export function operate(
  master: Door,
  enrollmentId: string,
  action: "approve" | "reject" | "revoke" | "suspend" | "resume" | "clear-clone",
  body: Record<string, unknown> = {},
): Promise<Reply> {
  return sendUntilServed(master.url, master.ca, {
    method: "POST",
    path: `/api/v1/enrollments/${enrollmentId}/${action}`,
    headers: { authorization: `Bearer ${master.token ?? testToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    from: freshAddress(),
  });
}

/** Enrolls a peel, approves it, and fetches its credentials: its record is `issued` then. */
export async function enrollPeel(master: Door, peelId: string): Promise<EnrolledPeel> {
  const submitted = await submitPeel(master, peelId);
  expectStatus(200, await operate(master, submitted.enrollmentId, "approve"));
  return fetchCredentials(master, submitted);
}

/** Fetches the credentials of an approved enrollment. */
export async function fetchCredentials(
  master: Door,
  { peelId, enrollmentId, key }: Awaited<ReturnType<typeof submitPeel>>,
): Promise<EnrolledPeel> {
  const signature = Buffer.from(key.sign(Buffer.from(enrollmentId))).toString("base64url");
  const fetched = expectStatus(
    200,
    await send(master.url, master.ca, {
      path: `/api/v1/enroll/${enrollmentId}/creds`,
      headers: { authorization: `Nkey ${key.publicKey}:${signature}` },
      from: freshAddress(),
    }),
  );
  const credentials = Buffer.from(String(fetched.creds_data), "base64").toString("utf8");
  runRecord.registerSecrets(credentials);
  runRecord.registerSecrets(key.seed);
  return {
    peelId,
    enrollmentId,
    credentials,
    commandKeys: fetched.command_keys as string[],
    seed: key.seed,
  };
}

/** A connection of a peel to the bus, with what its client logged. */
export interface PeelConnection extends AsyncDisposable {
  bus: Bus;
  nats: Bus["nats"];
  records: LogRecord[];
  /** Resolves as soon as its client logged this. */
  logged(event: string, match?: (fields: Record<string, unknown>) => boolean): Promise<LogRecord>;
}

/** Connects with a peel's credentials and inbox prefix, as its program does. */
export async function connectPeel(
  at: { url: string; caPem: string },
  peel: Pick<EnrolledPeel, "peelId" | "credentials">,
): Promise<PeelConnection> {
  const log = observedLog();
  const bus = await connectBus({
    urls: [at.url],
    name: `test-peel ${peel.peelId}`,
    identity: { credentials: peel.credentials },
    ca: at.caPem,
    inboxPrefix: peelInboxPrefix(peel.peelId),
    clock: systemClock,
    log,
  });
  return {
    bus,
    nats: bus.nats,
    records: log.records,
    logged: log.logged,
    [Symbol.asyncDispose]: () => bus.nats.close(),
  };
}

/**
 * The subjects that the bus refuses a connection while it does something. A refusal comes before the
 * answer to a flush; the second flush is for the client, which tells of refusals a moment later.
 */
export async function refusals(
  { nats }: Pick<Bus, "nats">,
  records: readonly LogRecord[],
  act: () => unknown,
): Promise<unknown[]> {
  const from = records.length;
  act();
  await nats.flush();
  await nats.flush();
  return records
    .slice(from)
    .filter(({ event, fields }) => event === "bus error" && fields.code === "PERMISSIONS_VIOLATION")
    .map(({ fields }) => fields.permission);
}

/** A log that also lets a test wait for a record. */
export function observedLog() {
  const waiting = new Set<() => void>();
  const records: LogRecord[] = [];
  records.push = (...added) => {
    const length = Array.prototype.push.apply(records, added);
    for (const check of waiting) check();
    return length;
  };
  const logged = (event: string | RegExp, match: (fields: Record<string, unknown>) => boolean = () => true) =>
    new Promise<LogRecord>((resolve) => {
      const check = () => {
        const isEvent = (text: string) => (typeof event === "string" ? text === event : event.test(text));
        const found = records.find((record) => isEvent(record.event) && match(record.fields));
        if (found === undefined) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
    });
  return { ...recordingLog(records), logged };
}

function expectStatus(status: number, reply: Reply): Record<string, unknown> {
  if (reply.status !== status) {
    throw new Error(`the listener answered ${reply.status} instead of ${status}: ${reply.text}`);
  }
  return reply.json as Record<string, unknown>;
}
