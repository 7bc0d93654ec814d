import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRepository } from "./source.ts";

// How many files a new operation touches: adds one to a copy of the repository, checks the types of the copy and runs
// the tests that read the tables of doors. Run it with `bun test/arch/operation-cost.ts`. A command of svc for the
// operation is one more file.

const repository = join(import.meta.dir, "../..");
const maxTouched = 3;

const changes: Readonly<Record<string, (text: string) => string>> = {
  "internal/fleet/tokens/operations.ts": (text) => `${text}
export const countTokens = operation({
  name: "tokens.count",
  kind: "read",
  summary: "Count the tokens of the REST API",
  admits: ["operator"],
  scope: { kind: "tokens", action: "list" },
  input: v.strictObject({ state: v.optional(v.picklist(tokenStates), "live") }),
  output: v.object({ count: v.number() }),
  touches: () => ({ fleet: true }),
  async run(deps: TokenDeps, { state }) {
    const now = deps.clock.now();
    return { count: deps.view.all().filter((one) => standingOf(one, deps, now).state === state).length };
  },
});
`,
  "internal/fleet/tokens/doors.ts": (text) =>
    text.replace(
      "} as const satisfies",
      `  countTokens: {
    rest: { method: "GET", path: "/api/v1/tokens/count", tag, answers: { 200: "Their number" } },
    bus: { subject: "svc.admin.token.count" },
  },
} as const satisfies`,
    ),
  "internal/fleet/tokens/tokens.test.ts": (text) =>
    `${text}
test("tokens are counted", () => {
  expect(tokenOperations.countTokens.operation.touches({ state: "live" })).toEqual({ fleet: true });
});
`.replace("import ", 'import { tokenOperations } from "./joined.ts";\nimport '),
};

const tests = [
  ...["internal/fleet/tokens", "internal/doors/rooms", "internal/master/daemon/doors.test.ts"],
  ...["internal/master/daemon/role-doors.test.ts", "internal/console/api"],
].map((path) => `./${path}`);

const copy = mkdtempSync(join(tmpdir(), "svc-operation-cost-"));
try {
  for (const { path } of readRepository()) cpSync(join(repository, path), join(copy, path));
  for (const name of ["node_modules", ".tools"]) symlinkSync(join(repository, name), join(copy, name));
  for (const [path, change] of Object.entries(changes)) {
    const file = join(copy, path);
    writeFileSync(file, change(readFileSync(file, "utf8")));
  }
  const run = (command: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: copy });
    if (exitCode === 0) return;
    throw new Error(`${command.join(" ")} failed:\n${stdout.toString()}${stderr.toString()}`);
  };
  run(["node_modules/.bin/tsc", "--noEmit"]);
  run([process.execPath, "test", "--timeout", "60000", ...tests]);
  const touched = Object.keys(changes);
  process.stdout.write(`a new operation touches ${touched.length} files:\n${touched.join("\n")}\n`);
  if (touched.length > maxTouched) throw new Error(`at most ${maxTouched} files are allowed`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
