import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { initNatsAuth } from "../../bus/accounts/mod.ts";
import { loadMasterKeys } from "./keys.ts";

const directory = temporaryDirectory("master-keys");
afterAll(() => directory[Symbol.dispose]());
const made = join(directory.path, "made");
initNatsAuth({
  dir: made,
  listen: { host: "127.0.0.1", port: 4222 },
  ...{ operator: "test", hostname: "test", clock: systemClock, random: systemRandom },
});
const auth = join(directory.path, "auth");
beforeEach(() => {
  rmSync(auth, { recursive: true, force: true });
  cpSync(made, auth, { recursive: true });
});

const messageOf = () => {
  try {
    loadMasterKeys(auth);
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : "";
  }
  return "";
};

describe.each(["account.seed", "operator-signing.seed", "master.creds", "system.creds", "command.seed"])(
  "%s",
  (name) => {
    const back = "restore it from the backup of this fleet, or copy it from auth_dir of another master";

    test("of a fleet comes from its backup when it is missing", () => {
      expect(messageOf()).toBe("");
      rmSync(join(auth, name));
      expect(messageOf()).toContain(join(auth, name));
      expect(messageOf()).toEndWith(`no such file: ${back}`);
    });

    test.each([["garbage"], [""]])("and when it holds %p, which is not repeated", (text) => {
      writeFileSync(join(auth, name), text, { mode: 0o600 });
      const message = messageOf();
      expect(message).toContain(join(auth, name));
      expect(message).toEndWith(back);
      expect(message).not.toContain("garbage");
    });
  },
);

describe("settings.seed", () => {
  const seed = join(auth, "settings.seed");
  const back = "restore it from the backup of this fleet, or copy it from auth_dir of another master";

  test("is missing in a fleet that never had one, and the master starts", () => {
    expect(loadMasterKeys(auth).settings.current?.publicKey).toStartWith("X");
    rmSync(seed);
    expect(loadMasterKeys(auth).settings).toEqual({ current: undefined, next: undefined });
  });

  test("comes from the backup where the next one is there without it", () => {
    renameSync(seed, join(auth, "settings-next.seed"));
    expect(messageOf()).toBe(`${seed}: no such file: ${back}`);
  });

  test.each([["garbage"], [""]])("and when it holds %p, which is not repeated", (text) => {
    writeFileSync(seed, text, { mode: 0o600 });
    expect(messageOf()).toBe(`${seed}: not a valid curve seed: ${back}`);
  });
});

test("where no fleet is, keys are made", () => {
  rmSync(auth, { recursive: true });
  mkdirSync(auth);
  const way = `for a new fleet svc nats-auth init --dir ${auth} makes it; otherwise correct auth_dir`;
  expect(messageOf()).toEndWith(`no such file: ${way}`);
});
