import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { append } from "../../../internal/bus/streams/mod.ts";
import { eventSubject } from "../../../internal/bus/subjects/subjects.ts";
import { masterSource } from "../../../internal/fleet/reactor/events/mod.ts";
import { encodeServiceEvent } from "../../../internal/wire/peel-event.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { storePeels } from "../../harness/stored-peels.ts";
import { until } from "../../harness/until.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";
import { startBenchMaster } from "../enroll/master.ts";
import { readFlags } from "../flags.ts";
import { dispatchBenchJob } from "../jobs/requests.ts";
import { median, quantile } from "../jobs/statistics.ts";
import { mebibytes, milliseconds, table } from "../table.ts";
import type { Frame } from "./frames.ts";
import { openTab } from "./tab.ts";

// What the console costs in a real browser: the work of the main thread for each frame, what a change of one peel
// costs the master, and memory of the tab. See docs/bench.md.

const flags = readFlags({
  peels: ["10000", "60"],
  targets: ["1000", "4"],
  seconds: ["10", "1"],
  frames: ["60", "3"],
  burst: ["1000", "10"],
  events: ["100000", "100"],
  master: join(import.meta.dir, "../../../dist/svc-master"),
});
const [peels, targets, events] = [flags.count("peels"), flags.count("targets"), flags.count("events")];
const [seconds, steps, burst] = [flags.count("seconds"), flags.count("frames"), flags.count("burst")];
const second = 1_000;
const wheelPx = 120;
/** Answers to the job come in so many parts. */
const parts = 20;
const perRound = 1_000;

const names = Array.from({ length: peels }, (_, at) => `n${`${at}`.padStart(5, "0")}`);
const say = (text: string) => process.stdout.write(`${text}\n`);

await using bus = await startBus();
await using fleet = await startFleet(bus, { size: targets, processes: 1, ramp: 20 });
const labels = { env: "prod", tier: "web" };
const facts = { os: "Debian", osrelease: "12", svc_version: "0.1.0" };
await storePeels(bus, Object.fromEntries(names.map((name) => [name, { labels, facts }])));
await using master = await startBenchMaster(bus, flags.text("master").split(" "), ["--console"]);
await fleet.greeted();
await using tab = await openTab(bus, master);
const { page } = tab;
const requester = await connectTo(bus, "master");

say(`
${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${(await page.command<{ product: string }>("Browser.getVersion")).product}, ${peels} peels, and a job on ${targets}; browser, master, bus and peels share the machine.`);

const memories: string[][] = [];
await tab.open("/peels?target=n*");
await page.until(`document.querySelector("table")?.getAttribute("aria-rowcount") === "${peels + 1}"`);
await remember(`the list of ${peels} peels`);

const scenes: [name: string, frames: Frame[]][] = [
  ["wheel, 120 px a frame", await tab.traced(() => scroll(`box.scrollTop + ${wheelPx}`))],
  ["drag through all peels", await tab.traced(() => scroll(`box.scrollHeight * frame / ${steps}`))],
  ["PageDown, End and Home", await tab.traced(pressKeys)],
];
const answered = await answers();
scenes.push([`answers of ${targets} peels`, answered.frames]);
say(`
Work of the main thread for each frame, in milliseconds of its processor time, and how long that took:

${table(
  ["", "frames", "work p50", "p95", "most", "wall p50", "most"],
  scenes.map(([name, frames]) => {
    const work = frames.map(({ workMs }) => workMs);
    const wall = frames.map(({ wallMs }) => wallMs);
    const all = [median(work), quantile(work, 0.95), Math.max(...work), median(wall), Math.max(...wall)];
    return [name, `${frames.length}`, ...all.map(milliseconds)];
  }),
)}

The page of the job was drawn ${answered.drawn} times in ${answered.seconds.toFixed(1)} s, at most ${answered.max} times in one second.
At its end it shows ${answered.shown}.`);

await tab.open("/peels?target=n*");
await page.until(`document.querySelector("table")?.getAttribute("aria-rowcount") === "${peels + 1}"`);
const costs = [
  ["nothing", ...(await costOf(0, 0))],
  ["two a second", ...(await costOf(2 * seconds, second / 2))],
  ["at once", ...(await costOf(burst, 0))],
];
say(`
The list of ${peels} peels is open, and peels change, for ${seconds} s each:

${table(["", "events", "requests", "KiB", "master ms"], costs)}`);

await remember("the same, later");
for (const half of [1, 2]) {
  await reportMany(Math.ceil(events / 2));
  await remember(`after ${Math.ceil((half * events) / 2)} events`);
}
say(`\nMemory of the tab:\n\n${table(["", "heap MiB", "nodes"], memories)}\n`);
await requester.nats.close();

/** Scrolls to another position in each frame. @param position of `box` in the frame `frame`, in the page */
function scroll(position: string): Promise<unknown> {
  return page.evaluate(`new Promise((resolve) => {
    const box = document.querySelector(".table");
    box.scrollTop = 0;
    let frame = 0;
    const step = () => {
      if (frame++ === ${steps}) return resolve();
      box.scrollTop = ${position};
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
}

async function pressKeys(): Promise<void> {
  await page.evaluate(`document.querySelector(".table").focus()`);
  const drawn = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))";
  for (const key of [
    "Home",
    ...Array.from({ length: Math.ceil(steps / 6) }, () => "PageDown"),
    "End",
    "Home",
    "End",
  ]) {
    await page.press(key);
    for (let frame = 0; frame < Math.ceil(steps / 6); frame++) await page.evaluate(drawn);
  }
}

/** The page of a job while its answers come, and while its outcomes are chosen. */
async function answers() {
  const size = Math.ceil(fleet.peels.length / parts);
  for (let part = 0; part < parts; part++) {
    const slow = fleet.peels.slice(part * size, (part + 1) * size);
    if (slow.length > 0) await fleet.behave(slow, { slowMs: seconds * second * (0.3 + part / parts) });
  }
  const ping = { target: "sim-*", function: "test.ping", args: {} };
  const jid = await dispatchBenchJob(requester, ping);
  await tab.open(`/jobs/${jid}`);
  await page.until(`document.querySelector("table")?.getAttribute("aria-rowcount") === "${targets + 1}"`);
  // In one step: the page may draw itself again between two.
  await page.until(`(() => {
    const legend = document.querySelector(".legend");
    if (legend === null) return false;
    globalThis.drawn = [];
    new MutationObserver(() => drawn.push(performance.now()))
      .observe(legend, { subtree: true, childList: true, characterData: true });
    return true;
  })()`);
  const choose = (outcome: string) =>
    page.evaluate(`document.querySelector('nav.choices a[href$="${outcome}"]')?.click()`);
  const began = systemClock.monotonic();
  const frames = await tab.traced(async () => {
    for (const outcome of ["outcome=ok", "outcome=pending", jid]) {
      await choose(outcome);
      await sleep(systemClock, (seconds * second) / 4);
    }
    await page.until(`document.querySelector(".page-head .status")?.dataset.outcome === "ok"`);
  });
  const times = await page.evaluate<number[]>("drawn");
  const shown = await page.until<string>(
    `document.querySelector(".legend")?.innerText.includes("${targets.toLocaleString("en")}") && document.querySelector(".legend").innerText`,
  );
  return {
    frames,
    drawn: times.length,
    seconds: (systemClock.monotonic() - began) / second,
    max: Math.max(
      0,
      ...times.map((at) => times.filter((other) => other >= at && other < at + second).length),
    ),
    shown: shown.replace(/\s+/g, " "),
  };
}

/** What changed peels cost while a tab shows them: events, requests, KiB and processor time of the master. */
async function costOf(count: number, everyMs: number): Promise<string[]> {
  await sleep(systemClock, (seconds * second) / 10);
  const before = { cpu: cpuSecondsOf(master.pid), bytes: tab.bytes(), requests: tab.requests() };
  const end = systemClock.monotonic() + seconds * second;
  for (let at = 0; at < count; at++) {
    await reportLost(at);
    if (everyMs > 0) await sleep(systemClock, everyMs);
  }
  await sleep(systemClock, Math.max(0, end - systemClock.monotonic()));
  return [
    `${count}`,
    `${tab.requests() - before.requests}`,
    ((tab.bytes() - before.bytes) / 1024).toFixed(0),
    ((cpuSecondsOf(master.pid) - before.cpu) * second).toFixed(0),
  ];
}

/** Masters report that a peel fell silent. */
async function reportLost(at: number): Promise<void> {
  // Neighbors in time are far from each other in the list.
  const peel = names[(at * 37) % names.length] ?? "";
  const message = encodeServiceEvent({ data: { peel, peel_id: peel }, source: peel, depth: 0 });
  await append(requester, eventSubject(masterSource, `svc.peel.${peel}.lost`), message, {});
}

/** Resolves when the tab has the last of them. */
async function reportMany(count: number): Promise<void> {
  for (let at = 0; at < count; at += perRound) {
    await Promise.all(
      Array.from({ length: Math.min(perRound, count - at) }, (_, one) => reportLost(at + one)),
    );
  }
  const last = `Last ${systemClock.now()}`;
  await (await openBucket(requester, "facts")).put(names[0] ?? "", encode({ ...facts, os: last }));
  await page.evaluate(`document.querySelector(".table").scrollTop = 0`);
  await reportLost(0);
  // After so many events the whole list is read, which a busy master does rarely.
  await until(() => page.evaluate<boolean>(`document.querySelector("table").innerText.includes("${last}")`));
}

async function remember(when: string): Promise<void> {
  const { heapMib, nodes } = await tab.memory();
  memories.push([when, mebibytes(heapMib), `${nodes}`]);
}
