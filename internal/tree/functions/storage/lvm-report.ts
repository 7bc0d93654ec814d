import { type System, succeed } from "../../../host/system/system.ts";
import { StateFailure } from "../../function/mod.ts";
import { NotReady } from "../not-ready.ts";

/** A program of LVM waits for others that use it. */
export const slow = { timeoutMs: 10 * 60_000, outputLimit: 4 * 1024 * 1024 };

const maxLinks = 8;

/** The device that a name below /dev leads to. LVM shows one of its names, which need not be the given one. */
export function realDevice(system: System, name: string): string {
  let path = name;
  for (let links = 0; links < maxLinks; links++) {
    const target = system.linkTarget(path);
    if (target === undefined) break;
    path = new URL(target, `file://${path}`).pathname;
  }
  return path;
}

interface ReportRow {
  [field: string]: string;
}

async function report(
  system: System,
  program: string,
  part: "pv" | "vg" | "lv",
  fields: string,
): Promise<ReportRow[]> {
  if (!system.has(program)) throw new NotReady(`${program} is not installed on this host: install lvm2`);
  const argv = [program, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", fields];
  const text = await succeed(system, "read the state of LVM", argv, slow);
  try {
    const { report: found = [] } = JSON.parse(text) as { report?: Record<string, ReportRow[]>[] };
    return found.flatMap((each) => each[part] ?? []);
  } catch {
    throw new StateFailure(`${program} printed no report`);
  }
}

/** Devices as `realDevice` names them, with the name of their group, which may be empty. */
export async function physicalVolumes(system: System): Promise<{ device: string; group: string }[]> {
  const rows = await report(system, "pvs", "pv", "pv_name,vg_name");
  return rows.map(({ pv_name = "", vg_name = "" }) => ({
    device: realDevice(system, pv_name),
    group: vg_name,
  }));
}

export async function groupNames(system: System): Promise<string[]> {
  return (await report(system, "vgs", "vg", "vg_name")).map(({ vg_name = "" }) => vg_name);
}

export async function logicalVolumes(system: System) {
  const rows = await report(system, "lvs", "lv", "lv_name,vg_name,lv_size,vg_extent_size");
  return rows.map(({ lv_name = "", vg_name = "", lv_size = "0", vg_extent_size = "1" }) => ({
    name: lv_name,
    group: vg_name,
    bytes: Number(lv_size),
    extent: Number(vg_extent_size),
  }));
}
