import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { findAccount, findAccountIfPresent, findGroup, findGroupIfPresent } from "./account.ts";

const deps = { clock: manualClock() };

test("an account is found by its name and by its number", async () => {
  const root = await findAccount("root", deps);
  expect(root).toMatchObject({ name: "root", uid: 0, gid: 0, home: "/root" });
  expect(await findAccount("0", deps)).toEqual(root);
  expect(await findGroup("0", deps)).toEqual({ name: "root", gid: 0 });
});

test.each(["no-such-user", "4000000000", "", "-x", "--help", "a:b", "a\nb", "a b", "x".repeat(300)])(
  "there is no account %p",
  async (key) => {
    expect(await findAccountIfPresent(key, deps)).toBeUndefined();
    expect(await findGroupIfPresent(key, deps)).toBeUndefined();
    await expect(findAccount(key, deps)).rejects.toThrow("this host has no user");
    await expect(findGroup(key, deps)).rejects.toThrow("this host has no group");
  },
);

test("a file that did not change is read once for a cache", async () => {
  const cache = new Map<string, unknown>();
  const root = await findAccount("root", { ...deps, cache });
  const kept = cache.get("/etc/passwd");
  expect(await findAccount("0", { ...deps, cache })).toEqual(root);
  expect(kept).toBeDefined();
  expect(cache.get("/etc/passwd")).toBe(kept);
});
