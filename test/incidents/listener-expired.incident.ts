import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SingleHost } from "../harness/single-host.ts";
import { until } from "../harness/until.ts";
import { nextOf, setStage, write } from "./stage.ts";

setDefaultTimeout(120_000);

/** Long enough for a master to start with it. */
const validity = "20s";

test("the certificate of the listener expired: its files are named, and new ones are served at once", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const peel = readFileSync(join(fleet.dir, "peel.yaml"), "utf8");
  const root = `enroll_ca: ${join(fleet.dir, "auth", "ca", "root.crt")}\n`;
  write(fleet, "peel.yaml", peel.replace(/^enroll_ca_pin:\n.*\n/m, root));
  await stage.join("web-1");
  const https = join(fleet.dir, "https");
  await issue(fleet, https, "--validity", validity);
  const config = readFileSync(join(fleet.dir, "master.yaml"), "utf8");
  const files = `  tls_cert: ${https}/enroll.crt\n  tls_key: ${https}/enroll.key\n`;
  await stage.stopMaster();
  const edited = config
    .replace(/^enroll:\n/m, `enroll:\n${files}`)
    .replace("mode: embedded", "mode: external");
  write(fleet, "master.yaml", edited);
  await stage.startMaster();
  await until(stage.inspect, ({ doctor }) => doctor.includes("listener expired"));
  const words = "certificate: the certificate of the HTTPS listener expired at \\d\\S+";
  const seen = await stage.sees({
    status: new RegExp(`is down: ${words}; next: replace ${https}/enroll.crt and`),
    doctor: new RegExp(`^FAIL {2}masters .* is down: ${words}`, "m"),
    readyz: /"certificate":\{"status":"down"/,
  });
  expect(nextOf(seen.doctor, "masters")).toBe(
    `replace ${https}/enroll.crt and ${https}/enroll.key: this master serves them within a minute`,
  );
  const checked = await stage.checkPeel("web-1");
  expect(checked.code).toBe(1);
  expect(checked.stdout).toMatch(/^FAIL {2}masters +.*certificate has expired/m);
  // Those who are connected to the bus work on.
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
  await issue(fleet, https, "--force");
  await stage.isWell();
});

async function issue(fleet: SingleHost, out: string, ...more: string[]): Promise<void> {
  const names = ["--dns", "localhost", "--ip", "127.0.0.1", "--dir", join(fleet.dir, "auth", "ca")];
  const issued = await fleet.svc("ca", "issue", "enroll", ...names, "--out", out, ...more);
  expect([issued.code, issued.stderr]).toEqual([0, expect.any(String)]);
}
