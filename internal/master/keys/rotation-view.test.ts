import { afterAll, beforeAll, expect, test } from "bun:test";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestAuthority, testAuthority } from "../../../test/harness/impostor.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { describeCertificate } from "../../identity/ca/mod.ts";
import { createFactPacker } from "../../tree/targets/mod.ts";
import { createMasterMetrics } from "../metrics/mod.ts";
import { viewRotations } from "./rotation-view.ts";

const files = temporaryDirectory("rotation-view");
afterAll(() => files[Symbol.dispose]());
let [current, next]: TestAuthority[] = [];
beforeAll(async () => {
  [current, next] = await Promise.all([testAuthority("one"), testAuthority("two")]);
});

const rootOf = (authority: TestAuthority | undefined) => ({
  pem: authority?.rootPem ?? "",
  pin: authority?.pin ?? "",
});
/** Peels by what they report; those that are off begin with `off`. */
const indexOf = (peels: Record<string, unknown>, running = true) => ({
  running,
  alive: (id: string) => !id.startsWith("off"),
  peels: () =>
    Object.entries(peels).map(([id, trust_roots]) => ({
      id,
      facts: createFactPacker().pack(JSON.parse(JSON.stringify({ os: "Debian", trust_roots }))).facts,
    })),
});
const still = {
  index: indexOf({}),
  rotation: { unconfirmed: undefined },
  authDir: files.path,
  nextKey: undefined,
};

test("without a rotation nothing waits", () => {
  expect(viewRotations({ ...still, certificate: { root: rootOf(current) } })).toEqual({
    root: { phases: { start: 0, activate: 0 }, lacking: 0 },
    commandKey: { unconfirmed: 0 },
  });
  expect(viewRotations({ ...still, certificate: {} })).toEqual({ commandKey: { unconfirmed: 0 } });
});

test("a rotation of the root waits for the alive peels that do not report the next one", () => {
  const certificate = {
    root: rootOf(current),
    rotation: { phase: "activate" as const, next: rootOf(next) },
  };
  const index = indexOf({
    both: [current?.pin, next?.pin],
    next: [next?.pin],
    current: [current?.pin],
    old: undefined,
    hostile: `${next?.pin}`,
    "off-1": [current?.pin],
  });
  const { root } = viewRotations({ ...still, certificate, index });
  expect(root).toEqual({
    phases: { start: 0, activate: 1 },
    startedAt: describeCertificate(next?.rootPem ?? "").notBefore,
    lacking: 3,
  });
  const unknown = viewRotations({ ...still, certificate, index: indexOf({}, false) });
  expect(unknown.root?.lacking).toBeUndefined();
});

test("a change of the command key is as old as its file, and every part is a metric", async () => {
  const path = join(files.path, "command-next.seed");
  writeFileSync(path, "");
  utimesSync(path, 1_000, 1_000);
  const certificate = { root: rootOf(current), rotation: { phase: "start" as const, next: rootOf(next) } };
  const view = viewRotations({
    ...still,
    certificate,
    index: indexOf({ current: [current?.pin] }),
    nextKey: "U",
    rotation: { unconfirmed: 2 },
  });
  expect(view.commandKey).toEqual({ startedAt: 1_000_000, unconfirmed: 2 });
  const text = await createMasterMetrics(() => ({ rotations: () => view })).render();
  const started = describeCertificate(next?.rootPem ?? "").notBefore / 1000;
  for (const line of [
    'svc_root_rotation_phase{phase="start"} 1',
    'svc_root_rotation_phase{phase="activate"} 0',
    `svc_root_rotation_started_timestamp_seconds ${started}`,
    "svc_root_rotation_lacking_peels 1",
    "svc_command_key_rotation_started_timestamp_seconds 1000",
    "svc_command_key_unconfirmed_peels 2",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
});

test("a master that has not started all its parts shows no number", async () => {
  const text = await createMasterMetrics(() => ({})).render();
  expect(text).toContain("\nsvc_root_rotation_lacking_peels NaN\n");
  expect(text).not.toContain("svc_root_rotation_phase{");
});
