import { expect, test } from "bun:test";
import { loadPeelConfig } from "../../program/config/mod.ts";
import type { ScheduleEntry } from "../../program/config/schedule.ts";
import { checkSchedule } from "./check.ts";

const entry = (more: Partial<ScheduleEntry>): ScheduleEntry => ({
  name: "nightly",
  module: "test.ping",
  args: {},
  interval: 1_000,
  splay: 0,
  maxrunning: 1,
  run_on_start: false,
  return_job: false,
  enabled: true,
  ...more,
});

test("the schedule in the documentation can run", async () => {
  const page = await Bun.file(`${import.meta.dir}/../../../docs/schedule.md`).text();
  const yaml = /^```yaml\n(.*?)^```/ms.exec(page)?.[1] ?? "";
  const loaded = loadPeelConfig(["--config", "peel.yaml"], {}, () => yaml);
  if (loaded.kind !== "run") throw new Error("the configuration does not run");
  expect(loaded.values.schedule.map(({ name }) => name)).toEqual(["disk", "nightly"]);
  expect(() => checkSchedule(loaded.values.schedule)).not.toThrow();
});

test("a valid schedule is accepted", () => {
  expect(() => checkSchedule([entry({})])).not.toThrow();
});

test.each<[Partial<ScheduleEntry>, string]>([
  [
    { module: "test.pong" },
    'schedule: entry "nightly": unknown function "test.pong" (did you mean test.ping?)',
  ],
  [{ args: { a: 1 } }, 'schedule: entry "nightly": test.ping: unknown argument "a"'],
  [
    { enabled: false, module: "nothing" },
    'schedule: entry "nightly": unknown function "nothing" (a program of the host runs with cmd.run "nothing")',
  ],
  [{ args: { a: "x".repeat(70_000) } }, 'schedule: entry "nightly": args: larger than 64 KiB'],
])("an entry that never can is refused by name", (more, message) => {
  expect(() => checkSchedule([entry({}), entry(more)])).toThrow(
    expect.objectContaining({ kind: "bad_request", message: expect.stringContaining(message) }),
  );
});
