import { mebibyte, sizeText } from "../../../base/byte-size.ts";
import { isMap } from "../../../base/plain-map.ts";

/** What a peel reports of its host, at a glance; a line without a value is left out. */
export interface HostLine {
  name: string;
  value: string;
}

const maxMounts = 4;

/** Picks from the facts of a peel what people look for first. Facts are claims: any of them may be anything. */
export function hostLines(facts: unknown): HostLine[] {
  const all = isMap(facts) ? facts : {};
  const text = (name: string) => (typeof all[name] === "string" ? all[name] : "");
  const count = (name: string) => (typeof all[name] === "number" ? all[name] : 0);
  const size = (name: string) => (count(name) > 0 ? sizeText(count(name) * mebibyte) : "");
  const joined = (...parts: string[]) => parts.filter((part) => part !== "").join(" ");
  const processors = count("num_cpus");
  const swap = size("swap_total");
  return [
    { name: "System", value: joined(text("osfullname") || text("os"), text("osrelease")) },
    { name: "Kernel", value: joined(text("kernel"), text("kernelrelease"), text("cpuarch")) },
    {
      name: "Processors",
      value:
        processors > 0 ? joined(`${processors}`, text("cpu_model") && `\u00d7 ${text("cpu_model")}`) : "",
    },
    { name: "Memory", value: joined(size("mem_total"), swap && `and ${swap} of swap`) },
    { name: "Disks", value: mountsText(all.mounts) },
    { name: "Machine", value: joined(text("manufacturer"), text("productname")) },
    { name: "Runs in", value: joined(text("virtual"), text("virtual_subtype")) },
    { name: "Time zone", value: text("timezone") },
  ].filter(({ value }) => value !== "");
}

/** `/ 40 GiB ext4, /srv 1.8 TiB xfs` */
function mountsText(mounts: unknown): string {
  if (!isMap(mounts)) return "";
  const known = Object.entries(mounts).flatMap(([path, mount]) => {
    const { size, fstype } = Object(mount) as { size?: unknown; fstype?: unknown };
    return typeof size === "number" ? [`${path} ${sizeText(size * mebibyte)} ${fstype ?? ""}`.trimEnd()] : [];
  });
  const more = known.length > maxMounts ? ` and ${known.length - maxMounts} more` : "";
  return known.slice(0, maxMounts).join(", ") + more;
}

/** Facts that are numbers of mebibytes. */
const inMebibytes = /^(?:mem_total|swap_total|disk_sizes:.*|mounts:.*:size)$/;

/** A fact as people read it: sizes in their unit, with the number that targets compare. */
export function factText(path: string, text: string): string {
  if (text === "" || text === "{}") return "empty";
  if (!inMebibytes.test(path) || !/^\d+$/.test(text)) return text;
  return `${sizeText(Number(text) * mebibyte)} (${text} MiB)`;
}
