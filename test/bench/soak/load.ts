import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { decode, encode, type Plain } from "../../../internal/base/msgpack.ts";
import type { Bus } from "../../../internal/bus/connection/connect.ts";
import { followJob } from "../../../internal/cli/job/follow-job.ts";
import { rolloutDoors } from "../../../internal/fleet/rollout/doors.ts";
import { requestMaster } from "../../harness/jobs.ts";
import { sendEvent } from "../../harness/reactor.ts";
import { dispatchBenchJob } from "../jobs/requests.ts";
import type { Site } from "./faults.ts";

/** What was asked of the fleet, and what became of it. */
export interface Tally {
  requested: number;
  /** What no master took or answered, by the reason; most of it while the bus or a master was away. */
  refused: Record<string, number>;
  /** A master took it, and it did not end. */
  lost: string[];
  /** What a master took and what ended, by the status at its end. */
  ended: Record<string, number>;
  /** Milliseconds from the request to the end, of the completed ones since the last look. */
  times: number[];
}

export interface Load {
  readonly tally: Tally;
  /** Runs one job of one peel to its end. @throws Error when it does not complete */
  probe(): Promise<void>;
  /** Ends it; resolves when the last jobs have ended. */
  stop(): Promise<void>;
}

/** How long a job that a master took may need, with the deadline of the job, a fault, and the return after it. */
const patienceMs = 300_000;
const pauseMs = 2_000;

/** Lets operators, peels and readers work at once, each in its own rhythm. */
export async function startLoad(
  site: Site,
  operator: Bus,
  { rate, random }: { rate: number; random: () => number },
): Promise<Load> {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const tally: Tally = { requested: 0, refused: {}, lost: [], ended: {}, times: [] };
  const everyone = () => [...site.fleet.peels, ...site.peels.keys()];
  const anyone = () => everyone()[Math.floor(random() * everyone().length)] ?? "";

  const refuse = (what: string, why: unknown) => {
    const reason = `${what}: ${String(why).slice(0, 100)}`;
    tally.refused[reason] = (tally.refused[reason] ?? 0) + 1;
  };
  const follow = async (jid: string) => {
    const end = systemClock.monotonic() + patienceMs;
    for (;;) {
      try {
        return await followJob(operator, jid, { signal: AbortSignal.timeout(patienceMs) });
      } catch (thrown) {
        if (systemClock.monotonic() > end) throw thrown;
        await sleep(systemClock, pauseMs);
      }
    }
  };
  const run = async (target: string, name: string, args: Record<string, Plain> = {}) => {
    const from = systemClock.monotonic();
    tally.requested++;
    let jid: string;
    try {
      jid = await dispatchBenchJob(operator, { target, function: name, args });
    } catch (thrown) {
      refuse(name, thrown);
      return undefined;
    }
    try {
      const { status } = await follow(jid);
      tally.ended[status] = (tally.ended[status] ?? 0) + 1;
      if (status === "completed") tally.times.push(systemClock.monotonic() - from);
      return status;
    } catch (thrown) {
      tally.lost.push(`${jid} ${name} of ${target}: ${String(thrown)}`);
      return undefined;
    }
  };
  const rollOut = async () => {
    tally.requested++;
    const body = {
      ...{ operator: "bench", target: "sim-000*", function: "test.ping", args: {}, timeout: "60s" },
      ...{ canary: 10, waves: 50, max_failures: 1_000 },
    };
    const { data } = await operator.nats.request(rolloutDoors.startRollout.bus.subject, encode(body), {
      timeout: 30_000,
    });
    const reply = decode(data) as { ok?: boolean; error?: unknown };
    if (reply.ok !== true) refuse("a rollout", JSON.stringify(reply));
  };
  const read = async (path: string) => {
    tally.requested++;
    const { status } = await requestMaster(site.bus, site.steady, "GET", path);
    if (status !== 200) refuse(path, status);
  };
  const repeat = (everyMs: number, what: string, act: () => Promise<unknown>) => {
    const loop = async () => {
      while (!stopping.signal.aborted) {
        const one = act().catch((thrown) => refuse(what, thrown));
        running.add(one);
        void one.finally(() => running.delete(one));
        await sleep(systemClock, everyMs, stopping.signal).catch(() => {});
      }
    };
    running.add(loop());
  };

  const short = ["test.ping", "test.true", "test.echo"];
  repeat(1_000 / rate, "a job", () => {
    const name = short[tally.requested % short.length] ?? "";
    return run(anyone(), name, name === "test.echo" ? { text: "x".repeat(500) } : {});
  });
  repeat(500, "an event", () => sendEvent(operator, anyone(), "soak/beat", { at: tally.requested }));
  repeat(5_000, "a list", () => read("/api/v1/peels?limit=50"));
  repeat(7_000, "a list", () => read("/api/v1/jobs?limit=50"));
  repeat(11_000, "a list", () => read("/api/v1/states/status"));
  repeat(30_000, "a wide job", () => run("*", "test.ping"));
  repeat(30_000, "a state run", () => run("peel-*", "state.highstate"));
  repeat(240_000, "a rollout", rollOut);

  return {
    tally,
    async probe() {
      const status = await run(site.fleet.peels[0] ?? "", "test.ping");
      if (status !== "completed") throw new Error(`the job of the probe: ${status ?? "no master took it"}`);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
