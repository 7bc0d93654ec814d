import { parse } from "node:path";
import type { System } from "./system.ts";

const directory = "/etc/modules-load.d";
const listPath = "/etc/modules";

/** One form for the two spellings of a module. */
function canonical(name: string): string {
  return name.replaceAll("-", "_");
}

/** Names of loaded modules. */
export function isLoaded(system: System, name: string): boolean {
  const wanted = canonical(name);
  const loaded = (system.read("/proc/modules") ?? "").split("\n");
  return loaded.some((line) => line.split(" ", 1)[0] === wanted);
}

/** Whether a module is a part of the running kernel, which neither loads nor unloads it. */
export function isBuiltIn(system: System, name: string): boolean {
  const release = system.read("/proc/sys/kernel/osrelease")?.trim() ?? "";
  const wanted = canonical(name);
  const lines = (system.read(`/lib/modules/${release}/modules.builtin`) ?? "").split("\n");
  return lines.some((line) => canonical(parse(line.trim()).name) === wanted);
}

/** The files that load a module at boot. */
export function filesLoading(system: System, name: string): string[] {
  const files = system
    .list(directory)
    .flatMap((each) => (each.endsWith(".conf") ? [`${directory}/${each}`] : []));
  return [listPath, ...files].filter((path) =>
    linesOf(system.read(path) ?? "").some((line) => isOf(line, name)),
  );
}

/** The file to add a module to. */
export function loadFile(system: System): string {
  return system.fact("init") === "systemd" || !system.exists(listPath) ? `${directory}/svc.conf` : listPath;
}

/** Adds a module to a file that loads modules at boot; a comment with it becomes the line. */
export function withModule(text: string, name: string): string {
  const lines = linesOf(text);
  const at = lines.findIndex((line) => isOf(line.replace(/^\s*[#;]\s*/, ""), name));
  if (at >= 0) return joined(lines.map((line, index) => (index === at ? name : line)));
  return joined([...lines, name]);
}

/** @param asComment whether the line stays as a comment */
export function withoutModule(text: string, name: string, asComment: boolean): string {
  return joined(
    linesOf(text).flatMap((line) => (isOf(line, name) ? (asComment ? [`# ${line.trim()}`] : []) : [line])),
  );
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function isOf(line: string, name: string): boolean {
  const [word = ""] = line.trim().split(/\s+/);
  return canonical(word) === canonical(name);
}
