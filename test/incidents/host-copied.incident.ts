import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { type Program, startProgram } from "../harness/process.ts";
import { end, nextOf, type Stage, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("a copy of a host with another machine-id: the copy and doctor name it, and the next step clears it", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  await stage.join("web-1");
  cpSync(join(fleet.dir, "peel"), join(fleet.dir, "copy"), { recursive: true });
  await using copy = startCopy(stage, "web-1");
  await copy.waitFor("this host is a copy of another peel, as its machine-id changed");
  expect(await copy.exited).toBe(1);
  const { doctor } = await stage.sees({
    status: /^COPIED +PEEL ID +SEEN\nenr-\S+ +web-1 /m,
    doctor: /^warn {2}identities +a copy asked to join of the host of web-1 \(/m,
  });
  const next = nextOf(doctor, "identities");
  const [, command = ""] =
    /^give the copy another id, .*; then (svc enroll clear-clone \S+)$/.exec(next) ?? [];
  await using renamed = startCopy(stage, "web-2");
  await renamed.waitFor("waiting for an operator");
  await fleet.svc("enroll", "approve", "--match", "*", "--yes");
  await renamed.waitFor("peel connected");
  await stage.follow(command);
  await stage.isWell();
  const ran = await fleet.svc("run", "*", "test.ping", "--output", "json");
  expect([ran.code, JSON.parse(ran.stdout).counts]).toEqual([0, { ok: 2 }]);
  await end(renamed);
});

/** Starts a peel from the copied directory, with another machine-id in a mount namespace of its own. */
function startCopy({ fleet }: Stage, id: string): Program {
  const machineId = join(fleet.dir, "machine-id");
  writeFileSync(machineId, "0123456789abcdef0123456789abcdef\n");
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const mount = 'mount --bind "$0" /etc/machine-id && exec "$@"';
  const argv = [binaries.peel, "--config", join(fleet.dir, "peel.yaml"), "--id", id];
  return startProgram(
    ["unshare", ...asRoot, "--mount", "sh", "-c", mount, machineId, ...argv, "--health-addr", "127.0.0.1:0"],
    { cwd: fleet.dir, env: { SVC_DATA_DIR: join(fleet.dir, "copy") } },
  );
}
