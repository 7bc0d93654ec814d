import { SvcError } from "../../base/errors.ts";
import type { System } from "./system.ts";

/** Where settings of the kernel are kept for the next start. */
export const sysctlPath = "/etc/sysctl.d/99-svc.conf";

/** The value of a setting right now; `undefined` when the kernel has no such setting. */
export function runningValue(system: System, name: string): string | undefined {
  const text = system.read(kernelPath(name));
  return text === undefined ? undefined : normalized(text);
}

/** @throws SvcError `storage` when the kernel refuses the value */
export function setRunningValue(system: System, name: string, value: string): void {
  system.poke(kernelPath(name), `${value}\n`);
}

/** One space between the words of a value, as sysctl(8) shows it. */
export function normalized(value: string): string {
  return value.trim().split(/\s+/).join(" ");
}

/** The value of a setting in a file of sysctl.d(5); the last one counts. */
export function configuredValue(text: string, name: string): string | undefined {
  const values = text.split("\n").flatMap((line) => {
    const [, key, value] = lineForm.exec(line) ?? [];
    return key !== undefined && canonical(key) === canonical(name) ? [normalized(value ?? "")] : [];
  });
  return values.at(-1);
}

/** Sets it in such a file, where it stands or at the end. */
export function withValue(text: string, name: string, value: string): string {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const isMine = (line: string) => {
    const key = lineForm.exec(line)?.[1];
    return key !== undefined && canonical(key) === canonical(name);
  };
  const mine = `${name} = ${value}`;
  const at = lines.findIndex(isMine);
  if (at === -1) lines.push(mine);
  const next = lines.flatMap((line, index) =>
    index === at ? [mine] : isMine(line) && at !== -1 ? [] : [line],
  );
  return next.map((line) => `${line}\n`).join("");
}

const lineForm = /^\s*-?([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/;

/**
 * The file of a setting. `net.ipv4.conf.eth0/100.rp_filter` has a dot in the name of the interface: the first
 * of both characters is what separates (sysctl.d(5)).
 */
function kernelPath(name: string): string {
  return `/proc/sys/${canonical(name)}`;
}

function canonical(name: string): string {
  const separator = /[./]/.exec(name)?.[0] ?? ".";
  const words = name.split(separator).map((word) => word.replaceAll("/", "."));
  if (words.every((word) => /^[\w:.,@-]+$/.test(word) && word !== ".." && word !== "."))
    return words.join("/");
  throw new SvcError("bad_request", `${JSON.stringify(name.slice(0, 80))} is no setting of the kernel`);
}
