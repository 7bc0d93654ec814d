import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { packagesOf } from "../../../host/system/packages/mod.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import { describeChange, type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { formatOf } from "../ini/ini-format.ts";
import { IniText } from "../ini/ini-text.ts";
import { planSteps, refuseWith, type Step, says, unchanged } from "../steps.ts";
import { rpmArgs } from "./pkgrepo-rpm-args.ts";

const directory = "/etc/yum.repos.d";
const notShown = "not shown: holds a password";
/** dnf and yum read these files as Python does. */
const style = { spaced: false, format: formatOf("", "indent") };

interface Wish {
  name: string;
  humanname: string | undefined;
  enabled: boolean;
  refresh: boolean;
  comments: readonly string[] | undefined;
  [option: string]: unknown;
}

/** Plans a repository of dnf or yum: a section of a file in /etc/yum.repos.d. */
export async function planRpmManaged(wish: Wish, context: StateContext): Promise<Plan> {
  const { name, humanname = name, enabled } = wish;
  refuseWith(refuseId(name));
  const system = systemOf(context);
  const options = optionsOf(wish);
  if (!["baseurl", "mirrorlist", "metalink"].some((each) => options.has(each))) {
    throw new StateFailure("give one of baseurl, mirrorlist, metalink");
  }
  const path = fileWith(system, name) ?? `${directory}/${name}.repo`;
  const before = system.read(path);
  const ini = new IniText(before ?? "", style);
  for (const [option, value] of [
    ["name", humanname],
    ...options,
    ["enabled", enabled ? "1" : "0"],
  ] as const) {
    if (!isSame(ini.get(name, option), value)) ini.set(name, option, value);
  }
  const comments = (wish.comments ?? []).map((line) => `# ${line}\n`).join("");
  const after = before === undefined ? `${comments}${ini.text()}` : ini.text();
  if (after === before) return unchanged(`the repository ${name} is configured`);
  const isSecret = options.has("password") || ini.get(name, "password") !== undefined;
  const diff = isSecret
    ? notShown
    : await describeChange(path, before === undefined ? undefined : Buffer.from(before), Buffer.from(after));
  return planSteps(
    stepsOf(path, after, diff, wish.refresh, system),
    says(`the repository ${name}`, `configured in ${path}`),
  );
}

/** Plans the removal of a repository of dnf or yum. */
export async function planRpmAbsent(name: string, context: StateContext): Promise<Plan> {
  refuseWith(refuseId(name));
  const system = systemOf(context);
  const path = fileWith(system, name);
  if (path === undefined) return unchanged(`the repository ${name} does not exist`);
  const before = system.read(path) ?? "";
  const ini = new IniText(before, style);
  const isSecret = ini.get(name, "password") !== undefined;
  ini.removeSection(name);
  const after = ini.sections().length === 0 ? undefined : ini.text();
  const shown = Buffer.from(after ?? "");
  const diff = isSecret ? notShown : await describeChange(path, Buffer.from(before), shown);
  return planSteps(
    stepsOf(path, after, diff, false, system),
    says(`the repository ${name}`, `removed from ${path}`),
  );
}

function stepsOf(
  path: string,
  after: string | undefined,
  diff: string,
  refresh: boolean,
  system: System,
): Step[] {
  const change: { [name: string]: Plain } = after === undefined ? { removed: true, diff } : { diff };
  const write = () => (after === undefined ? system.remove(path) : system.write(path, after));
  const step = { changes: { [path]: change }, run: write };
  return refresh ? [step, { changes: {}, run: () => packagesOf(system).refresh() }] : [step];
}

/** The options as dnf writes them. */
function optionsOf(wish: Wish): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of Object.keys(rpmArgs)) {
    const value = wish[name];
    if (value === undefined || value === null || name === "gpgautoimport") continue;
    const text = Array.isArray(value)
      ? value.join(" ")
      : value === true
        ? "1"
        : value === false
          ? "0"
          : String(value);
    if (/[\n\r]/.test(text)) throw new StateFailure(`${name}: must not contain a line break`);
    found.set(name, text);
  }
  return found;
}

const truths = [/^(?:1|yes|true)$/i, /^(?:0|no|false)$/i];

/** Whether two values are the same to dnf: 1 is true. */
function isSame(present: string | undefined, wanted: string): boolean {
  return (
    present === wanted ||
    truths.some((truth) => truth.test(wanted) && present !== undefined && truth.test(present))
  );
}

function fileWith(system: System, name: string): string | undefined {
  return system
    .list(directory)
    .filter((file) => file.endsWith(".repo"))
    .map((file) => `${directory}/${file}`)
    .find((path) => new IniText(system.read(path) ?? "", style).has(name));
}

function refuseId(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9._:+-]*$/.test(name)) return undefined;
  return `${quote(name)} is not a valid id of a repository`;
}
