import { SvcError } from "../../../base/errors.ts";
import { type System, succeed } from "../system.ts";
import type { ServiceManager, ServiceStatus } from "./manager.ts";
import { sysvEnablement } from "./sysv.ts";
import { unitEnablement, unitFile, unitName, unitNames } from "./unit-files.ts";

const properties = "Id,Names,LoadState,ActiveState,SubState,NeedDaemonReload";
const types = ["service", "socket", "timer", "path", "mount"];
const listBytes = 16 * 1024 * 1024;
const changeTimeoutMs = 600_000;

interface Unit extends ServiceStatus {
  stale: boolean;
}

/**
 * Services of systemd.
 *
 * Queries all units in memory at once, because a unit that is not in memory is not running. A run without
 * changes needs only this one program.
 *
 * @param running whether systemd is running; otherwise units can be enabled but not started
 */
export function systemdServices(system: System, running: boolean): ServiceManager {
  const exists = (unit: string) =>
    unitFile(system, unit) !== undefined || sysvEnablement(system, bare(unit)) !== undefined;
  const units = () =>
    system.memo("units", async () => {
      const argv = ["systemctl", "show", "--no-pager", "-p", properties, ...types.map((type) => `*.${type}`)];
      return parseUnits(await succeed(system, "list units", argv, { outputLimit: listBytes }));
    });
  return {
    name: "systemd",
    names: () =>
      unitNames(system, ".service")
        .map((name) => name.replace(/\.service$/, ""))
        .sort(),
    exists: (service) => exists(unitName(service)),
    enablement: (service) =>
      unitEnablement(system, unitName(service)) ?? sysvEnablement(system, service) ?? "disabled",
    async status(service) {
      if (!running) return { active: false, state: "dead" };
      const found = (await units()).get(unitName(service));
      return found === undefined
        ? { active: false, state: "dead" }
        : { active: found.active, state: found.state };
    },
    async change(action, service) {
      const unit = unitName(service);
      const offline = action.endsWith("able") || action.endsWith("mask");
      if (!running && !offline) {
        throw new SvcError("bad_request", `cannot ${action} ${service}: systemd is not running on this host`);
      }
      if (running && !offline) await reloadIfStale(system, unit);
      await succeed(system, `${action} ${service}`, ["systemctl", action, unit], {
        timeoutMs: changeTimeoutMs,
      });
    },
  };
}

/** Makes systemd reload its units. @throws SvcError with the error output */
export async function reloadUnits(system: System): Promise<void> {
  await succeed(system, "reload units", ["systemctl", "daemon-reload"]);
}

/** systemd starts a changed unit from its old file unless units are reloaded. */
async function reloadIfStale(system: System, unit: string): Promise<void> {
  const argv = ["systemctl", "show", "--no-pager", "-p", properties, unit];
  const found = parseUnits(await succeed(system, `query ${unit}`, argv));
  if ([...found.values()].some(({ stale }) => stale)) await reloadUnits(system);
}

/**
 * Parses the output of `systemctl show`: blocks of `Property=value`. Each unit is stored under all of its
 * names.
 */
export function parseUnits(text: string): Map<string, Unit> {
  const units = new Map<string, Unit>();
  for (const block of text.split("\n\n")) {
    const fields = new Map(
      block.split("\n").map((line) => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)] as const;
      }),
    );
    const active = fields.get("ActiveState") ?? "";
    const unit: Unit = {
      active: active === "active" || active === "reloading",
      state: fields.get("SubState") ?? "",
      stale: fields.get("NeedDaemonReload") === "yes",
    };
    const names = fields.get("Names") || fields.get("Id") || "";
    for (const name of names.split(" ")) if (name !== "") units.set(name, unit);
  }
  return units;
}

function bare(unit: string): string {
  return unit.replace(/\.service$/, "");
}
