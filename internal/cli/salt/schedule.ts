import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { parseYaml, plainValue, type YamlEntry, type YamlNode } from "../../base/yaml/yaml.ts";
import { checkCall, functionNamed } from "../../host/modules/mod.ts";
import type { Copied } from "./copy-tree.ts";
import type { Items } from "./report.ts";

/** An entry of `schedule` in the configuration of a peel. */
export type PeelEntry = Record<string, Plain>;

const units = { seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
const taken = new Set([
  ...Object.keys(units),
  ...["function", "args", "job_args", "kwargs", "job_kwargs", "cron", "splay", "maxrunning", "enabled"],
  ...["return_job", "run_on_start", "name", "jid_include", "metadata", "returner"],
]);

/**
 * Finds schedules of minions in settings files, and writes those that a peel can run by itself as it has them.
 *
 * @returns the entries by the settings file that they come from
 */
export function readSchedules(
  files: readonly Copied[],
  items: Items,
): Map<string, Record<string, PeelEntry>> {
  const found = new Map<string, Record<string, PeelEntry>>();
  for (const { path, below, text = "" } of files) {
    const at = text.split("\n").findIndex((line) => /^["']?schedule["']?:/.test(line));
    if (!below.endsWith(".sls") || at < 0) continue;
    const entry = scheduleIn(text, path);
    if (entry === undefined) {
      items.add(
        "schedule",
        { file: path, line: at + 1 },
        "a schedule in a template is not converted",
        byHand,
      );
      continue;
    }
    const entries: Record<string, PeelEntry> = {};
    for (const each of entry.value.kind === "map" ? entry.value.entries : []) {
      try {
        entries[each.key] = convert(each.value);
      } catch (thrown) {
        if (!(thrown instanceof SvcError)) throw thrown;
        const place = { file: path, line: each.keyAt.line };
        items.add("schedule", place, `${each.key} is not converted: ${thrown.message}`, byHand);
      }
    }
    if (Object.keys(entries).length > 0) found.set(path, entries);
  }
  return found;
}

const byHand = "Write it under schedule in peel.yaml, see docs/schedule.md";

function scheduleIn(text: string, path: string): YamlEntry | undefined {
  if (/\{[{%#]/.test(text)) return undefined;
  try {
    const root = parseYaml(text.replace(/^#!.*/, ""), path);
    return root.kind === "map" ? root.entries.find(({ key }) => key === "schedule") : undefined;
  } catch (thrown) {
    if (thrown instanceof SvcError) return undefined;
    throw thrown;
  }
}

/** @throws SvcError with the reason why a peel does not have it */
function convert(node: YamlNode): PeelEntry {
  const fields = plainValue(node) as Record<string, Plain>;
  if (node.kind !== "map") throw refusal("expected a map");
  const unknown = Object.keys(fields).find((key) => !taken.has(key));
  if (unknown !== undefined) throw refusal(`${unknown} does not exist here`);
  const name = String(fields.function ?? "");
  const call = { module: name, args: argsOf(name, fields) };
  checkCall(call.module, call.args);
  const every = Object.entries(units).reduce((sum, [unit, ms]) => sum + Number(fields[unit] ?? 0) * ms, 0);
  if (typeof fields.cron === "string" ? every !== 0 : !(every > 0)) {
    throw refusal("expected either cron, or seconds, minutes, hours or days");
  }
  const { splay, cron } = fields;
  if (splay !== undefined && typeof splay !== "number") throw refusal("splay: expected a number of seconds");
  return {
    ...call,
    ...(typeof cron === "string" ? { cron } : { interval: formatDuration(every) }),
    ...defined({ splay: splay === undefined ? undefined : formatDuration(splay * 1_000) }),
    ...defined({ maxrunning: fields.maxrunning }),
    // Salt runs an interval at the start of the minion, and returns the result by default.
    ...(typeof cron !== "string" && fields.run_on_start !== false ? { run_on_start: true } : {}),
    ...(fields.return_job === false ? {} : { return_job: true }),
    ...(fields.enabled === false ? { enabled: false } : {}),
  };
}

/** Salt passes arguments by position and by name. */
export function argsOf(name: string, fields: Readonly<Record<string, Plain>>): Record<string, Plain> {
  const called = functionNamed(name);
  const list = fields.args ?? fields.job_args ?? [];
  const named = fields.kwargs ?? fields.job_kwargs ?? {};
  const positional = Array.isArray(list) ? list : [list];
  const names = Object.keys(called.args);
  if (positional.length > names.length) throw refusal(`${name} takes ${names.length} arguments`);
  return {
    ...Object.fromEntries(
      positional.map((value, at) => [names[at] ?? "", fit(value, called.args[names[at] ?? ""])]),
    ),
    ...(named as Record<string, Plain>),
  };
}

function fit(value: Plain, spec: { type: string } | undefined): Plain {
  return spec?.type === "strings" && typeof value === "string" ? value.split(",") : value;
}

function refusal(reason: string): SvcError {
  return new SvcError("bad_request", reason);
}
