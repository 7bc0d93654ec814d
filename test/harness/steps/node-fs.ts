import type { Mode, PathLike } from "node:fs";
import * as fs from "node:fs";
import { join, relative } from "node:path";
import { readFault, type Step } from "./fault.ts";

// Takes the place of these functions of node:fs in the bundle of a program (bundle.ts): it lists each step with
// which the program changes something below one directory, and stops the program at one of them.

const { below, list, fault } = readFault(process.env);
const opened = new Map<number, string>();
const seen = new Map<string, number>();
let isFull = false;

/** Steps that need room on the disk. */
const growing = new Set<Step["act"]>(["open", "write", "sync", "rename", "link", "mkdir", "copy"]);

/** Does one step, or what is left of it. @param half does a part of it, where there is one */
function step<T>(act: Step["act"], path: string, run: () => T, half: () => void = () => {}): T {
  const inside = relative(below, path);
  if (inside.startsWith("..")) return run();
  // Temporary names are random.
  const name = `${act} ${inside.replace(/\.[0-9a-f]{12}$/, ".*").replace(/\.rotation-[0-9a-f]+/, ".rotation-*")}`;
  const count = (seen.get(name) ?? 0) + 1;
  seen.set(name, count);
  fs.appendFileSync(list, `${name}#${count}\n`);
  if (fault?.step === `${name}#${count}`) {
    if (fault.how === "kill") {
      half();
      process.kill(process.pid, "SIGKILL");
      throw new Error("it was killed");
    }
    isFull = true;
  }
  if (isFull && growing.has(act)) {
    half();
    throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", errno: -28 });
  }
  return run();
}

const pathOf = (file: number) => opened.get(file) ?? "/";

export function openSync(path: PathLike, flags: fs.OpenMode = "r", mode?: Mode): number {
  const open = () => fs.openSync(path, flags, mode);
  const isWriting = typeof flags === "number" ? (flags & 3) !== 0 : flags !== "r";
  const file = isWriting ? step("open", `${path}`, open) : open();
  opened.set(file, `${path}`);
  return file;
}

export function closeSync(file: number): void {
  opened.delete(file);
  fs.closeSync(file);
}

export function writeSync(
  file: number,
  data: Uint8Array,
  at = 0,
  length?: number,
  position?: number,
): number {
  return step(
    "write",
    pathOf(file),
    () => fs.writeSync(file, data, at, length, position),
    () => fs.writeSync(file, data, at, Math.floor((length ?? data.length - at) / 2), position),
  );
}

export const fsyncSync = (file: number): void => step("sync", pathOf(file), () => fs.fsyncSync(file));
export const ftruncateSync = (file: number, length?: number): void =>
  step("truncate", pathOf(file), () => fs.ftruncateSync(file, length));
export const fchmodSync = (file: number, mode: Mode): void =>
  step("chmod", pathOf(file), () => fs.fchmodSync(file, mode));
export const chmodSync = (path: PathLike, mode: Mode): void =>
  step("chmod", `${path}`, () => fs.chmodSync(path, mode));
export const chownSync = (path: PathLike, uid: number, gid: number): void =>
  step("chown", `${path}`, () => fs.chownSync(path, uid, gid));
export const renameSync = (from: PathLike, to: PathLike): void =>
  step("rename", `${to}`, () => fs.renameSync(from, to));
export const linkSync = (from: PathLike, to: PathLike): void =>
  step("link", `${to}`, () => fs.linkSync(from, to));
export const unlinkSync = (path: PathLike): void => step("unlink", `${path}`, () => fs.unlinkSync(path));

export function mkdirSync(path: PathLike, options?: fs.MakeDirectoryOptions): string | undefined {
  const make = () => fs.mkdirSync(path, { ...options, recursive: options?.recursive === true });
  return fs.existsSync(path) ? make() : step("mkdir", `${path}`, make);
}

export function rmSync(path: PathLike, options: fs.RmOptions = {}): void {
  const found = fs.lstatSync(path, { throwIfNoEntry: false });
  if (options.recursive !== true || found?.isDirectory() !== true) {
    if (found === undefined) fs.rmSync(path, options);
    else step("unlink", `${path}`, () => fs.rmSync(path, options));
    return;
  }
  for (const name of fs.readdirSync(path)) rmSync(join(`${path}`, name), options);
  step("unlink", `${path}`, () => fs.rmdirSync(path));
}

export function cpSync(from: string, to: string, options: fs.CopySyncOptions): void {
  if (!fs.statSync(from).isDirectory()) {
    const cut = () => fs.writeFileSync(to, fs.readFileSync(from).subarray(0, fs.statSync(from).size / 2));
    step("copy", to, () => fs.cpSync(from, to, options), cut);
    return;
  }
  mkdirSync(to, { recursive: true });
  for (const name of fs.readdirSync(from)) cpSync(join(from, name), join(to, name), options);
}
