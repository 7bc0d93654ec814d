import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import type { Environment } from "../../tree/publication/mod.ts";
import { createStateStage } from "./check-states.ts";

const top = "base:\n  '*': [a]\n";

function stageWith(more: Partial<Parameters<typeof createStateStage>[0]> = {}) {
  const refused: unknown[] = [];
  const stage = createStateStage({
    ...{ level: "syntax", saltCompat: "strict", clock: manualClock() },
    onRefused: (each) => void refused.push(each),
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
    },
  ]);
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
