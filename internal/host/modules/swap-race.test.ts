import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { callFunction } from "../../../test/harness/call.ts";
import { type HostileHome, startHostileHome } from "../../../test/harness/hostile-home.ts";
import { SvcError } from "../../base/errors.ts";

/** Files that each function tries to write; `make races` sets more. */
const count = Number(process.env.SVC_RACE_FILES ?? 800);

let host: HostileHome;

beforeEach(async () => {
  host = await startHostileHome(400);
});

afterEach(async () => {
  host.expectNothingOutside();
  await host[Symbol.asyncDispose]();
});

/** Calls a function for each file. The user may make it fail, but only by what it did to the path. */
async function attemptEach(
  name: string,
  args: (path: string) => Record<string, string | boolean>,
): Promise<void> {
  let done = 0;
  // On a busy machine the user may win every time: until one attempt succeeds, the function proves nothing.
  do {
    for (const file of host.files(count)) {
      try {
        await callFunction(name, args(join(host.target, file)));
        done++;
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(SvcError);
      }
    }
  } while (done === 0);
}

test("file.write", () =>
  attemptEach("file.write", (path) => ({ path, content: path, user: "daemon", makedirs: true })));

test("file.append", () => attemptEach("file.append", (path) => ({ path, text: path, makedirs: true })));

test("file.mkdir", () =>
  attemptEach("file.mkdir", (path) => ({
    path: `${path}.d/a/b`,
    mode: "0777",
    user: "daemon",
    makedirs: true,
  })));

test("file.symlink", () =>
  attemptEach("file.symlink", (path) => ({ path, src: "/nowhere", force: true, makedirs: true })));

test("file.copy", () =>
  attemptEach("file.copy", (path) => ({ src: "/etc/passwd", dst: path, makedirs: true })));

test("file.set_mode", () => attemptEach("file.set_mode", (path) => ({ path, mode: "0666" })));

test("file.chown", () => attemptEach("file.chown", (path) => ({ path, user: "daemon" })));

test("file.remove", () => attemptEach("file.remove", (path) => ({ path, recursive: true })));
