import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import type { System } from "./system.ts";

/** The file that persists kernel parameters across reboots. */
export const sysctlPath = "/etc/sysctl.d/99-svc.conf";

/** The current value of a kernel parameter; `undefined` when the kernel does not have it. */
export function runningValue(system: System, name: string): string | undefined {
  const text = system.read(kernelPath(name));
  return text === undefined ? undefined : normalized(text);
}

/** @throws SvcError `storage` when the kernel rejects the value */
export function setRunningValue(system: System, name: string, value: string): void {
  system.poke(kernelPath(name), `${value}\n`);
}

/** Separates the words of a value with one space, as sysctl(8) does. */
export function normalized(value: string): string {
  return value.trim().split(/\s+/).join(" ");
}

/** The value of a parameter in a sysctl.d(5) file; the last one applies. */
export function configuredValue(text: string, name: string): string | undefined {
  const values = text.split("\n").flatMap((line) => {
    const [, key, value] = lineForm.exec(line) ?? [];
    return key !== undefined && canonical(key) === canonical(name) ? [normalized(value ?? "")] : [];
  });
  return values.at(-1);
}

/** Sets a parameter in a sysctl.d(5) file, in place or at the end. */
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
 * The /proc/sys file of a parameter. The first of `.` and `/` in the name is the separator; the other is part
 * of a segment, as in `net.ipv4.conf.eth0/100.rp_filter` (sysctl.d(5)).
 */
function kernelPath(name: string): string {
  return `/proc/sys/${canonical(name)}`;
}

function canonical(name: string): string {
  const separator = /[./]/.exec(name)?.[0] ?? ".";
  const words = name.split(separator).map((word) => word.replaceAll("/", "."));
  if (words.every((word) => /^[\w:.,@-]+$/.test(word) && word !== ".." && word !== "."))
    return words.join("/");
  throw new SvcError("bad_request", `${quote(name)} is not a valid kernel parameter name`);
}
