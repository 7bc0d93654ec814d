import { describe, expect, test } from "bun:test";
import { fixtureSystem } from "../../../../test/harness/system.ts";
import { refuseServiceName, type ServiceAction } from "./manager.ts";
import { servicesOf } from "./open.ts";
import { parseUnits, systemdServices } from "./systemd.ts";
import { unitEnablement, unitName, unitNames } from "./unit-files.ts";

const install = "[Install]\nWantedBy=multi-user.target\n";
const lib = "/usr/lib/systemd/system";
const etc = "/etc/systemd/system";
const files = {
  [`${lib}/on.service`]: install,
  [`${lib}/off.service`]: `[Unit]\n${install}`,
  [`${lib}/static.service`]: "[Service]\nExecStart=/bin/true\n",
  [`${lib}/empty-install.service`]: "[Install]\n[Service]\nWantedBy=not.here\n",
  [`${lib}/worker@.service`]: install,
  [`${lib}/named.service`]: install,
  [`${lib}/masked.service`]: install,
  [`${etc}/own.service`]: install,
  [`${lib}/backup.timer`]: "[Install]\n# a comment\nWantedBy = timers.target\n",
};
const links = {
  [`${etc}/multi-user.target.wants/on.service`]: `${lib}/on.service`,
  [`${etc}/multi-user.target.wants/worker@1.service`]: `${lib}/worker@.service`,
  [`${etc}/timers.target.wants/backup.timer`]: `${lib}/backup.timer`,
  [`${etc}/bind9.service`]: `${lib}/named.service`,
  [`${etc}/masked.service`]: "/dev/null",
};

test.each([
  ["on.service", "enabled"],
  ["off.service", "disabled"],
  ["static.service", "static"],
  ["empty-install.service", "static"],
  ["worker@1.service", "enabled"],
  ["worker@2.service", "disabled"],
  ["named.service", "enabled"],
  ["bind9.service", "enabled"],
  ["masked.service", "masked"],
  ["own.service", "disabled"],
  ["backup.timer", "enabled"],
  ["nothing.service", undefined],
])("by its links %s is %s", (unit, expected) => {
  expect(unitEnablement(fixtureSystem({ files, links }), unit)).toEqual(expected as never);
});

test("a name without a type is a service, and templates are left out", () => {
  expect(unitName("nginx")).toBe("nginx.service");
  expect(unitName("backup.timer")).toBe("backup.timer");
  expect(unitName("php8.2-fpm")).toBe("php8.2-fpm.service");
  expect(unitNames(fixtureSystem({ files, links }), ".timer")).toEqual(["backup.timer"]);
  expect(unitNames(fixtureSystem({ files, links }), ".service")).not.toContain("worker@.service");
});

const shown = `Id=ssh.service
Names=ssh.service sshd.service
LoadState=loaded
ActiveState=active
SubState=running
NeedDaemonReload=no

Id=loop.service
Names=loop.service
ActiveState=activating
SubState=auto-restart
NeedDaemonReload=yes
`;

test("a unit is found by all of its names", () => {
  const units = parseUnits(shown);
  expect(units.get("sshd.service")).toEqual({ active: true, state: "running", stale: false });
  // A unit that restarts in a loop is not running.
  expect(units.get("loop.service")).toEqual({ active: false, state: "auto-restart", stale: true });
});

describe("systemd", () => {
  test("is queried once for all units", async () => {
    const system = fixtureSystem({ files, links, answer: () => ({ stdout: shown }) });
    const services = systemdServices(system, true);
    expect(await services.status("ssh")).toEqual({ active: true, state: "running" });
    expect(await services.status("off")).toEqual({ active: false, state: "dead" });
    expect(system.ran.length).toBe(1);
    system.forget();
    await services.status("ssh");
    expect(system.ran.length).toBe(2);
  });

  test("reloads units before it starts a changed one", async () => {
    const system = fixtureSystem({ files, links, answer: () => ({ stdout: shown }) });
    await systemdServices(system, true).change("start", "loop");
    expect(system.ran.slice(1)).toEqual(["systemctl daemon-reload", "systemctl start loop.service"]);
  });

  test("enables units when it is not running, but cannot start them", async () => {
    const system = fixtureSystem({ files, links, programs: ["systemctl"] });
    const services = servicesOf(system);
    expect(await services.status("on")).toEqual({ active: false, state: "dead" });
    await services.change("enable", "off");
    expect(system.ran).toEqual(["systemctl enable off.service"]);
    await expect(services.change("start", "off")).rejects.toThrow(
      "cannot start off: systemd is not running on this host",
    );
  });

  test("reports the error output of systemctl", async () => {
    const system = fixtureSystem({
      answer: () => ({ code: 5, stderr: "Failed to start off.service: no\n" }),
    });
    await expect(systemdServices(system, true).change("enable", "off")).rejects.toThrow(
      "cannot enable off: systemctl exited with 5: Failed to start off.service: no",
    );
  });
});

describe("other service managers", () => {
  const scripts = { "/etc/init.d/nginx": "", "/etc/init.d/cron": "", "/etc/init.d/functions.sh": "" };
  test.each<[string, string[], ServiceAction, string]>([
    ["openrc", [], "start", "rc-service nginx start"],
    ["openrc", [], "enable", "rc-update add nginx default"],
    ["openrc", [], "disable", "rc-update del nginx boot"],
    ["sysvinit", ["update-rc.d"], "restart", "/etc/init.d/nginx restart"],
    ["sysvinit", ["update-rc.d"], "enable", "update-rc.d nginx defaults"],
    ["sysvinit", ["update-rc.d"], "disable", "update-rc.d nginx disable"],
    ["sysvinit", ["chkconfig"], "enable", "chkconfig nginx on"],
  ])("%s with %j: %s", async (init, programs, action, expected) => {
    const levels = { "/etc/runlevels/boot/nginx": "", "/etc/runlevels/off/nginx": "" };
    const system = fixtureSystem({ files: { ...scripts, ...levels }, facts: { init }, programs });
    await servicesOf(system).change(action, "nginx");
    expect(system.ran).toEqual([expected]);
  });

  test("tell whether a service is running and starts at boot", async () => {
    const openrc = fixtureSystem({
      files: { ...scripts, "/etc/runlevels/default/nginx": "" },
      facts: { init: "openrc" },
      answer: (argv) => ({ code: argv[1] === "nginx" ? 0 : 3 }),
    });
    expect(servicesOf(openrc).names()).toEqual(["cron", "nginx"]);
    expect(await servicesOf(openrc).status("nginx")).toEqual({ active: true, state: "started" });
    expect(await servicesOf(openrc).status("cron")).toEqual({ active: false, state: "stopped" });
    expect(servicesOf(openrc).enablement("nginx")).toBe("enabled");
    expect(servicesOf(openrc).enablement("cron")).toBe("disabled");
    const sysv = fixtureSystem({
      files: { ...scripts, "/etc/rc3.d/S02nginx": "", "/etc/rc3.d/K01cron": "" },
      facts: { init: "sysvinit" },
    });
    expect(servicesOf(sysv).enablement("nginx")).toBe("enabled");
    expect(servicesOf(sysv).enablement("cron")).toBe("disabled");
  });

  test("report that they cannot mask; a missing service manager is an error", async () => {
    const system = fixtureSystem({ files: scripts, facts: { init: "openrc" } });
    await expect(servicesOf(system).change("mask", "nginx")).rejects.toThrow(
      "cannot mask nginx: only systemd can",
    );
    expect(() => servicesOf(fixtureSystem())).toThrow(
      "service: no supported service manager found: looked for systemd, OpenRC, /etc/init.d",
    );
  });
});

test.each(["-h", "a b", "../x", "", "a;b"])("the service name %j is rejected", (name) => {
  expect(refuseServiceName(name)).toContain("is not a valid service name");
});
