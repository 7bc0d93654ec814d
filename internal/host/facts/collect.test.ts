import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { fixtureHost } from "../../../test/harness/facts.ts";
import { systemClock } from "../../base/clock.ts";
import { builtinFacts, collectFacts } from "./collect.ts";
import { systemHost } from "./host.ts";
import { encodeFacts, maxFactsBytes } from "./merge.ts";

test("a fact that cannot be collected does not affect others", async () => {
  const unreadable = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
  const host = fixtureHost({
    files: { "/proc/meminfo": unreadable, "/etc/os-release": "ID=debian\nNAME=Debian\n" },
  });
  const { facts, problems } = await collectFacts(builtinFacts, host, manualClock());
  expect(problems.map(({ source }) => source).sort()).toEqual(["mem_total", "swap_total"]);
  expect(problems[0]?.reason).toContain("EIO");
  expect(facts).toMatchObject({ os: "Debian", num_cpus: 2 });
  expect(facts).not.toHaveProperty("mem_total");
});

test("a fact without an answer times out after 5 s, and the others are collected", async () => {
  const clock = manualClock();
  const table = { slow: () => new Promise<never>(() => {}), quick: () => 1 };
  const collected = collectFacts(table, fixtureHost(), clock);
  await settle();
  clock.advance(5_000);
  expect(await collected).toEqual({
    facts: { quick: 1 },
    problems: [{ source: "slow", reason: "no answer within 5 s" }],
  });
  expect(clock.pending).toBe(0);
});

test("a file that several facts use is read once", async () => {
  const host = fixtureHost({ files: { "/a": "text" } });
  let reads = 0;
  const counting = {
    ...host,
    read(path: string) {
      reads++;
      return host.read(path);
    },
  };
  const table = { one: (seen: typeof host) => seen.read("/a"), two: (seen: typeof host) => seen.read("/a") };
  const { facts } = await collectFacts(table, counting, manualClock());
  expect(facts).toEqual({ one: "text", two: "text" });
  expect(reads).toBe(1);
});

test("facts of this machine are stable, and within the limits", async () => {
  const host = systemHost("test-1.example.com", { PATH: "/bin" });
  const first = await collectFacts(builtinFacts, host, systemClock);
  expect(first.problems).toEqual([]);
  const bytes = encodeFacts(first.facts);
  expect(bytes.length).toBeLessThan(maxFactsBytes / 4);
  expect(encodeFacts((await collectFacts(builtinFacts, host, systemClock)).facts)).toEqual(bytes);
  expect(first.facts).toMatchObject({
    os: expect.any(String),
    os_family: expect.any(String),
    kernel: expect.any(String),
    kernelrelease: expect.any(String),
    cpuarch: expect.any(String),
    osarch: expect.any(String),
    host: "test-1",
    domain: "example.com",
    path: "/bin",
    uid: expect.any(Number),
    ipv4: expect.arrayContaining(["127.0.0.1"]),
  });
  expect(Number(first.facts.num_cpus)).toBeGreaterThan(0);
  expect(Number(first.facts.mem_total)).toBeGreaterThan(0);
});
