import { expect, test } from "bun:test";
import { searchRun } from "../harness/run-record.ts";

// The last test of a run (release/run-tests.sh): no log of a started program may contain a secret of the run.

test("no log and no argument of this run holds a secret of it", () => {
  const { TEST_RUN_DIR: directory } = process.env;
  if (directory === undefined) throw new Error("run with make test, which keeps the logs of a run");
  const { found } = searchRun(directory);
  // Which file, line and kind; never the secret.
  expect(found).toEqual([]);
});
