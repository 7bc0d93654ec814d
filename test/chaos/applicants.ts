import { sleep, systemClock } from "../../internal/base/clock.ts";
import { newEnrollee, nkeyHeader, submission } from "../harness/enrollee.ts";
import { connectPeel, type PeelConnection } from "../harness/peel-connection.ts";
import type { MasterUnit } from "./daemons.ts";
import type { Operation } from "./history.ts";
import type { BusServer } from "./servers.ts";
import type { Site } from "./site.ts";

/** A guest that got credentials. */
export interface Guest {
  readonly enrollment: string;
  readonly peelId: string;
  readonly credentials: string;
  /** Its connection, which a revocation must end; absent if it could not connect in time, or was refused later. */
  connection?: PeelConnection;
}

const pauseMs = 1_500;
const attempts = 5;
const connectWithinMs = 5_000;

/**
 * Leads one guest through its life: it enrolls, two masters decide on it at the same time, it fetches its credentials
 * from both at once, connects, and is revoked. @returns the guest, if it got credentials
 */
export async function leadGuest(
  { masters, servers, request, recorder }: Site,
  number: number,
  random: () => number,
): Promise<Guest | undefined> {
  const [one, other] = random() < 0.5 ? [masters[0], masters[1]] : [masters[1], masters[0]];
  if (one === undefined || other === undefined) return undefined;
  const guest = newEnrollee(`guest-${number}`);
  const requestOne = (
    master: MasterUnit,
    operation: Operation,
    id: string,
    question: Parameters<Site["request"]>[1],
  ) =>
    recorder.call(
      { door: "rest", master: master.host.name, operation, enrollment: id, peel: guest.peelId },
      request(master, question),
    );
  const query = new URLSearchParams({ peel_id: guest.peelId, public_key: guest.publicKey });
  const nonce = await request(one, { path: `/api/v1/enroll/nonce?${query}` });
  if (nonce.status !== 200) return undefined;
  const body = submission(guest, nonce.json as Parameters<typeof submission>[1]);
  const made = await recorder.call(
    { door: "rest", master: other.host.name, operation: "enroll", peel: guest.peelId },
    request(other, { method: "POST", path: "/api/v1/enroll", body }),
    (json) => ({ enrollment: (json as { id: string }).id }),
  );
  const id = (made.json as { id?: string } | undefined)?.id;
  if (made.status >= 300 || id === undefined) return undefined;

  const decide = (master: MasterUnit, verb: "approve" | "reject" | "revoke") =>
    requestOne(master, verb, id, { method: "POST", path: `/api/v1/enrollments/${id}/${verb}`, body: {} });
  const second = random() < 0.5 ? "reject" : "approve";
  await Promise.all([decide(one, "approve"), decide(other, second)]);
  const authorization = nkeyHeader(guest, id);
  const fetched = await Promise.all(
    [one, other].map((master) =>
      requestOne(master, "credentials", id, { path: `/api/v1/enroll/${id}/creds`, authorization }),
    ),
  );
  const data = fetched.map(({ json }) => (json as { creds_data?: string } | undefined)?.creds_data);
  const issued = data.find((each) => each !== undefined);
  const credentials = issued === undefined ? undefined : Buffer.from(issued, "base64").toString("utf8");
  const identity = { enrollment: id, peelId: guest.peelId, credentials: credentials ?? "" };
  const server = servers.list[Math.floor(random() * servers.list.length)];
  const connection =
    credentials === undefined || server === undefined
      ? undefined
      : await connectInTime(server, servers.caPem, identity);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { status } = await decide(attempt % 2 === 0 ? one : other, "revoke");
    if (status === 200 || status === 409) break;
    await sleep(systemClock, pauseMs);
  }
  if (credentials === undefined) return undefined;
  return connection === undefined ? identity : { ...identity, connection };
}

/**
 * Closes the connections of all but the last guests, unless they are connected: refused ones try to connect for
 * ever, and hundreds of them would take the processor from the fleet. Whether they can connect is tried anyway.
 */
export async function dismiss(guests: readonly Guest[], count: number): Promise<void> {
  const refused = guests
    .slice(0, Math.max(0, guests.length - count))
    .filter(({ connection }) => connection?.bus.connected === false);
  for (const guest of refused) {
    const { connection } = guest;
    delete guest.connection;
    await connection?.nats.close();
  }
}

/** Connects to a server as a guest; undefined if it is refused, or does not succeed in time. */
export async function connectInTime(
  { url }: Pick<BusServer, "url">,
  caPem: string,
  guest: Pick<Guest, "peelId" | "credentials">,
): Promise<PeelConnection | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = systemClock.after(connectWithinMs, () => late.resolve(undefined));
  const connecting = connectPeel({ url, caPem }, guest).catch(() => undefined);
  const connection = await Promise.race([connecting, late.promise]);
  timer.cancel();
  if (connection === undefined) void connecting.then((other) => other?.nats.close());
  return connection;
}
