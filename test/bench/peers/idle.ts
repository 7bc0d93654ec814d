import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { freePorts } from "../../harness/free-ports.ts";
import { type Program, runProgram, startProgram } from "../../harness/process.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";
import { makeWorkDirectory } from "./cfengine.ts";
import type { Peers } from "./programs.ts";
import { startSalt } from "./salt.ts";
import { startSvc } from "./svc-fleet.ts";
import { type TreeUsage, treeUsage } from "./tree.ts";

/** One program or several that belong together, with all that they start. */
interface Idle {
  name: string;
  pids: readonly number[];
}

/**
 * Agents that have nothing to do, each with a server of its own where it has one, over the same time.
 *
 * @param settle seconds from the start of the last one
 * @param seconds how long they are watched
 */
export async function idleRows(peers: Peers, settle: number, seconds: number): Promise<string> {
  using scratch = temporaryDirectory("bench-peers-idle");
  await using fleet = await startSvc(["idle-1"]);
  await using salt = await startSalt(peers, join(scratch.path, "salt"), ["idle-1"]);
  await using cfengine = await startCfengine(peers, join(scratch.path, "cfengine"));
  const agents: Idle[] = [
    { name: "svc-peel", pids: fleet.peels.map(({ program }) => program.pid) },
    ...(salt === undefined ? [] : [{ name: "salt-minion", pids: salt.minions.map(({ pid }) => pid) }]),
    ...(cfengine === undefined ? [] : [{ name: "cf-execd, cf-serverd", pids: cfengine.pids }]),
  ];
  const servers: Idle[] = [
    { name: "svc-master, nats-server", pids: [fleet.master.program.pid, fleet.bus.server().pid] },
    ...(salt === undefined ? [] : [{ name: "salt-master", pids: [salt.master.pid] }]),
  ];
  await sleep(systemClock, settle * 1000);
  const all = [...agents, ...servers];
  const before = all.map(usageOf);
  const begun = systemClock.monotonic();
  await sleep(systemClock, seconds * 1000);
  const took = (systemClock.monotonic() - begun) / 1000;
  const after = all.map(usageOf);
  const perSecond = (at: number) => ((after[at]?.cpuMs ?? 0) - (before[at]?.cpuMs ?? 0)) / took;
  const rowsOf = (idle: readonly Idle[], from: number) =>
    idle.map(({ name }, at) => {
      const { processes = 0, residentMib = 0, privateMib = 0, writtenMib = 0 } = after[from + at] ?? {};
      return [
        name,
        milliseconds(perSecond(from + at)),
        at === 0 ? "" : ratio(perSecond(from + at) / perSecond(from)),
        ...[residentMib, privateMib, writtenMib].map(mebibytes),
        `${processes}`,
      ];
    });
  const heads = [
    "processor ms per second",
    "of svc",
    "resident MiB",
    "private MiB",
    "written MiB",
    "processes",
  ];
  return [
    `Agents with nothing to do, ${settle} s after their start, over ${took.toFixed(0)} s`,
    table(["", ...heads], rowsOf(agents, 0)),
    "Their servers, over the same time",
    table(["", ...heads], rowsOf(servers, agents.length)),
  ].join("\n\n");
}

function usageOf({ pids }: Idle): TreeUsage {
  return pids.map(treeUsage).reduce((sum, one) => ({
    processes: sum.processes + one.processes,
    cpuMs: sum.cpuMs + one.cpuMs,
    residentMib: sum.residentMib + one.residentMib,
    privateMib: sum.privateMib + one.privateMib,
    writtenMib: sum.writtenMib + one.writtenMib,
  }));
}

/** The two daemons of a host: one that waits for the time of its next run, and one that others can ask for a run. */
async function startCfengine(
  peers: Peers,
  directory: string,
): Promise<(AsyncDisposable & { pids: number[] }) | undefined> {
  const [executor, server, key] = ["cf-execd", "cf-serverd", "cf-key"].map((name) => peers.program(name));
  if (executor === undefined || server === undefined || key === undefined) return undefined;
  const env = makeWorkDirectory(peers, directory);
  const [port = 0] = await freePorts(1);
  const policy = join(directory, "policy.cf");
  // A run of the agent is no part of being idle: the schedule names a minute that does not come.
  writeFileSync(
    policy,
    `body common control { bundlesequence => { "main" }; }
body executor control { schedule => { "Yr1990" }; splaytime => "0"; }
body server control { port => "${port}"; bindtointerface => "127.0.0.1"; allowconnects => { "127.0.0.1" }; }
bundle agent main {
  reports:
    any:: "nothing";
}
`,
    { mode: 0o600 },
  );
  const made = await runProgram([key], { env });
  if (made.code !== 0) throw new Error(made.stdout + made.stderr);
  await using started = new AsyncDisposableStack();
  const programs = [executor, server].map(
    (program): Program => started.use(startProgram([program, "--no-fork", "--file", policy], { env })),
  );
  const all = started.move();
  return { pids: programs.map(({ pid }) => pid), [Symbol.asyncDispose]: () => all.disposeAsync() };
}
