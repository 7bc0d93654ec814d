import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gibibyte } from "../../../internal/base/byte-size.ts";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { provision } from "../../../internal/bus/assets/assets.ts";
import { ackSubject, returnSubject } from "../../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { storePeels } from "../../harness/stored-peels.ts";
import { operatorConfig } from "../../harness/svc.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { dispatchBenchJob } from "../jobs/requests.ts";
import { quiet } from "../quiet.ts";
import { mebibytes, table } from "../table.ts";

// What `svc job watch`, which shows a job as `svc run` does, and `svc job show` need for the answers of many peels, equal ones and different ones. The peels are
// only known to the buckets; their answers are stored by this process. See docs/bench.md.

const flags = readFlags({
  peels: ["10000", "50"],
  lines: ["30", "3"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
  svc: join(import.meta.dir, "../../../dist/svc"),
});
const [count, lines] = [flags.count("peels"), flags.count("lines")];
/** The stream stores in order: an answer to the last of these says that all of them are stored. */
const chunk = 500;
const pauseMs = 10;
const job = { target: "*", function: "cmd.run", args: { command: "uptime" } };
const patient = { timeout: "10m" };

await using bus = await startBus();
const writer = await connectTo(bus, "master");
await provision(
  writer,
  { replicas: 1, onlyRaise: true, offer: { storage: 8 * gibibyte, memory: gibibyte } },
  writer.log,
);
const peels = Array.from({ length: count }, (_, at) => `web-${`${at}`.padStart(6, "0")}_example_com`);
await storePeels(bus, Object.fromEntries(peels.map((peel) => [peel, {}])));
await using master = await startBenchMaster(bus, flags.text("master").split(" "));

await quiet(master.pid);
await quiet(bus.server().pid);

/** What a command wrote on one peel, 60 characters a line. */
const written = (own: string) =>
  Array.from({ length: lines }, (_, at) => `${own} line ${at}`.padEnd(60)).join("\n");
const answers: Record<string, (at: number) => { success: boolean; stdout: string }> = {
  "one line, all equal": () => ({ success: true, stdout: "ok" }),
  "one line, all different": (at) => ({ success: true, stdout: `host ${at}` }),
  [`${lines} lines, all equal`]: () => ({ success: true, stdout: written("host") }),
  [`${lines} lines, all different`]: (at) => ({ success: true, stdout: written(`host ${at}`) }),
  [`${lines} lines, all different, one in ten failed`]: (at) => ({
    success: at % 10 !== 0,
    stdout: written(`host ${at}`),
  }),
};

const rows: string[][] = [];
for (const [name, answer] of Object.entries(answers)) {
  const jid = await dispatchBenchJob(writer, { ...job, ...patient });
  // It shows a job as svc run does.
  const running = start(["job", "watch", jid]);
  await store(jid, answer);
  rows.push(row(name, "job watch", await running.ended()));
  for (const more of [[], ["--full"], ["--output", "jsonl"]]) {
    const shown = start(["job", "show", jid, ...more]);
    rows.push(row(name, ["job show", ...more].join(" "), await shown.ended()));
  }
}
await writer.nats.close();
process.stdout.write(`
The answers of ${count} peels to one job, in the terminal. The time of watching begins when the last of them is stored:

${table(["answers", "svc", "s", "cpu s", "lines", "KiB", "svc MiB, peak"], rows, 2)}
`);

interface Measured {
  seconds: number;
  cpuSeconds: number;
  stdout: string;
  peakMib: number;
}

function row(name: string, command: string, { seconds, cpuSeconds, stdout, peakMib }: Measured): string[] {
  const kib = (stdout.length / 1024).toFixed(0);
  const shown = [seconds.toFixed(2), cpuSeconds.toFixed(2), `${stdout.split("\n").length - 1}`, kib];
  return [name, command, ...shown, mebibytes(peakMib)];
}

/** Starts `svc`. Its time counts from when `ended` is asked for. */
function start(words: readonly string[]) {
  const child = Bun.spawn([...flags.text("svc").split(" "), "--config", operatorConfig(bus), ...words], {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  });
  const stdout = new Response(child.stdout).text();
  let stderr = "";
  const read = (async () => {
    for await (const part of child.stderr) stderr += Buffer.from(part).toString();
  })();
  let peakMib = 0;
  void (async () => {
    while (child.exitCode === null) {
      peakMib = Math.max(peakMib, peakOf(child.pid));
      await sleep(systemClock, pauseMs);
    }
  })();
  return {
    async ended(): Promise<Measured> {
      const began = systemClock.monotonic();
      const text = await stdout;
      const code = await child.exited;
      await read;
      if (text === "" || code > 1) throw new Error(`svc ${words.join(" ")}: ${code} ${stderr}`);
      const { cpuTime } = child.resourceUsage() ?? {};
      return {
        seconds: (systemClock.monotonic() - began) / 1_000,
        cpuSeconds: Number(cpuTime?.total ?? 0) / 1e6,
        stdout: text,
        peakMib,
      };
    },
  };
}

/** The most resident memory of a process so far; 0 for one that has ended. */
function peakOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Stores what every peel answers. */
async function store(
  jid: string,
  answer: (at: number) => { success: boolean; stdout: string },
): Promise<void> {
  const { nats } = writer;
  for (const [at, peel] of peels.entries()) {
    nats.publish(ackSubject(jid, peel), encode({ accepted: true }));
    const { success, stdout } = answer(at);
    const value = encode({
      ...{ success, retcode: success ? 0 : 1, started_at: "2026-01-01T00:00:00.000Z", duration_ms: 3 },
      return: { stdout, stderr: "", retcode: success ? 0 : 1 },
    });
    const subject = returnSubject(jid, peel);
    if (at % chunk === chunk - 1 || at === peels.length - 1) {
      await nats.request(subject, value, { timeout: 30_000 });
    } else nats.publish(subject, value);
  }
}
