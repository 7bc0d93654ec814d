import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { end, nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("a peel was revoked: the next step of doctor makes it a member again", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const peel = await stage.join("web-1");
  const revoked = await fleet.svc("enroll", "revoke", "--peel", "web-1", "--yes");
  expect([revoked.code, revoked.stderr]).toEqual([0, expect.any(String)]);
  await stage.sees({ status: /^enrollments +1 revoked$/m });
  const { stdout } = await fleet.svc("doctor", "web-1");
  expect(stdout).toMatch(/^FAIL {2}enrollment +revoked at /m);
  const next = nextOf(stdout, "enrollment");
  const named = [...next.matchAll(/web-1\.[a-z]+/g)].map(([name]) => name);
  expect(named).toEqual(["web-1.creds", "web-1.enrollment"]);
  await end(peel);
  for (const name of named) rmSync(join(fleet.dir, "peel", "auth", name));
  await stage.join("web-1");
  await stage.isWell();
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
});
