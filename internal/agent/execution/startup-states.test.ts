import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import type { CallContext, SettingsStore } from "../../host/modules/mod.ts";
import { openStateFiles } from "../state-files/mod.ts";
import type { Task } from "./executor.ts";
import { startStartupStates } from "./startup-states.ts";
import { createPeelStates } from "./states.ts";

interface Host {
  files: boolean;
  resolved: boolean;
}

function stage(config: { startup_states: string; startup_sls_list?: string[] }, host: Host) {
  const clock = manualClock();
  const log = recordingLog();
  const ran: Task["call"][] = [];
  let refreshed = 0;
  const startup = startStartupStates({
    config: { startup_states: config.startup_states as "", startup_sls_list: config.startup_sls_list ?? [] },
    executor: {
      async run({ call }) {
        ran.push(call);
        return { success: true, retcode: 0, return: { summary: { ok: 1 } }, started_at: "", duration_ms: 5 };
      },
    },
    settings: {
      get resolved() {
        return host.resolved;
      },
      async refresh() {
        refreshed++;
        return false;
      },
    },
    stateFiles: { waitForFirstSync: async () => host.files },
    clock,
    random: (length) => new Uint8Array(length),
    log,
  });
  return { clock, log, ran, startup, refreshes: () => refreshed };
}

const highstate = { function: "state.highstate", args: {} };

test("nothing is applied when nothing is configured", async () => {
  const { ran, startup, clock } = stage({ startup_states: "" }, { files: true, resolved: true });
  startup.connected();
  await settle();
  expect([ran, clock.pending]).toEqual([[], 0]);
});

test("with the bus there the newest is asked for and applied once", async () => {
  const { ran, startup, clock, refreshes, log } = stage(
    { startup_states: "highstate" },
    { files: true, resolved: true },
  );
  await settle();
  expect(ran).toEqual([]);
  startup.connected();
  startup.connected();
  await settle();
  expect(ran).toEqual([highstate]);
  expect([refreshes(), clock.pending]).toEqual([1, 0]);
  expect(log.records.at(-1)).toMatchObject({
    event: "start-up states applied",
    fields: { function: "state.highstate", summary: { ok: 1 } },
  });
});

test("named states are applied in their order", async () => {
  const { ran, startup } = stage(
    { startup_states: "sls", startup_sls_list: ["b", "a.x"] },
    { files: true, resolved: true },
  );
  startup.connected();
  await settle();
  expect(ran).toEqual([{ function: "state.sls", args: { mods: ["b", "a.x"] } }]);
});

test("without the bus, cached files are applied after a minute", async () => {
  const { ran, clock } = stage({ startup_states: "highstate" }, { files: true, resolved: true });
  await settle();
  clock.advance(59_999);
  await settle();
  expect(ran).toEqual([]);
  clock.advance(1);
  await settle();
  expect(ran).toEqual([highstate]);
});

test("a host that keeps nothing waits for the bus, and then for its settings", async () => {
  const host = { files: false, resolved: false };
  const { ran, clock, startup, log } = stage({ startup_states: "highstate" }, host);
  await settle();
  clock.advance(3_600_000);
  await settle();
  expect(ran).toEqual([]);
  expect(log.records.map(({ event }) => event)).toEqual([
    "start-up states wait for the bus: this host keeps no states and settings yet",
  ]);
  startup.connected();
  await settle();
  clock.advance(10_000);
  await settle();
  expect(ran).toEqual([]);
  host.resolved = true;
  clock.advance(500);
  await settle();
  expect(ran).toEqual([highstate]);
});

test("settings that do not come let the run fail with its reason rather than wait for ever", async () => {
  const { ran, clock, startup } = stage({ startup_states: "highstate" }, { files: true, resolved: false });
  startup.connected();
  for (let i = 0; i < 130; i++) {
    await settle();
    clock.advance(500);
  }
  await settle();
  expect(ran).toEqual([highstate]);
});

test("a peel that stops applies nothing any more and leaves no timer", async () => {
  const { ran, clock, startup, log } = stage(
    { startup_states: "highstate" },
    { files: true, resolved: true },
  );
  await settle();
  startup.stop();
  await settle();
  expect([ran, clock.pending, log.records]).toEqual([[], 0, []]);
});

test("a peel without state files waits one minute for them, in its start and in the run together", async () => {
  using directory = temporaryDirectory("startup");
  const clock = manualClock();
  const log = recordingLog();
  const stateFiles = openStateFiles({
    dir: directory.path,
    peelId: "web-1",
    commandKeys: { current: [] },
    clock,
    jitter: () => 0,
    log,
  });
  const request = () => Promise.reject(new Error("TIMEOUT"));
  stateFiles.attach({ connected: true, request });
  const settings = { resolved: true, refresh: async () => false } as SettingsStore;
  const facts = fixedFacts({});
  const context = () => ({ settings, facts }) as Omit<CallContext, "states">;
  const states = createPeelStates({
    dataDir: directory.path,
    peelId: "web-1",
    stateFiles,
    context,
    clock,
    jitter: () => 0,
    random: systemRandom,
    onEnd: () => {},
    config: { salt_compat: "strict", "templates.host_functions": "read" },
  });
  const startedAt = clock.monotonic();
  let endedAfterMs = 0;
  const startup = startStartupStates({
    config: { startup_states: "highstate", startup_sls_list: [] },
    executor: {
      async run() {
        const { signal } = new AbortController();
        const error = await states.run({}, { signal }).then(
          () => "",
          (thrown) => String(thrown),
        );
        endedAfterMs = clock.monotonic() - startedAt;
        return { success: false, retcode: 1, error, started_at: "", duration_ms: 0 };
      },
    },
    settings,
    stateFiles,
    clock,
    random: (length) => new Uint8Array(length),
    log,
  });
  startup.connected();
  for (let i = 0; i < 300 && endedAfterMs === 0; i++) {
    await settle();
    clock.advance(500);
  }
  expect(endedAfterMs).toBeWithin(60_000, 62_000);
  expect(log.records.at(-1)).toMatchObject({
    event: "start-up states failed",
    fields: { error: expect.stringContaining("no state files were received from the masters yet") },
  });
});
