import { beforeAll, expect, test } from "bun:test";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { observedLog } from "../../../test/harness/peel-connection.ts";
import { changingTree, compileTexts } from "../../../test/harness/settings-tree.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { fenceKey } from "../../bus/storage/fenced-writer.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createCompilers } from "../../tree/settings/compile.ts";
import { createEnvelopeMaker, encodeSettings, openEnvelope } from "../../wire/settings-envelope.ts";
import { createSettingsController } from "./controller.ts";
import { decodeSettingsRecord, encodeSettingsRecord } from "./record.ts";
import { trackSettings } from "./tracker.ts";
import { createSettingsView } from "./view.ts";

const files = {
  "top.sls": "base:\n  '*': [common]\n  'db-*': [db]\n",
  "common.sls": "os: {{ facts.os }}\n",
  "db.sls": "password: s3cret\n",
};

// The template engine is read from disk at its first use, which takes real time.
beforeAll(() => compileTexts({ "top.sls": "base: {'*': [a]}", "a.sls": "a: {{ id }}" }));

/** A fleet in memory, with a master that compiles its settings. */
function fleet(texts: Record<string, string> = files) {
  const command = newKeyPair("user", systemRandom);
  const keys = new Map<string, ReturnType<typeof deriveCurveKey>>();
  const facts = new Map<string, Uint8Array>();
  const bucket = memoryBucket();
  const memberListeners = new Set<(peelId: string) => void>();
  const factListeners = new Set<(peelId: string) => void>();
  const clock = manualClock();
  const tree = changingTree(texts);
  const peels = {
    members: () => [...keys.keys()].sort(),
    isMember: (peelId: string) => keys.has(peelId),
    labelsOf: () => undefined,
    onMember: (run: (peelId: string) => void) => {
      memberListeners.add(run);
      return () => memberListeners.delete(run);
    },
    onFacts: (run: (peelId: string) => void) => {
      factListeners.add(run);
      return () => factListeners.delete(run);
    },
    facts: async (peelId: string) => facts.get(peelId),
  };
  const compilers = createCompilers();
  const compilerOf = (of: typeof tree.tree) => compilers(of);
  const master = () => {
    const log = observedLog();
    const hints: string[] = [];
    const counts: Record<string, number> = {};
    const tracker = trackSettings(tree, peels);
    const end = new AbortController();
    const controller = createSettingsController({
      peels,
      recipientOf: async (peelId) => keys.get(peelId)?.publicKey,
      bucket,
      envelopes: createEnvelopeMaker(command, systemRandom),
      hint: (peelId) => hints.push(peelId),
      tree,
      tracker,
      compilerOf,
      async acquireWriter(token) {
        await bucket.put(fenceKey, Buffer.from(`${token}`));
        return {
          write: async (key, value) => {
            if (value !== undefined) return bucket.put(key, value);
            const entry = await bucket.get(key);
            await bucket.remove(key, entry?.revision ?? 0);
            return 0;
          },
        };
      },
      signer: command.publicKey,
      onRenewal: (renewal) => {
        counts[renewal] = (counts[renewal] ?? 0) + 1;
      },
      clock,
      log,
    });
    const serve = () => controller.serve({ token: 1, signal: end.signal });
    return { controller, serve, log, hints, counts, stop: () => end.abort() };
  };
  return {
    bucket,
    clock,
    tree,
    peels,
    compilerOf,
    master,
    join(peelId: string, reported?: Plain) {
      keys.set(peelId, deriveCurveKey(newKeyPair("user", systemRandom)));
      if (reported !== undefined) facts.set(peelId, encode(reported));
      for (const run of memberListeners) run(peelId);
    },
    keyOf: (peelId: string) => keys.get(peelId)?.publicKey ?? "",
    leave(peelId: string) {
      keys.delete(peelId);
      for (const run of memberListeners) run(peelId);
    },
    report(peelId: string, reported: Plain) {
      facts.set(peelId, encode(reported));
      for (const run of factListeners) run(peelId);
    },
    async shown(peelId: string) {
      const entry = await bucket.get(peelId);
      const record = entry === undefined ? undefined : decodeSettingsRecord(entry.value);
      const key = keys.get(peelId);
      if (record === undefined || key === undefined) return undefined;
      const opened =
        record.envelope === undefined
          ? undefined
          : openEnvelope(record.envelope, peelId, key, { keys: [command.publicKey], newest: 0 });
      return { ...opened, ...(record.error === undefined ? {} : { error: record.error }) };
    },
  };
}

test("each peel has its settings, sealed; what does not change them writes nothing", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  at.join("db-1", { os: "SUSE" });
  const { serve, hints, counts, stop } = at.master();
  const serving = serve();
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Debian" } });
  expect(await at.shown("db-1")).toMatchObject({ settings: { os: "SUSE", password: "s3cret" } });
  expect(hints.sort()).toEqual(["db-1", "web-1"]);
  for (const { value } of await at.bucket.entries())
    expect(Buffer.from(value).includes("s3cret")).toBe(false);

  const before = (await at.bucket.entries()).map(({ revision }) => revision);
  at.report("web-1", { os: "Debian", load: 3 });
  await settle();
  expect((await at.bucket.entries()).map(({ revision }) => revision)).toEqual(before);
  expect(counts).toEqual({ written: 2, unchanged: 1 });

  at.report("web-1", { os: "Rocky" });
  await settle();
  expect(counts).toEqual({ written: 3, unchanged: 1 });
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Rocky" } });
  stop();
  await serving;
});

test("a changed file is compiled for the peels that use it, and versions only grow", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  at.join("db-1", { os: "SUSE" });
  const { serve, counts, stop } = at.master();
  const serving = serve();
  await settle();
  const before = await at.shown("db-1");
  at.tree.become({ ...files, "db.sls": "password: other\n" });
  await settle();
  expect(counts).toEqual({ written: 3 });
  const after = await at.shown("db-1");
  // The clock stands still here.
  expect(after?.version).toBe((before?.version ?? 0) + 1);
  expect(after?.settings).toEqual({ os: "SUSE", password: "other" });
  at.tree.become({ ...files, "db.sls": "password: other\n", "unused.sls": "a: 1\n" });
  await settle();
  expect(counts).toEqual({ written: 3 });
  stop();
  await serving;
});

test("a new holder writes nothing that is up to date, and continues the versions", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  const first = at.master();
  const serving = first.serve();
  await settle();
  first.stop();
  await serving;
  const before = await at.shown("web-1");
  // Its clock is an hour behind.
  at.clock.now = () => (before?.version ?? 0) - 3_600_000;
  const second = at.master();
  const servingToo = second.serve();
  await settle();
  expect(second.counts).toEqual({ unchanged: 1 });
  at.report("web-1", { os: "SUSE" });
  await settle();
  expect((await at.shown("web-1"))?.version).toBe((before?.version ?? 0) + 1);
  second.stop();
  await servingToo;
});

test("a forged stored value is replaced", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  await at.bucket.put("web-1", encode({ v: 1, peel_id: "web-1", envelope: new Uint8Array(9) }));
  await at.bucket.put("db-1", Buffer.from("junk"));
  at.join("db-1", { os: "Debian" });
  const { serve, stop } = at.master();
  const serving = serve();
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Debian" } });
  expect(await at.shown("db-1")).toMatchObject({ settings: { os: "Debian", password: "s3cret" } });
  stop();
  await serving;
});

test("a failing peel keeps its settings, is reported by name, and recovers with the file or the facts", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  at.join("web-2", { os: "Debian" });
  const { controller, serve, log, stop } = at.master();
  const serving = serve();
  await settle();
  const before = await at.shown("web-1");
  at.report("web-1", {});
  await settle();
  expect(await at.shown("web-1")).toEqual({ ...before, error: "common.sls:1: undefined: facts.os" });
  expect(controller.health()).toEqual({
    status: "degraded",
    message: "1 peel keeps older settings, such as web-1: common.sls:1: undefined: facts.os",
  });
  const reported = log.records.filter(({ level }) => level === "error");
  expect(reported).toMatchObject([
    { fields: { reason: "common.sls:1: undefined: facts.os", peel_ids: ["web-1"] } },
  ]);
  expect(await at.shown("web-2")).toMatchObject({ settings: { os: "Debian" } });

  at.report("web-1", { os: "Debian" });
  await settle();
  expect(await at.shown("web-1")).toEqual(before as object);
  expect(controller.health()).toEqual({ status: "up" });

  at.tree.become({ ...files, "common.sls": "os: {{ facts.typo }}\n" });
  await settle();
  expect(controller.health().message).toStartWith("2 peels keep older settings");
  at.tree.become(files);
  await settle();
  expect(controller.health()).toEqual({ status: "up" });
  expect(await at.shown("web-1")).toEqual(before as object);
  stop();
  await serving;
});

test("a peel that never had settings only has the reason", async () => {
  const at = fleet();
  at.join("web-1", {});
  at.join("web-2", [1, 2]);
  const { serve, stop } = at.master();
  const serving = serve();
  await settle();
  expect(await at.shown("web-1")).toEqual({ error: "common.sls:1: undefined: facts.os" });
  expect(await at.shown("web-2")).toEqual({ error: "the facts of the peel are not a map" });
  stop();
  await serving;
});

test("a broken top file changes no settings; nothing is compiled until it is fixed", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  const { controller, serve, log, counts, stop } = at.master();
  const serving = serve();
  await settle();
  at.tree.become({ ...files, "top.sls": "base: [" });
  at.report("web-1", { os: "SUSE" });
  at.join("web-2", { os: "SUSE" });
  await settle();
  expect(controller.health()).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("top.sls:"),
  });
  expect(log.records.filter(({ level }) => level === "error")).toHaveLength(1);
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Debian" } });
  expect(await at.shown("web-2")).toBeUndefined();
  expect(counts).toEqual({ written: 1 });
  at.tree.become(files);
  await settle();
  expect(controller.health()).toEqual({ status: "up" });
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "SUSE" } });
  expect(await at.shown("web-2")).toMatchObject({ settings: { os: "SUSE" } });
  stop();
  await serving;
});

test.each([
  ["no peel is a member", undefined],
  ["the only peel has not sent its facts", "web-1"],
])("a broken top file shows while %s, and no longer after another master took over", async (_, waiting) => {
  const at = fleet();
  if (waiting !== undefined) at.join(waiting);
  const { controller, serve, stop } = at.master();
  const serving = serve();
  await settle();
  expect(controller.health()).toEqual({ status: "up" });
  at.tree.become({ ...files, "top.sls": "base:\n  '*': [common\n" });
  await settle();
  expect(controller.health()).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("top.sls:"),
  });
  at.tree.become(files);
  await settle();
  expect(controller.health()).toEqual({ status: "up" });
  at.tree.become({ ...files, "top.sls": "dev: {}\n" });
  expect(controller.health().message).toContain("top.sls:1: the environment");
  stop();
  await serving;
  expect(controller.health()).toEqual({ status: "up" });
});

test("without files settings are empty, and deleted files do not remove settings", async () => {
  const at = fleet({});
  at.join("web-1", { os: "Debian" });
  const { controller, serve, stop } = at.master();
  const serving = serve();
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: {} });
  at.tree.become(files);
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Debian" } });
  at.tree.become({});
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Debian" } });
  expect(controller.health().status).toBe("degraded");
  // An empty top file removes settings.
  at.tree.become({ "top.sls": "base: {}\n" });
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: {} });
  expect(controller.health()).toEqual({ status: "up" });
  stop();
  await serving;
});

test("without files, settings signed by an earlier command key are kept, those for an earlier peel key are not", async () => {
  const at = fleet({});
  at.join("web-1", { os: "Debian" });
  at.join("web-2", { os: "Debian" });
  const bytes = encodeSettings({ a: 1 });
  const earlier = createEnvelopeMaker(newKeyPair("user", systemRandom), systemRandom);
  const put = (peelId: string, curvePublicKey: string) => {
    const to = { peelId, curvePublicKey };
    const envelope = earlier.make(bytes, to, { version: 1, digest: earlier.digest(bytes, to) });
    return at.bucket.put(peelId, encodeSettingsRecord({ peelId, envelope }));
  };
  await put("web-1", at.keyOf("web-1"));
  await put("web-2", at.keyOf("web-1"));
  const { serve, counts, stop } = at.master();
  const serving = serve();
  await settle();
  expect(counts).toEqual({ kept: 1, written: 1 });
  expect(await at.shown("web-2")).toMatchObject({ settings: {} });
  stop();
  await serving;
});

test("a peel without facts waits for them; a removed peel has no settings, and a new key gets new ones", async () => {
  const at = fleet();
  at.join("web-1");
  const { serve, stop } = at.master();
  const serving = serve();
  await settle();
  expect(at.bucket.keys).toEqual([fenceKey]);
  at.report("web-1", { os: "Debian" });
  await settle();
  const before = await at.shown("web-1");
  at.leave("web-1");
  await settle();
  expect(at.bucket.keys).toEqual([fenceKey]);
  at.join("web-1");
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: before?.settings as object });
  stop();
  await serving;
});

test("a failing bus is retried without losing changes", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  const { serve, log, stop } = at.master();
  at.bucket.beforeWrite = (key) => {
    if (key !== fenceKey) throw new SvcError("storage", "the bucket is away");
  };
  const serving = serve();
  await log.logged("settings are not up to date");
  at.bucket.beforeWrite = () => {};
  await settle();
  expect(await at.shown("web-1")).toBeUndefined();
  at.clock.advance(2_000);
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: { os: "Debian" } });
  stop();
  await serving;
});

test("settings for targets are compiled on demand, again after changes, and expire", async () => {
  const at = fleet();
  at.join("web-1", { os: "Debian" });
  at.join("web-2", {});
  const { tree, peels, compilerOf, clock } = at;
  const view = createSettingsView({ tree, peels, compilerOf, clock });
  const osOf = async (peelId: string) => (await view.load()).get(peelId)?.values[0];
  expect(await osOf("web-1")).toBe("Debian");
  expect(await osOf("web-2")).toBeUndefined();
  at.report("web-2", { os: "SUSE" });
  at.leave("web-1");
  expect(await osOf("web-1")).toBeUndefined();
  expect(await osOf("web-2")).toBe("SUSE");
  at.tree.become({ ...files, "common.sls": "os: none\n" });
  expect(await osOf("web-2")).toBe("none");
  at.tree.become({ ...files, "top.sls": "[" });
  await expect(view.load()).rejects.toThrow("target: I@ cannot be used: top.sls");
  at.tree.become(files);
  const loaded = await view.load();
  expect(loaded.size).toBe(1);
  clock.advance(10 * 60_000);
  expect(loaded.size).toBe(0);
  expect(await osOf("web-2")).toBe("SUSE");
  view.stop();
});

test("without a top file, a peel with a new key still gets its empty settings sealed to it", async () => {
  const at = fleet();
  at.tree.become({});
  at.join("web-1", { os: "Debian" });
  const { controller, serve, stop } = at.master();
  const serving = serve();
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: {} });
  at.join("web-1", { os: "Debian" });
  await settle();
  expect(await at.shown("web-1")).toMatchObject({ settings: {} });
  expect(controller.health()).toEqual({ status: "up" });
  stop();
  await serving;
});
