import { describe, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Environment } from "../../tree/publication/mod.ts";
import { createStateStage } from "./check-states.ts";

const top = "base:\n  '*': [a]\n";

function stageWith(more: Partial<Parameters<typeof createStateStage>[0]> = {}) {
  const refused: unknown[] = [];
  const stage = createStateStage({
    ...{ level: "syntax", saltCompat: "strict", clock: manualClock(), log: recordingLog() },
    kinds: { read: async () => ({ kinds: [], left: 0 }), version: () => 0 },
    onRefused: (each) => void refused.push(each),
    isReleased: () => false,
    ...more,
  });
  return { stage, refused };
}

const candidate = (text: string, commits: Environment["origin"]["commits"] = []): Environment => ({
  ...{ name: "base", origin: { directory: commits.length === 0, commits } },
  files: contentsOf({ "top.sls": top, "a.sls": text }),
});

test("a broken candidate is refused once, with its first problem and its commit", async () => {
  const { stage, refused } = stageWith();
  const commits = [{ remote: "r", ref: "refs/heads/main", commit: "c1" }];
  const broken = candidate("x:\n  fiel.managed: []\ny:\n  fiel.absent: []\n", commits);
  for (const _ of [1, 2]) {
    expect(await stage.judge(broken)).toMatch(
      /^a\.sls:2:1: unknown state function .* \(and 1 more: check with/,
    );
  }
  expect(refused).toEqual([
    {
      ...{ environment: "base", commit: "c1", snapshot: expect.stringMatching(/^[0-9a-f]{64}$/) },
      problems: [expect.objectContaining({ line: 2 }), expect.objectContaining({ line: 4 })],
      hints: [],
    },
  ]);
  expect(stage.found("base")).toBe(refused[0] as never);
  expect(stage.found("dev")).toBeUndefined();
  expect(await stage.judge(candidate("x: {test.nop: []}\n"))).toBeUndefined();
  await stage.judge(candidate("x: [\n"));
  expect(refused).toHaveLength(2);
  expect(refused[1]).toMatchObject({ commit: "local" });
});

test("unknown functions pass where files are read as Salt's, and everything passes without a check", async () => {
  const unknown = candidate("x:\n  boto.present: []\n");
  expect(await stageWith({ saltCompat: "bridge" }).stage.judge(unknown)).toBeUndefined();
  expect(await stageWith({ level: "off" }).stage.judge(candidate("x: [\n"))).toBeUndefined();
});

describe("with compile", () => {
  const text = "{% if labels.role == 'db' %}\nx:\n  test.nop: [{require: [{pkg: gone}]}]\n{% endif %}\n";
  const kindOf = (role: string, peels: number) => ({
    ...{ peelId: `${role}-1`, peels, facts: { os: "Debian" }, labels: { role }, settings: {} },
  });

  test("what breaks for one kind of several peels alone is refused, until other settings are in force", async () => {
    let version = 1;
    let kinds = [kindOf("web", 3), kindOf("db", 2)];
    const { stage, refused } = stageWith({
      level: "compile",
      kinds: { read: async () => ({ kinds, left: 0 }), version: () => version },
    });
    const broken = candidate(text);
    const reason = /^a\.sls:\d+:1: for 2 peels such as db-1: /;
    for (const _ of [1, 2]) expect(await stage.judge(broken)).toMatch(reason);
    version = 2;
    expect(await stage.judge(broken)).toMatch(reason);
    expect(refused).toHaveLength(1);
    kinds = [kindOf("web", 3)];
    version = 3;
    expect(await stage.judge(broken)).toBeUndefined();
    expect(await stageWith().stage.judge(broken)).toBeUndefined();
  });

  test("what breaks for a kind comes into force when an operator releases it, and broken syntax does not", async () => {
    const released = new Set<string>();
    const { stage } = stageWith({
      level: "compile",
      kinds: { read: async () => ({ kinds: [kindOf("db", 2)], left: 0 }), version: () => 0 },
      isReleased: (environment, snapshot) => environment === "base" && released.has(snapshot),
    });
    const broken = candidate(text);
    expect(await stage.judge(broken)).toContain("for 2 peels such as db-1: ");
    expect(stage.found("base")).toMatchObject({ yields: true });
    // Control: a release of other files.
    released.add("ab".repeat(32));
    expect(await stage.judge(broken)).toBeDefined();
    released.add(stage.found("base")?.snapshot ?? "");
    expect(await stage.judge(broken)).toBeUndefined();
    const malformed = candidate("x: [\n");
    expect(await stage.judge(malformed)).toBeDefined();
    released.add(stage.found("base")?.snapshot ?? "");
    expect(await stage.judge(malformed)).toBeDefined();
    expect(stage.found("base")?.yields).toBeUndefined();
  });

  test("what breaks for a single peel comes into force, and the log has a hint", async () => {
    const log = recordingLog();
    const { stage, refused } = stageWith({
      ...{ level: "compile", log },
      kinds: { read: async () => ({ kinds: [kindOf("db", 1)], left: 0 }), version: () => 0 },
    });
    expect(await stage.judge(candidate(text))).toBeUndefined();
    expect(refused).toEqual([]);
    expect(JSON.stringify(log.records)).toContain("for db-1 alone: ");
    const hint = { file: "a.sls", line: 3, column: 1, reason: expect.stringContaining("for db-1 alone: ") };
    expect(stage.found("base")).toMatchObject({ environment: "base", problems: [], hints: [hint] });
    await stage.judge(candidate("x: {test.nop: []}\n"));
    expect(stage.found("base")).toBeUndefined();
  });
});
