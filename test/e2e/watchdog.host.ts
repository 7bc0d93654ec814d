import { expect, setDefaultTimeout, test } from "bun:test";
import { peelUnit } from "../../internal/cli/setup/units.ts";
import { natsServerDirectory } from "../harness/bus.ts";
import { binaries } from "../harness/fleet.ts";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { output } from "../harness/state-trips.ts";

const tools = natsServerDirectory();
setDefaultTimeout(hostTimeoutMs);

/** Waits inside until a command succeeds. Otherwise fails with the output of the service. */
async function until(root: PrivateRoot, command: string): Promise<void> {
  const wait = `for i in $(seq 200); do if ${command}; then exit 0; fi; sleep 0.1; done`;
  const script = `${wait}; systemctl status svc-peel; journalctl -u svc-peel -n 40 --no-pager -o cat; exit 1`;
  const { code, stdout, stderr } = await root.run(["/bin/sh", "-c", script]);
  if (code !== 0) throw new Error(`${command}:\n${stdout}${stderr}`);
}

test("as a service the watchdog starts a killed peel again, ends what it left, and stops it in order", async () => {
  await using root = await openPrivateRoot({ systemd: true });
  const unit = peelUnit({
    author: "a test",
    program: binaries.peel,
    config: "/etc/svc/peel.yaml",
    dataDir: "/var/lib/svc-peel",
  });
  const put = async (path: string, text: string) => {
    expect(await root.run(["tee", path], { stdin: text })).toMatchObject({ code: 0 });
  };
  await output(root, "mkdir -p /etc/svc /var/lib/svc-peel");
  await put("/etc/systemd/system/svc-peel.service", unit);
  await put(
    "/etc/svc/peel.yaml",
    `id: web-1
master_url: https://127.0.0.1:1
schedule:
  leave:
    module: cmd.run
    args: { command: "sleep 1234 >/dev/null 2>&1 &" }
    interval: 1h
    run_on_start: true
  stay:
    module: cmd.run
    args: { command: "trap '' TERM; sleep 4321; sleep 4321" }
    interval: 1h
    run_on_start: true
`,
  );
  await output(root, "systemctl daemon-reload; systemctl start svc-peel");
  expect(await output(root, "systemctl show -P ActiveState -P StatusText svc-peel")).toMatch(
    /^the peel runs; health on port \d+\nactive$/,
  );
  await until(root, "pgrep -f '^sleep 1234'");
  const before = await output(root, "pgrep -f '^sleep 1234'; pgrep -P $(systemctl show -P MainPID svc-peel)");
  const [left = "", peel = ""] = before.trim().split("\n");
  expect(await output(root, `grep -c svc-peel.service /proc/${left}/cgroup`)).toBe("1");

  await output(root, `kill -9 ${peel}`);
  await until(root, `[ ! -e /proc/${left} ]`);
  await until(root, "pgrep -f '^sleep 1234'");
  expect(await output(root, "journalctl -u svc-peel --no-pager -o cat")).toContain(
    "ended what the peel left running",
  );

  await until(root, "pgrep -f '^sleep 4321'");
  await output(root, "systemctl stop svc-peel");
  const said = await output(root, "journalctl -u svc-peel --no-pager -o cat");
  // A second signal would end the peel at once, while it still waits for the job that does not want to end.
  expect(said.match(/"msg":"stopped"/g)).toHaveLength(2);
  expect(
    await output(
      root,
      "systemctl show -P Result svc-peel; pgrep -x svc-peel; pgrep -f '^sleep (1234|4321)'; true",
    ),
  ).toBe("success");
});

const noMounts = [
  ...["ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectControlGroups"],
  ...["ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "ProtectHostname"],
];

test("as a service a master has started when it serves, with the limits of its unit", async () => {
  await using root = await openPrivateRoot({ systemd: true });
  await output(root, `${binaries.cli} init /var/lib/svc`);
  // With the server of the tests, and without the mounts of the unit, which this copy of a machine does not
  // allow; the rest of its sandbox stays.
  const units = "/etc/systemd/system";
  await output(
    root,
    `mkdir ${units}/svc-master.service.d; cp /var/lib/svc/systemd/svc-master.service ${units}`,
  );
  const mounts = ["ReadWritePaths=", ...noMounts.map((option) => `${option}=no`), "ProtectProc=default"];
  const stdin = ["[Service]", `Environment=PATH=${tools}:/usr/bin:/bin`, ...mounts, ""].join("\n");
  expect(await root.run(["tee", `${units}/svc-master.service.d/here.conf`], { stdin })).toMatchObject({
    code: 0,
  });
  await output(root, "systemctl daemon-reload; systemctl start svc-master");
  expect(await output(root, "systemctl show -P StatusText -P ActiveState svc-master")).toMatch(
    /^ready; listens on port 8443, health on port \d+\nactive$/,
  );
  await output(root, "systemctl stop svc-master");
  expect(await output(root, "systemctl show -P Result svc-master")).toBe("success");
});

test("fields of the log are fields of the journal, and systemd restarts a service that is blocked", async () => {
  await using root = await openPrivateRoot({ systemd: true });
  const paths = { config: "/etc/svc/peel.yaml", dataDir: "/var/lib/svc-peel" };
  const unit = peelUnit({ author: "a test", program: binaries.peel, ...paths });
  expect(unit).toContain("\nWatchdogSec=60\n");
  const put = (path: string, text: string) => root.run(["tee", path], { stdin: text });
  await output(root, "mkdir -p /etc/svc /var/lib/svc-peel");
  await put("/etc/systemd/system/svc-peel.service", unit.replace("WatchdogSec=60", "WatchdogSec=2"));
  const address = "health_addr: 127.0.0.1:9191\nmaster_url: https://127.0.0.1:1\n";
  await put(paths.config, `id: web-1.example\nlog_format: journal\n${address}`);
  await output(root, "systemctl daemon-reload && systemctl start svc-peel");
  const found = await output(root, "journalctl -u svc-peel SVC_EVENT='peel started' -o json --no-pager");
  expect(JSON.parse(found)).toMatchObject({
    ...{ MESSAGE: "peel started peel_id=web-1.example health_port=9191", PRIORITY: "6" },
    ...{ PEEL_ID: "web-1.example", HEALTH_PORT: "9191", SYSLOG_IDENTIFIER: "svc-peel" },
    ...{ _TRANSPORT: "journal", _SYSTEMD_UNIT: "svc-peel.service" },
  });
  // Nothing is on standard error.
  expect(await output(root, "journalctl -u svc-peel _TRANSPORT=stdout -o cat --no-pager")).not.toContain(
    "peel",
  );
  await output(root, "kill -STOP $(systemctl show svc-peel -p MainPID --value)");
  await until(root, "journalctl -u svc-peel --no-pager -o cat | grep -q 'Watchdog timeout'");
  await until(root, "systemctl show svc-peel -p Result -p NRestarts | grep -q 'watchdog\\|NRestarts=1'");
});
