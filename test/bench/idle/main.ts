import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { startBus } from "../../harness/bus.ts";
import { binaries, startMasterBinary, startPeelBinary } from "../../harness/fleet.ts";
import { freePorts } from "../../harness/free-ports.ts";
import { expectAnswer, requestMaster } from "../../harness/jobs.ts";
import { startProgram } from "../../harness/process.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, table } from "../table.ts";

// What programs cost that have nothing to do: a master, peels, the watchdog of one, and a bare client of the bus as
// the floor. Two peels, because each shares the pages of its executable with the other. See docs/bench.md.

const flags = readFlags({ seconds: ["120", "1"], settle: ["60", "0"] });

await using bus = await startBus();
await using master = await startMasterBinary(bus);
await using alone = startPeelBinary(bus, master.url, "idle-1");
const [port = 0] = await freePorts(1);
const dir = join(bus.dir, "watched");
await using watched = startProgram(
  [
    ...[binaries.peel, "watchdog", "--id", "idle-2", "--bus-url", bus.url, "--bus-ca", bus.caFile],
    ...["--master-url", master.url, "--enroll-ca", bus.caFile, "--health-addr", `127.0.0.1:${port}`],
  ],
  { cwd: bus.dir, env: { SVC_DATA_DIR: dir } },
);
await approve();
await alone.program.waitFor("peel connected");
await watched.waitFor("peel connected");
const credentials = join(bus.authDir, "master.creds");
await using floor = startProgram([
  ...[process.execPath, join(import.meta.dir, "floor.ts"), bus.url, bus.caFile, credentials],
]);
await floor.waitFor("connected");

const programs = {
  master: master.program.pid,
  peel: alone.program.pid,
  "watchdog of a peel": watched.pid,
  "floor: a client of the bus": floor.pid,
};
await sleep(systemClock, flags.count("settle", 0) * 1000);
const measure = (pid: number) => ({ cpuMs: cpuSecondsOf(pid) * 1000, wakeups: wakeupsOf(pid) });
const before = Object.values(programs).map(measure);
const begun = systemClock.monotonic();
await sleep(systemClock, flags.count("seconds") * 1000);
const seconds = (systemClock.monotonic() - begun) / 1000;
const rows = Object.entries(programs).map(([name, pid], at) => {
  const { cpuMs, wakeups } = measure(pid);
  const memory = memoryOf(pid);
  const mib = [memory.residentMib, memory.privateMib, memory.writtenMib].map(mebibytes);
  const cpu = (cpuMs - (before[at]?.cpuMs ?? 0)) / seconds;
  const waking = (wakeups - (before[at]?.wakeups ?? 0)) / seconds;
  return [name, milliseconds(cpu), milliseconds(waking), ...mib];
});
process.stdout.write(`
Programs with nothing to do, ${flags.count("settle", 0)} s after their start, over ${seconds.toFixed(0)} s

${table(["", "processor ms per second", "wakeups per second", "resident MiB", "private MiB", "written MiB"], rows)}
`);

/** How often the threads of a process have waited and gone on, as long as they live (proc(5), "status"). */
function wakeupsOf(pid: number): number {
  const counts = readdirSync(`/proc/${pid}/task`).map((thread) => {
    try {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
      return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    } catch {
      // It has ended.
      return 0;
    }
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

async function approve(): Promise<void> {
  for (let approved = 0; approved < 2; ) {
    const pending = requestMaster(bus, master, "GET", "/api/v1/enrollments?state=pending");
    for (const { id } of await expectAnswer<{ id: string }[]>(pending)) {
      await expectAnswer(requestMaster(bus, master, "POST", `/api/v1/enrollments/${id}/approve`, {}));
      approved++;
    }
    await sleep(systemClock, 200);
  }
}
