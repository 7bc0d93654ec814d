import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { confirmMany } from "./confirm-many.ts";

async function confirm(
  count: number,
  answer: string | undefined,
  more: { isConfirmed?: boolean; above?: number } = {},
) {
  const dir = mkdtempSync(join(tmpdir(), "svc-confirm-"));
  const config = join(dir, "config.yaml");
  writeFileSync(config, `master: {${more.above === undefined ? "" : `confirm_above: ${more.above}`}}\n`);
  const questions: string[] = [];
  const prompt = async (question: string) => {
    questions.push(question);
    return answer ?? "";
  };
  const cli = {
    config,
    env: {},
    say: () => {},
    ...(answer === undefined ? {} : { prompt }),
  } as unknown as Cli;
  try {
    await confirmMany(cli, {
      ...{ does: "Run cmd.run", isConfirmed: more.isConfirmed === true },
      count: async () => count,
    });
    return { runs: true, questions };
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(Exit);
    return { runs: false, questions };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const question = "Run cmd.run on 26 peels? [y/N] ";

test.each([
  ["few peels", 25, "", {}, true, []],
  ["many, and yes", 26, " Yes ", {}, true, [question]],
  ["many, and no answer", 26, "", {}, false, [question]],
  ["many, and another word", 26, "sure", {}, false, [question]],
  ["many with --yes", 26, "n", { isConfirmed: true }, true, []],
  ["many where no one can confirm", 26, undefined, {}, true, []],
  ["one above the number of the configuration", 26, "n", { above: 26 }, true, []],
  ["all, where the configuration says 0", 1, "n", { above: 0 }, false, ["Run cmd.run on 1 peel? [y/N] "]],
] as const)("%s", async (_, count, answer, more, runs, questions) => {
  expect(await confirm(count, answer, more)).toEqual({ runs, questions: [...questions] });
});
