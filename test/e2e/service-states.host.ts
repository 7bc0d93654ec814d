import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { brief, output, roundTrip } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

test("scripts of /etc/init.d", async () => {
  await using root = await openPrivateRoot();
  await output(
    root,
    `mv /usr/bin/systemctl /usr/bin/systemctl.away; cat >/etc/init.d/svc-test-daemon <<'END' && chmod +x /etc/init.d/svc-test-daemon
#!/bin/sh
### BEGIN INIT INFO
# Provides: svc-test-daemon
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
### END INIT INFO
case $1 in
start) echo >/run/svc-test-daemon ;;
stop) rm -f /run/svc-test-daemon ;;
restart) echo again >>/run/svc-test-daemon ;;
status) test -e /run/svc-test-daemon || exit 3 ;;
esac
END`,
  );
  const there = "svc-test-daemon:\n  service.running: [{enable: true}]\n";
  const gone = "svc-test-daemon:\n  service.dead: [{enable: false}]\n";
  const probe = "cd /etc; ls -d rc?.d/*svc-test* /run/svc-test*; true";
  const seen = await roundTrip(root, { there, gone, ids: ["svc-test-daemon"] }, probe);
  expect(seen.there).toContain("/run/svc-test-daemon");
  expect(seen.there).toContain("rc3.d/S01svc-test-daemon");
  expect(seen.gone).not.toContain("rc3.d/S");
});

describe("with systemd", () => {
  test("services and units", async () => {
    await using root = await openPrivateRoot({ systemd: true });
    const there = `
svc-test-daemon.service:
  systemd.unit_managed:
    - contents: |
        [Service]
        ExecStart=/bin/sleep infinity
        ExecReload=/bin/true
        [Install]
        WantedBy=multi-user.target
svc-test-daemon:
  service.running:
    - enable: true
    - watch: [{systemd: svc-test-daemon.service}]
svc-test-timer.timer:
  systemd.unit_managed:
    - enable: true
    - running: true
    - contents: |
        [Timer]
        OnCalendar=daily
        Unit=svc-test-daemon.service
        [Install]
        WantedBy=timers.target
`;
    const probe =
      "systemctl is-active svc-test-daemon svc-test-timer.timer; systemctl is-enabled svc-test-daemon svc-test-timer.timer; systemctl show -P MainPID svc-test-daemon";
    const before = await output(root, probe);
    expect(await brief(root, there, { test: true })).toBe(
      "svc-test-daemon.service:null+ svc-test-daemon:null+ svc-test-timer.timer:null+",
    );
    expect(await output(root, probe)).toBe(before);
    expect(await brief(root, there)).toBe(
      "svc-test-daemon.service:true+ svc-test-daemon:true+ svc-test-timer.timer:true+",
    );
    const [pid, ...up] = (await output(root, probe)).split("\n").reverse();
    expect(up).toEqual(["enabled", "enabled", "active", "active"]);
    expect(await brief(root, there)).toBe(
      "svc-test-daemon.service:true svc-test-daemon:true svc-test-timer.timer:true",
    );
    // A change of the unit restarts what watches it, as the new unit says.
    const changed = there.replace("infinity", "1000000");
    const results = await root.apply(changed);
    expect(results).toMatchObject([
      {
        result: true,
        changes: {
          "/etc/systemd/system/svc-test-daemon.service": {
            diff: expect.stringContaining("+ExecStart=/bin/sleep 1000000"),
          },
        },
      },
      { result: true, changes: { "svc-test-daemon": "restarted" } },
      { result: true, changes: {} },
    ]);
    const now = (await output(root, probe)).split("\n").at(-1);
    expect(now).not.toBe(pid);
    expect(await output(root, `tr '\\0' ' ' </proc/${now}/cmdline`)).toBe("/bin/sleep 1000000");
    const reloading = changed
      .replace("- enable: true\n    - watch", "- reload: true\n    - watch")
      .replace("1000000", "1000001");
    expect((await root.apply(reloading))[1]).toMatchObject({ changes: { "svc-test-daemon": "reloaded" } });
    expect((await output(root, probe)).split("\n").at(-1)).toBe(now);
    const gone = `
svc-test-daemon:
  service.dead: [{enable: false}]
svc-test-timer.timer:
  service.dead: []
timer:
  service.disabled: [{name: svc-test-timer.timer}]
`;
    expect(await brief(root, gone, { test: true })).toBe(
      "svc-test-daemon:null+ svc-test-timer.timer:null+ timer:null+",
    );
    expect(await brief(root, gone)).toBe("svc-test-daemon:true+ svc-test-timer.timer:true+ timer:true+");
    expect(await output(root, probe)).toBe("inactive\ninactive\ndisabled\ndisabled\n0");
    expect(await brief(root, gone)).toBe("svc-test-daemon:true svc-test-timer.timer:true timer:true");
    const masked = "svc-test-daemon:\n  service.masked: []\n";
    await output(root, "rm /etc/systemd/system/svc-test-daemon.service; systemctl daemon-reload");
    expect(await brief(root, masked)).toBe("svc-test-daemon:true+");
    expect(await brief(root, masked)).toBe("svc-test-daemon:true");
    const [refused] = await root.apply("svc-test-daemon:\n  service.running: []\n");
    expect(refused?.comment).toBe(
      "svc-test-daemon is masked and cannot be started; use service.unmasked first",
    );
    const [missing] = await root.apply("svc-test-nothing:\n  service.running: []\n");
    expect(missing).toMatchObject({
      result: false,
      comment: "service svc-test-nothing does not exist (systemd)",
    });
  });

  test("whether units are enabled is what systemctl says, of every unit of this machine", async () => {
    await using root = await openPrivateRoot({ systemd: true });
    await output(
      root,
      "systemctl enable --now systemd-networkd nats-server ssh cron; systemctl mask apt-daily",
    );
    const list = await output(
      root,
      "systemctl list-unit-files --no-legend --no-pager -t service,timer,socket",
    );
    const said = list.split("\n").flatMap((line): [string, string][] => {
      const [unit = "", state = ""] = line.split(/\s+/);
      // What only runs until the next start of the host has no word of its own here.
      return /@\./.test(unit) || state === "enabled-runtime" ? [] : [[unit, state]];
    });
    expect(said.length).toBeGreaterThan(20);
    const bun = join(repositoryPath, "node_modules/.bin/bun");
    const { stdout } = await root.run([bun, "-e", unitStates]);
    const found = JSON.parse(stdout);
    const words: Record<string, string> = {
      alias: "static",
      generated: "static",
      transient: "static",
      indirect: "disabled",
      "masked-runtime": "masked",
    };
    expect(found).toMatchObject(
      Object.fromEntries(said.map(([unit, state]) => [unit, words[state] ?? state])),
    );
  });
});

const repositoryPath = join(import.meta.dir, "../..");
/** Prints whether the units of the host it runs on are enabled, as JSON. */
const unitStates = `
import { systemClock } from "${repositoryPath}/internal/base/clock.ts";
import { unitEnablement, unitNames } from "${repositoryPath}/internal/host/system/services/unit-files.ts";
import { systemOf } from "${repositoryPath}/internal/host/system/system.ts";
const signal = new AbortController().signal;
const system = systemOf({ clock: systemClock, signal, facts: { get: () => undefined } });
const units = [".service", ".timer", ".socket"].flatMap((type) => unitNames(system, type));
process.stdout.write(JSON.stringify(Object.fromEntries(units.map((unit) => [unit, unitEnablement(system, unit)]))));
`;
