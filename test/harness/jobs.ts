import { existsSync, readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { systemClock } from "../../internal/base/clock.ts";
import type { TestBus } from "./bus.ts";
import { freshAddress, type Reply, sendUntilServed } from "./client.ts";
import { type Daemon, type MasterDaemon, startPeelBinary } from "./fleet.ts";
import { until } from "./until.ts";

// Jobs as an operator gives them over REST, and what a test waits for.

const timeoutMs = 60_000;

/** A job as REST shows it. */
export interface ShownJob {
  jid: string;
  status: string;
  targets: string[];
  metadata: Record<string, unknown>;
  outcomes: Record<string, string>;
  counts: Record<string, number>;
  returns: Record<string, { success: boolean; retcode: number; return?: unknown; error?: string }>;
  finished_at?: string;
}

/** Sends a request to a master, from an unused address. */
export function requestMaster(
  bus: TestBus,
  master: MasterDaemon,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply> {
  return sendUntilServed(master.url, bus.caPem, {
    method,
    path,
    headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    from: freshAddress(),
  });
}

/** What a master answers, which must have this status. */
export async function expectAnswer<T>(requested: Promise<Reply>, status = 200): Promise<T> {
  const reply = await requested;
  if (reply.status !== status) throw new Error(`the master answered ${reply.status}: ${reply.text}`);
  return reply.json as T;
}

/** Starts a peel, lets it in, and waits until it is connected. */
export async function startMember(bus: TestBus, master: MasterDaemon, id: string): Promise<Daemon> {
  const peel = startPeelBinary(bus, master.url, id);
  try {
    await peel.program.waitFor("waiting for an operator's approval");
    const pending = await expectAnswer<{ id: string; peel_id: string }[]>(
      requestMaster(bus, master, "GET", "/api/v1/enrollments?state=pending&limit=100"),
    );
    const enrollment = pending.find(({ peel_id }) => peel_id === id.replaceAll(".", "_"))?.id;
    await expectAnswer(requestMaster(bus, master, "POST", `/api/v1/enrollments/${enrollment}/approve`, {}));
    await peel.program.waitFor("peel connected");
    return peel;
  } catch (thrown) {
    await peel[Symbol.asyncDispose]();
    throw thrown;
  }
}

/** Dispatches a job. @returns its jid */
export async function dispatch(bus: TestBus, master: MasterDaemon, job: unknown): Promise<string> {
  const made = await expectAnswer<{ jid: string }>(
    requestMaster(bus, master, "POST", "/api/v1/jobs", job),
    202,
  );
  return made.jid;
}

export function show(bus: TestBus, master: MasterDaemon, jid: string): Promise<ShownJob> {
  return expectAnswer(requestMaster(bus, master, "GET", `/api/v1/jobs/${jid}`));
}

/** Follows the stream of a job until it matches, such as `/event: end/`; then shows the job. */
export async function showOnce(
  bus: TestBus,
  master: MasterDaemon,
  jid: string,
  pattern: RegExp,
): Promise<ShownJob> {
  // One operator follows 16 streams at a time, and is told when to come again.
  await until(
    () => followStream(bus, master, jid, pattern),
    (outcome) => outcome === "matched",
    timeoutMs,
  );
  return show(bus, master, jid);
}

function followStream(
  bus: TestBus,
  master: MasterDaemon,
  jid: string,
  pattern: RegExp,
): Promise<"matched" | "limited"> {
  const url = new URL(master.url);
  return new Promise((resolve, reject) => {
    let text = "";
    const finish = (settle: () => void) => {
      late.cancel();
      request.destroy();
      settle();
    };
    const fail = (what: string) =>
      finish(() => reject(new Error(`the stream of ${jid} ${what} before ${pattern}:\n${text}`)));
    const late = systemClock.after(timeoutMs, () => fail("took too long"));
    const request = httpsRequest(
      {
        host: "127.0.0.1",
        servername: "localhost",
        port: url.port,
        path: `/api/v1/jobs/${jid}/stream`,
        headers: { host: url.host, authorization: `Bearer ${master.token}` },
        ca: bus.caPem,
        localAddress: freshAddress(),
        agent: false,
      },
      (response) => {
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
          if (pattern.test(text)) finish(() => resolve("matched"));
        });
        response.on("end", () =>
          response.statusCode === 429 ? finish(() => resolve("limited")) : fail("ended"),
        );
      },
    );
    request.on("error", (error) => fail(`failed (${error.message})`));
    request.end();
  });
}

/** Resolves when a file is there and its text matches. */
export async function fileHolds(path: string, pattern: RegExp): Promise<void> {
  await until(
    () => ({
      path,
      pattern: String(pattern),
      text: existsSync(path) ? readFileSync(path, "utf8") : undefined,
    }),
    ({ text }) => text !== undefined && pattern.test(text),
    timeoutMs,
  );
}

/** The lines of a file that may not be there yet. */
export function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}
