import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createEnvelopeMaker, encodeSettings, type Settings } from "../../wire/settings-envelope.ts";
import { openSettingsStore } from "./store.ts";

const command = newKeyPair("user", systemRandom);
const own = deriveCurveKey(newKeyPair("user", systemRandom));
const maker = createEnvelopeMaker(command, systemRandom);

function envelope(version: number, settings: Settings, peelId = "web-1") {
  const to = { peelId, curvePublicKey: own.publicKey };
  const bytes = encodeSettings(settings);
  return maker.make(bytes, to, { version, digest: maker.digest(bytes, to) });
}

const clock = manualClock();

function storeIn(directory: string, peelId = "web-1") {
  const log = recordingLog();
  const file = join(directory, "settings-snapshot.msgpack");
  const commandKeys = { current: [command.publicKey] };
  return {
    file,
    log,
    store: openSettingsStore({ file, peelId, commandKeys, keys: () => [own], now: clock.now, log }),
  };
}

test("settings are accepted, stored in a file for the owner only, and loaded at the next start", () => {
  using directory = temporaryDirectory("settings");
  const { store, file } = storeIn(directory.path);
  expect(store).toMatchObject({ resolved: false, version: 0 });
  expect(store.reason).toContain("the masters have not been reached yet");
  expect(store.current()).toEqual({});
  expect(store.take({ envelope: envelope(5, { web: { port: 80, names: ["a", "b"] } }) })).toBe(true);
  expect(store.take({ envelope: envelope(6, { web: { port: 80, names: ["a", "b"] } }) })).toBe(false);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const { store: at } of [{ store }, storeIn(directory.path)]) {
    expect(at).toMatchObject({ resolved: true, reason: undefined, version: 6 });
    expect(at.get("web:names:1")).toBe("b");
    expect(at.get("web:none", "d")).toBe("d");
  }
});

test("replayed, foreign or malformed settings do not change those in force, and are logged once", () => {
  using directory = temporaryDirectory("settings");
  const { store, log } = storeIn(directory.path);
  store.take({ envelope: envelope(5, { a: "s3cret" }) });
  for (const bad of [envelope(4, { a: 0 }), envelope(9, { a: 0 }, "web-2"), new Uint8Array(3)]) {
    for (let time = 0; time < 2; time++) expect(store.take({ envelope: bad })).toBe(false);
    expect(store.current()).toEqual({ a: "s3cret" });
  }
  expect(log.records.filter(({ level }) => level === "warn")).toHaveLength(3);
  expect(JSON.stringify(log.records)).not.toContain("s3cret");
  expect(storeIn(directory.path).store.version).toBe(5);
});

test("the reason for missing settings is reported: a compile error or a rejection", () => {
  using directory = temporaryDirectory("settings");
  const { store, log } = storeIn(directory.path);
  store.take({ error: "web.sls:3: undefined: x" });
  expect(store.reason).toContain("web.sls:3: undefined: x");
  store.take({ envelope: envelope(5, {}, "web-2") });
  expect(store.reason).toContain("for another peel");
  store.take({ envelope: envelope(5, {}) });
  expect(store).toMatchObject({ resolved: true, reason: undefined });
  store.take({ error: "web.sls:3: undefined: x" });
  expect(store.resolved).toBe(true);
  expect(log.records.filter(({ event }) => event.includes("cannot compile"))).toHaveLength(2);
});

test.each<[string, Uint8Array]>([
  ["damaged", Buffer.from("junk")],
  ["empty", new Uint8Array()],
  ["another peel's", encode({ v: 1, peel_id: "web-2", version: 5, settings: { a: 1 } })],
  ["of another form", encode({ v: 1, peel_id: "web-1", version: 5, settings: [1] })],
])("a snapshot that is %s is not used, and replaced by the next settings", (_, bytes) => {
  using directory = temporaryDirectory("settings");
  const { file } = storeIn(directory.path);
  writeFileSync(file, bytes);
  const { store, log } = storeIn(directory.path);
  expect(store.resolved).toBe(false);
  expect(log.records).toMatchObject([{ level: "warn", event: "the snapshot of the settings is not used" }]);
  store.take({ envelope: envelope(1, { a: 1 }) });
  expect(storeIn(directory.path).store.current()).toEqual({ a: 1 });
});

test("settings that cannot be stored are in force anyway, and this is logged", () => {
  using directory = temporaryDirectory("settings");
  const { store, file, log } = storeIn(join(directory.path, "gone"));
  expect(store.take({ envelope: envelope(5, { a: 1 }) })).toBe(true);
  expect(store.current()).toEqual({ a: 1 });
  expect(() => readFileSync(file)).toThrow();
  expect(log.records.some(({ level }) => level === "error")).toBe(true);
});

test("secrets are those by name, by the masters' places and by form, and for a day what they replaced", () => {
  using directory = temporaryDirectory("settings");
  const { store } = storeIn(directory.path);
  const seal = (version: number, settings: Settings, secrets: string[][] = []) => {
    const to = { peelId: "web-1", curvePublicKey: own.publicKey };
    const bytes = encodeSettings(settings, { labels: { env: "prod" }, secrets });
    return { envelope: maker.make(bytes, to, { version, digest: maker.digest(bytes, to) }) };
  };
  const textsOf = (at = store) => at.secrets().map(({ name, text }) => `${name}=${text}`);
  const changes: string[][] = [];
  store.onChange(() => changes.push(textsOf()));
  const db = { db: { password: "old", host: "db-1", list: [1, { deep: "two" }] }, url: "http://a:pw@b/" };
  store.take(seal(1, { ...db, plain: "shown", flag_key: true }, [["db", "list"], ["gone"]]));
  expect(store.current()).not.toHaveProperty("svc:secrets");
  expect(store.shown?.()).toEqual({
    ...{ db: { password: {}, host: "db-1", list: {} }, url: {}, plain: "shown", flag_key: {} },
  });
  expect(textsOf()).toEqual([
    ...["db:password=old", "db:list:0=1", "db:list:1:deep=two", "url=http://a:pw@b/", "url=pw"],
  ]);
  clock.advance(1_000);
  store.take(seal(2, { db: { password: "new" }, plain: "old" }));
  const replaced = ["db:password=old", "db:list:0=1", "db:list:1:deep=two", "url=http://a:pw@b/", "url=pw"];
  expect(textsOf()).toEqual(["db:password=new", ...replaced]);
  expect(changes.at(-1)).toEqual(textsOf());
  // Also after a restart, and no longer than a day.
  expect(textsOf(storeIn(directory.path).store)).toEqual(textsOf());
  clock.advance(12 * 3_600_000);
  store.take(seal(3, { db: { password: "newer" } }));
  expect(textsOf()).toEqual(["db:password=newer", "db:password=new", ...replaced]);
  clock.advance(12 * 3_600_000);
  expect(textsOf()).toEqual(["db:password=newer", "db:password=new"]);
  // What counts again is not replaced.
  store.take(seal(4, { db: { password: "new" } }));
  expect(textsOf()).toEqual(["db:password=new", "db:password=newer"]);
});
