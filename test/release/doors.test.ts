import { expect, test } from "bun:test";
import { withoutDoors } from "../../release/doors.ts";

const door = new Map([
  ["ask", "/house/internal/jobs/ask.ts"],
  ["answer", "/house/internal/jobs/answer.ts"],
  ["Job", "/house/internal/jobs/job.ts"],
]);
const led = (text: string) => withoutDoors("/house/internal/cli/run.ts", text, () => door);

test("imports of a door become imports of the files behind it, on the lines where they were", () => {
  const text = 'import {\n  ask,\n  answer as reply,\n  type Job,\n} from "../jobs/mod.ts";\nask(reply);\n';
  expect(led(text)).toBe(
    'import { ask } from "../jobs/ask.ts"; import { answer as reply } from "../jobs/answer.ts";\n\n\n\n\nask(reply);\n',
  );
});

test("imports of types alone are gone, lazy ones stay lazy, and other files stay as they are", () => {
  expect(led('import type { Job } from "../jobs/mod.ts";\nlet job: Job;\n')).toBe("\nlet job: Job;\n");
  expect(led('const { ask } = await import("../jobs/mod.ts");')).toBe(
    'const { ask } = await import("../jobs/ask.ts");',
  );
  expect(led('import { run } from "./run-one.ts";')).toBe('import { run } from "./run-one.ts";');
});

test("a name that the door does not hand on ends the build", () => {
  expect(() => led('import { secret } from "../jobs/mod.ts";')).toThrow("does not export secret");
});
