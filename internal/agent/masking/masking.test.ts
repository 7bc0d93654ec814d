import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { fixedSettings } from "../../../test/harness/settings.ts";
import type { Plain } from "../../base/msgpack.ts";
import { createMask, masked } from "./mask.ts";
import { maskReturn, maskRun } from "./mask-run.ts";
import { maskedLog } from "./masked-log.ts";
import { createMasking } from "./masking.ts";
import { withoutUrlSecrets } from "./message.ts";

const secret = "hunter2-of-the-database";
const key = `-----BEGIN KEY-----\n${"k".repeat(20)}\nListenAddress 0.0.0.0\n`;

test("names of this host and lines of state files count once they are known; until then all is masked", async () => {
  const settings = fixedSettings({ db_password: secret, db_auth: "postgresql", tls_key: key, pin: 42 });
  const masking = createMasking({
    ...{ settings, clock: manualClock(), log: recordingLog() },
    names: async () => new Set(["postgresql", "web-1"]),
    stateFiles: () => ["# ssh\nListenAddress 0.0.0.0\n"],
  });
  const text = `user postgresql, ${secret}, ${"k".repeat(20)}, ListenAddress 0.0.0.0`;
  expect(masking.current().text(text)).toBe(`user ${masked}, ${masked}, ${masked}, ${masked}`);
  expect(masking.weak()).toEqual(["pin"]);
  const changes: number[] = [];
  masking.onChange(() => changes.push(1));
  await masking.settled();
  expect(masking.current().text(text)).toBe(`user postgresql, ${masked}, ${masked}, ListenAddress 0.0.0.0`);
  expect(masking.weak()).toEqual(["db_auth", "pin"]);
  expect(changes).toEqual([1]);
  masking.stop();
});

test("where the packages cannot be read, everything stays masked, and the log reports it", async () => {
  const log = recordingLog();
  const masking = createMasking({
    ...{
      settings: fixedSettings({ db_auth: "postgresql" }),
      clock: manualClock(),
      log,
      stateFiles: () => [],
    },
    names: async () => {
      throw new Error("rpm is broken");
    },
  });
  await masking.settled();
  expect(masking.current().text("by postgresql")).toBe(`by ${masked}`);
  expect(log.records.map(({ level }) => level)).toEqual(["warn"]);
  masking.stop();
});

const mask = createMask({ strong: [secret], weak: ["base"] });

test("a run of states keeps its ids and places", () => {
  const state = {
    ...{
      id: secret,
      function: "file.managed",
      name: `/etc/${secret}`,
      result: true,
      file: "base",
      line: 1,
      duration_ms: 1,
    },
    ...{
      changes: { diff: `-old\n+${secret}`, [secret]: "base" },
      comment: `see https://ann:pw@host/a?token=1 ${secret}`,
    },
  };
  const run = { startedAt: 0, duration_ms: 1, environment: "base", test: false, states: [state], not_run: 0 };
  expect(
    maskRun(mask, { ...run, problems: [{ file: "base", line: 1, message: `${secret} at http://h/?a=b` }] }),
  ).toEqual({
    ...run,
    problems: [{ file: "base", line: 1, message: `${masked} at http://h/` }],
    states: [
      {
        ...state,
        name: `/etc/${masked}`,
        changes: { diff: `-old\n+${masked}`, [masked]: masked },
        comment: `see https://host/a ${masked}`,
      },
    ],
  });
});

test("the return of a function on states keeps ids, functions and places; another one keeps nothing", () => {
  const mask = createMask({ strong: [secret], weak: ["base", "file.managed"] });
  const state = { id: "base", function: "file.managed", name: "base", at: "base", result: true, changes: {} };
  const value = {
    states: [{ ...state, comment: `a http://b:c@d/ ${secret}` }],
    environment: "base",
    warnings: [`http://u:p@h/x?y ${secret}`],
  };
  const result = { success: true, retcode: 0, started_at: "", duration_ms: 1 };
  const shown = (called: string, one: Plain) =>
    maskReturn(mask, { function: called, args: {} }, { ...result, return: one }).return;
  expect(shown("state.apply", value)).toEqual({
    states: [{ ...state, name: masked, comment: `a http://d/ ${masked}` }],
    ...{ environment: "base", warnings: [`http://h/x ${masked}`] },
  });
  expect(shown("state.show_sls", [{ ...state, args: { contents: secret } }])).toEqual([
    { ...state, name: masked, args: { contents: masked } },
  ]);
  expect(shown("cmd.run", { environment: "base", states: [{ id: secret }] })).toEqual({
    ...{ environment: masked, states: [{ id: masked }] },
  });
  expect(
    maskReturn(mask, { function: "cmd.run", args: {} }, { ...result, error: `at ftp://u@h/x?y: ${secret}` })
      .error,
  ).toBe(`at ftp://h/x: ${masked}`);
});

test.each([
  ["get https://ann:secret@example.com:8443/a?b=c#d failed", "get https://example.com:8443/a#d failed"],
  ["'https://tok@h/x?y' and ftp://a:b@c", "'https://h/x' and ftp://c"],
  ["https://example.com/a@b/c", "https://example.com/a@b/c"],
  ["svc://web/file.conf, no URL: a?b", "svc://web/file.conf, no URL: a?b"],
])("a message has no user, password or query of a URL: %s", (message, shown) => {
  expect(withoutUrlSecrets(message)).toBe(shown);
});

test("a log has none either, at any depth, in errors and in what all its records have", () => {
  const log = recordingLog();
  const inner = maskedLog(log, () => mask).with({ job: secret });
  inner.warn(`failed: ${secret}`, { reason: new Error(secret), of: [{ url: "https://a:b@c/?d" }], count: 2 });
  expect(JSON.stringify(log.records)).not.toContain(secret);
  expect(log.records[0]).toMatchObject({
    event: `failed: ${masked}`,
    fields: { job: masked, reason: masked, of: [{ url: "https://c/" }], count: 2 },
  });
});
