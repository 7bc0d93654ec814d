import { sleep, systemClock } from "../../internal/base/clock.ts";
import { binaries } from "../harness/fleet.ts";
import { operatorConfig } from "../harness/svc.ts";
import { dismiss, type Guest, leadGuest } from "./applicants.ts";
import type { MasterUnit } from "./daemons.ts";
import type { Answer } from "./door.ts";
import type { Site } from "./site.ts";
import type { Unit } from "./unit.ts";

/** Everything that operators and hosts ask for during a run; it never stops because of a failure. */
export interface Workload {
  /** Guests that got credentials. */
  readonly guests: readonly Guest[];
  /** Ends it; resolves when every answer has come. */
  stop(): Promise<void>;
}

/** Finds the directory of the peel that runs this; ends when that peel is gone already. */
const locate = "dir=$(readlink /proc/$PPID/cwd); case $dir in */peel-*) ;; *) exit 9 ;; esac";
const kinds = {
  quick: (line: string) => line,
  slow: (line: string) => `sleep 0.3; ${line}`,
  failing: (line: string) => `${line}; exit 3`,
};
const mixture = ["quick", "quick", "quick", "slow", "failing"] as const;
const viaBus = 0.15;
const keptGuests = 20;
const every = { job: 500, guest: 2_000, rollout: 15_000, show: 1_000, ready: 1_000 };

export function startWorkload(site: Site, random: () => number): Workload {
  const { masters, peels, request, recorder } = site;
  const stopping = new AbortController();
  const waiting = new Set<Promise<unknown>>();
  const guests: Guest[] = [];
  const jids: string[] = [];
  let number = 0;
  const oneOf = <T>(list: readonly T[]): T => {
    const found = list[Math.floor(random() * list.length)];
    if (found === undefined) throw new Error("nothing to choose from");
    return found;
  };
  const rest = (master: MasterUnit) => ({ door: "rest", master: master.host.name }) as const;
  const storeJob = (json: unknown) => {
    const { jid } = json as { jid: string };
    jids.push(jid);
    return { job: jid };
  };
  const commandOf = (kind: keyof typeof kinds, token: string) =>
    `${locate}; ${kinds[kind](`echo ${token} >> "$dir/effects"`)}`;

  /** Some peels, one as often as several. */
  const someTargets = (): Unit[] => {
    const count = 1 + Math.floor(random() * random() * 6);
    return [...new Set(Array.from({ length: count }, () => oneOf(peels)))];
  };
  const dispatch = async () => {
    const kind = oneOf(mixture);
    const token = `t${++number}-${kind}`;
    const targets = someTargets().map(({ host }) => host.name);
    if (random() < viaBus) {
      const requested = { door: "bus", master: "any", operation: "dispatch", token } as const;
      await recorder.call(requested, runOverBus(site, targets, commandOf(kind, token)), storeJob);
      return;
    }
    const master = oneOf(masters);
    const body = {
      targets,
      function: "cmd.run",
      args: { command: commandOf(kind, token) },
      timeout: `${10 + Math.floor(random() * 10)}s`,
      metadata: { token, kind },
    };
    const requested = { ...rest(master), operation: "dispatch", token } as const;
    await recorder.call(requested, request(master, { method: "POST", path: "/api/v1/jobs", body }), storeJob);
  };
  const rollOut = async () => {
    const token = `r${++number}-quick`;
    const master = oneOf(masters);
    const body = {
      targets: peels.slice(0, 6).map(({ host }) => host.name),
      function: "cmd.run",
      args: { command: commandOf("quick", token) },
      timeout: "15s",
      canary: 1,
      waves: "50%",
      max_failures: "100%",
      deadline: "3m",
      metadata: { token, kind: "quick" },
    };
    await recorder.call(
      { ...rest(master), operation: "rollout", token },
      request(master, { method: "POST", path: "/api/v1/rollouts", body }),
      (json) => ({ rollout: (json as { id: string }).id }),
    );
  };
  const show = async () => {
    const jid = jids.at(-1 - Math.floor(random() * 60));
    if (jid === undefined) return;
    const master = oneOf(masters);
    await recorder.call(
      { ...rest(master), operation: "show", job: jid },
      request(master, { path: `/api/v1/jobs/${jid}` }),
      (json) => ({ outcomes: (json as { outcomes: Record<string, string> }).outcomes }),
    );
  };
  const lead = async () => {
    const guest = await leadGuest(site, ++number, random);
    if (guest !== undefined) guests.push(guest);
    await dismiss(guests, keptGuests);
  };
  const check = async () => {
    for (const master of masters) {
      const at = recorder.now();
      const status = await fetch(`${master.healthUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
        (response) => response.status,
        () => 0,
      );
      recorder.add({ kind: "ready", at, master: master.host.name, status });
    }
  };

  /** Begins something again and again, also while earlier ones wait for their answers. */
  const repeat = async (everyMs: number, begin: () => Promise<void>) => {
    while (!stopping.signal.aborted) {
      const begun = begin();
      waiting.add(begun);
      void begun.finally(() => waiting.delete(begun));
      await sleep(systemClock, everyMs, stopping.signal).catch(() => {});
    }
  };
  const loops = [
    repeat(every.job, dispatch),
    repeat(every.guest, lead),
    repeat(every.rollout, rollOut),
    repeat(every.show, show),
    repeat(every.ready, check),
  ];
  return {
    guests,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
      await Promise.all([...waiting]);
    },
  };
}

/** Dispatches a job with the compiled `svc`, which asks over the bus. */
async function runOverBus(
  { dir, servers }: Site,
  targets: readonly string[],
  shell: string,
): Promise<Answer> {
  const [server] = servers.list;
  const config = operatorConfig({ ...servers, dir, url: server?.url ?? "" });
  const words = [
    binaries.cli,
    "--config",
    config,
    "run",
    `L@${targets.join(",")}`,
    "cmd.run",
    shell,
    "--async",
  ];
  const child = Bun.spawn([...words, "--timeout", "15s"], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 20_000,
  });
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const jid = /job-\w+/.exec(out)?.[0];
  if (code !== 0 || jid === undefined) return { status: 0, json: undefined, error: error.trim() };
  return { status: 200, json: { jid } };
}
