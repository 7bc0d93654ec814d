import { suggestion } from "../../base/nearest.ts";

type Program = "svc" | "svc-master" | "svc-peel";

/** The variables that each program reads, of those that begin with `SVC_`. @internal */
export const readVariables: Readonly<Record<Program, readonly string[]>> = {
  svc: ["SVC_CONFIG", "SVC_PAGER"],
  "svc-master": ["SVC_DATA_DIR"],
  "svc-peel": ["SVC_DATA_DIR", "SVC_JOIN_TOKEN", "SVC_WATCHDOG"],
};

/**
 * The variables of an environment that begin with `SVC_` and that nothing reads: they are misspelled, or set by someone
 * who expects more of them. Of `svc` those of the other programs are left out, as a person who starts them by hand
 * exports them.
 *
 * @returns each with the nearest name that is read, sorted; never its value, which may be a secret
 */
export function ignoredVariables(program: Program, env: Readonly<Record<string, string | undefined>>) {
  const own = readVariables[program];
  const known = new Set(program === "svc" ? Object.values(readVariables).flat() : own);
  return Object.keys(env)
    .filter((name) => /^SVC_[A-Z0-9_]+$/.test(name) && !known.has(name))
    .sort()
    .map((name) => `${name}${suggestion(name, own)}`);
}
