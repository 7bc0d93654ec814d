import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import { startProgram } from "../harness/process.ts";
import { end, nextOf, setStage } from "./stage.ts";

setDefaultTimeout(120_000);

test("the disk of a peel is full: status and doctor name it, and jobs run again once there is room", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const data = join(fleet.dir, "small");
  mkdirSync(data);
  const busCa = join(fleet.dir, "peel", "auth", "bus-ca.crt");
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const mount =
    'mount -t tmpfs -o size=2m,mode=700 none "$0" && mkdir "$0/auth" && cp "$1" "$0/auth" && shift && exec "$@"';
  const argv = [binaries.peel, "--config", join(fleet.dir, "peel.yaml"), "--id", "web-1", "--health-addr"];
  await using peel = startProgram(
    ["unshare", ...asRoot, "--mount", "sh", "-c", mount, data, busCa, ...argv, "127.0.0.1:0"],
    { cwd: fleet.dir, env: { SVC_DATA_DIR: data } },
  );
  const seen = join(`/proc/${peel.pid}/root`, data);
  await peel.waitFor("waiting for an operator");
  await fleet.svc("enroll", "approve", "--match", "*", "--yes");
  await peel.waitFor("peel connected");
  const filler = join(seen, "filler");
  expect(() => writeFileSync(filler, new Uint8Array(3 * 1024 * 1024))).toThrow("ENOSPC");
  const refused = await fleet.svc("run", "web-1", "cmd.run", "true", "--output", "json");
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/not run, because the peel cannot record it: .*no space left on the device/);
  const health = /"health_port":(\d+)/.exec(peel.output())?.[1];
  const readyz = async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).json();
  expect(await readyz()).toMatchObject({
    status: "ok",
    checks: {
      disk: {
        status: "degraded",
        message: expect.stringContaining(`the disk of ${data} is full: `),
        next: `make room on the disk of ${data}: the peel continues by itself`,
      },
    },
  });
  await stage.sees({ status: /^DISK FULL\nweb-1$/m });
  const { stdout } = await fleet.svc("doctor", "web-1");
  expect(stdout).toMatch(/^FAIL {2}heartbeat +.*its data directory has no room/m);
  expect(nextOf(stdout, "heartbeat")).toStartWith("make room on the disk of its data directory");
  rmSync(filler);
  expect((await fleet.svc("run", "web-1", "cmd.run", "true")).code).toBe(0);
  expect(await readyz()).toMatchObject({ checks: { disk: { status: "up", message: "ok" } } });
  await stage.isWell();
  await end(peel);
});
