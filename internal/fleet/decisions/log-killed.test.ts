import { expect, test } from "bun:test";
import { join } from "node:path";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { openDecisionLog } from "./log.ts";

// The process is killed at any moment: within a record, between the record and its answer, while the file is
// compacted. Whatever it answered must be in the file.

/** Answers each decision as soon as the log has it, and changes few records very often, so that it compacts often. */
const program = (path: string) => `
  import { openDecisionLog } from ${JSON.stringify(join(import.meta.dir, "log.ts"))};
  import { systemClock } from ${JSON.stringify(join(import.meta.dir, "../../base/clock.ts"))};
  import { writeSync } from "node:fs";
  const quiet = { debug() {}, info() {}, warn() {}, error() {}, with: () => quiet };
  const log = openDecisionLog(${JSON.stringify(path)}, { clock: systemClock, log: quiet });
  for (let i = 0; ; i++) {
    const value = Buffer.from(String(i).padStart(300, "0"));
    await Promise.all([0, 1, 2].map((n) => log.store({ bucket: "enrollments", key: "k" + n, value })));
    writeSync(1, i + "\\n");
  }`;

test("what was answered before a kill at any moment is in the file", async () => {
  using directory = temporaryDirectory("killed");
  for (const answers of [1, 7, 60, 333, 500]) {
    const path = join(directory.path, `${answers}`, "decisions.log");
    const child = Bun.spawn([process.execPath, "-e", program(path)], { stdout: "pipe", stderr: "inherit" });
    let text = "";
    for await (const chunk of child.stdout) {
      text += Buffer.from(chunk).toString();
      if (text.split("\n").length > answers) child.kill("SIGKILL");
    }
    await child.exited;
    const last = Number(text.trim().split("\n").at(-1));
    expect(last).toBeGreaterThanOrEqual(answers - 1);
    const log = openDecisionLog(path, { clock: systemClock, log: recordingLog() });
    const kept = [...log.known()].map(({ value }) => Number(Buffer.from(value).toString()));
    expect(kept).toHaveLength(3);
    for (const number of kept) expect(number).toBeGreaterThanOrEqual(last);
    log.close();
  }
});
