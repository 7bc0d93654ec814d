import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { matchersOf } from "../targets/mod.ts";
import type { FoundChange } from "./compare-orders.ts";
import type { FileUse, Order, PlannedState } from "./order.ts";
import type { Question } from "./question.ts";
import { lineOfState, lineThatDiffers } from "./state-line.ts";
import { type Subject, valueAt } from "./subject.ts";

/** Where something is written that makes a difference. */
export interface Cause {
  readonly file: string;
  readonly line: number;
  /** A setting that differs: `app:port`, with both values. */
  readonly setting?: string;
  readonly before?: Plain;
  readonly after?: Plain;
}

/** What one side of a plan rests on, for one peel. */
export interface Ground {
  readonly order: Order;
  readonly subject: Subject;
  /** The text of a state file; `undefined` when there is none. */
  textOf(path: string): Promise<string | undefined>;
  /** Where a setting is written. */
  placeOf(path: readonly string[]): Promise<{ file: string; line: number } | undefined>;
}

/** Causes of one change, at most. */
const maxCauses = 20;

/** Finds why a state is ordered in another way. */
export async function causesOf(found: FoundChange, before: Ground, after: Ground): Promise<Cause[]> {
  const state = found.after ?? found.before;
  if (state === undefined) return [];
  const causes = [
    ...(await settingCauses(found, before, after)),
    ...(await fileCauses(found, before, after)),
    ...(found.change.op === "~" ? [] : await assignmentCauses(state, before, after)),
  ];
  if (causes.length > 0) return distinct(causes).slice(0, maxCauses);
  const text = await (found.after === undefined ? before : after).textOf(state.file);
  return [{ file: state.file, line: lineOfState(text ?? "", state) }];
}

/** The files that a state comes from: its own, and the templates of its content. */
function usesOf(state: PlannedState | undefined, { order }: Ground): FileUse[] {
  if (state === undefined) return [];
  const sources = [state.args.source].flat().flatMap((each) => {
    const path = typeof each === "string" ? /^(?:svc|salt):\/\/\/?(.*)$/.exec(each)?.[1] : undefined;
    return path === undefined ? [] : [path];
  });
  return [state.file, ...sources].flatMap((path) => order.files.get(path) ?? []);
}

async function settingCauses(found: FoundChange, before: Ground, after: Ground): Promise<Cause[]> {
  const uses = [...usesOf(found.before, before), ...usesOf(found.after, after)];
  const args: PlannedState["args"] = (found.after ?? found.before)?.args ?? {};
  const named = [args.contents_pillar, args.contents_settings];
  const own = named.flatMap((each) => (typeof each === "string" ? [each.split(":")] : []));
  const paths = uses.flatMap(({ questions }) =>
    questions.flatMap((each) => (each.kind === "read" && each.table === "settings" ? [each.path] : [])),
  );
  const causes: Cause[] = [];
  for (const path of [...paths, ...own]) causes.push(...(await differences(path, before, after)));
  return causes;
}

/** The settings below a place that differ, each with where it is written. */
async function differences(path: readonly string[], before: Ground, after: Ground): Promise<Cause[]> {
  const [old, now] = [valueAt(before.subject.settings, path), valueAt(after.subject.settings, path)];
  if (JSON.stringify(old) === JSON.stringify(now)) return [];
  if ((isMap(old) || old === undefined) && (isMap(now) || now === undefined)) {
    const names = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
    const causes: Cause[] = [];
    for (const name of [...names].sort()) causes.push(...(await differences([...path, name], before, after)));
    return causes;
  }
  const place = (await after.placeOf(path)) ?? (await before.placeOf(path));
  if (place === undefined) return [];
  return [
    {
      ...place,
      setting: path.join(":"),
      ...(old === undefined ? {} : { before: old }),
      ...(now === undefined ? {} : { after: now }),
    },
  ];
}

async function fileCauses(found: FoundChange, before: Ground, after: Ground): Promise<Cause[]> {
  const { file } = found.after ?? found.before ?? { file: "" };
  const isOnBoth = before.order.files.has(file) && after.order.files.has(file);
  // A file that only one side renders is a matter of what assigns it.
  if (!isOnBoth) return [];
  const uses = [...usesOf(found.before, before), ...usesOf(found.after, after)];
  const causes: Cause[] = [];
  for (const path of new Set([file, ...uses.flatMap(({ loads }) => [...loads.keys()])])) {
    const [from, to] = [await before.textOf(path), await after.textOf(path)];
    if (from === to) continue;
    const about = path === file ? found : undefined;
    causes.push({ file: path, line: lineThatDiffers(from ?? "", to ?? "", about) });
  }
  return causes;
}

const topFile = "top.sls";

/** What assigns, or no longer assigns, the file of a state: the top file, a file that includes it, or a label. */
async function assignmentCauses(state: PlannedState, before: Ground, after: Ground): Promise<Cause[]> {
  if (before.order.files.has(state.file) && after.order.files.has(state.file)) return [];
  const causes: Cause[] = [];
  const paths = [topFile, ...before.order.files.keys(), ...after.order.files.keys()];
  for (const path of new Set(paths)) {
    const [from, to] = [await before.textOf(path), await after.textOf(path)];
    if (from === to || (path !== topFile && !/^include:/m.test(`${from}\n${to}`))) continue;
    if (path === state.file) continue;
    causes.push({ file: path, line: lineThatDiffers(from ?? "", to ?? "") });
  }
  for (const question of after.order.files.get(topFile)?.questions ?? []) {
    for (const path of settingsOf(question)) causes.push(...(await differences(path, before, after)));
  }
  return causes;
}

/** The settings that a question of the top file looks at. */
function settingsOf(question: Question): (readonly string[])[] {
  if (question.kind === "read") return question.table === "settings" ? [question.path] : [];
  return [...matchersOf(question.expression)].flatMap((each) =>
    each.kind === "setting" ? [each.parts.slice(0, 1)] : [],
  );
}

function distinct(causes: readonly Cause[]): Cause[] {
  const found = new Map(causes.map((cause) => [`${cause.file}:${cause.line} ${cause.setting ?? ""}`, cause]));
  return [...found.values()];
}
