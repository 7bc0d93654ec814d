import { join } from "node:path";
import { binaries } from "../../harness/fleet.ts";
import { runProgram } from "../../harness/process.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { milliseconds, ratio, table } from "../table.ts";
import { costOf, median } from "./cost.ts";
import type { Peers } from "./programs.ts";
import { startSalt } from "./salt.ts";
import { startSvc } from "./svc-fleet.ts";
import { treeUsage } from "./tree.ts";

/** Agents that run, and the command with which an operator asks all of them. */
interface Fleet {
  name: string;
  argv: readonly string[];
  /** Options with which it names every agent, also those that answer the same. */
  named: readonly string[];
  servers: readonly number[];
  agents: readonly number[];
}

/** Processor milliseconds of each part of one ping, and the time that the operator waits. */
type Ping = Record<"wall" | "command" | "servers" | "agents", number>;

const warmUps = 3;

/**
 * `test.ping` of all agents from the command line of the operator, until it has ended with all answers.
 *
 * @param count agents of each fleet, all of them on this machine
 */
export async function pingRows(peers: Peers, count: number, rounds: number): Promise<string> {
  using scratch = temporaryDirectory("bench-peers-ping");
  const ids = Array.from({ length: count }, (_, at) => `ping-${at}`);
  await using fleet = await startSvc(ids);
  await using salt = await startSalt(peers, join(scratch.path, "salt"), ids);
  const own: Fleet = {
    name: "svc run '*' test.ping",
    argv: [binaries.cli, "--config", operatorConfig(fleet.bus), "run", "*", "test.ping"],
    named: ["--output", "json"],
    servers: [fleet.master.program.pid, fleet.bus.server().pid],
    agents: fleet.peels.map(({ program }) => program.pid),
  };
  const fleets = [own];
  if (salt !== undefined) {
    fleets.push({
      name: "salt '*' test.ping",
      argv: [...salt.command, "*", "test.ping"],
      named: [],
      servers: [salt.master.pid],
      agents: salt.minions.map(({ pid }) => pid),
    });
  }
  for (const { argv, named } of fleets) await expectAnswers([...argv, ...named], ids);
  const pings = fleets.map((): Ping[] => []);
  for (let round = -warmUps; round < rounds; round++) {
    for (const [at, one] of fleets.entries()) {
      const cost = await ping(one);
      if (round >= 0) pings[at]?.push(cost);
    }
  }
  const medianOf = (at: number, part: keyof Ping) => median((pings[at] ?? []).map((one) => one[part]));
  const min = (at: number) => Math.min(...(pings[at] ?? []).map(({ wall }) => wall));
  const sumOf = (at: number) =>
    median((pings[at] ?? []).map((one) => one.command + one.servers + one.agents));
  const heads = ["", "ms", "least", "processor ms", "of svc", "command", "servers", "agents"];
  const rows = fleets.map(({ name }, at) => [
    name,
    ...[medianOf(at, "wall"), min(at), sumOf(at)].map(milliseconds),
    at === 0 ? "" : ratio(sumOf(at) / sumOf(0)),
    ...(["command", "servers", "agents"] as const).map((part) => milliseconds(medianOf(at, part))),
  ]);
  return `A ping of ${count} agents, ${rounds} rounds after ${warmUps}\n\n${table(heads, rows)}`;
}

/** A ping that misses agents would be a faster one. */
async function expectAnswers(argv: readonly string[], ids: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runProgram(argv);
  const missing = ids.filter((id) => !stdout.includes(id));
  if (code === 0 && missing.length === 0) return;
  throw new Error(
    `${argv.join(" ")} exited with ${code}, without ${missing.join(", ")}:\n${stdout}${stderr}`,
  );
}

async function ping({ argv, servers, agents }: Fleet): Promise<Ping> {
  const cpu = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + treeUsage(pid).cpuMs, 0);
  const before = [cpu(servers), cpu(agents)];
  const { wallMs, cpuMs } = await costOf({ argv: () => argv });
  const [server = 0, agent = 0] = [cpu(servers), cpu(agents)].map((now, at) => now - (before[at] ?? 0));
  return { wall: wallMs, command: cpuMs, servers: server, agents: agent };
}
