import { beginningOf } from "../../base/cut.ts";
import { jsonText } from "../../base/json-text.ts";
import type { PlanDocument, PlanGroup } from "../../fleet/plans/mod.ts";
import { visible } from "../../program/command-line/mod.ts";
import { causeLine, countOf, headOf, namesOf } from "./format.ts";

/** The longest comment that forges take is 65,536 characters; the rest is for what a pipeline puts around it. */
const maxBytes = 61_440;
const maxCauses = 20;
const shownPeels = 50;
const endBytes = 400;

/** A plan as one comment of a pull request: groups are collapsed, and nothing in it acts as markup. */
export function formatMarkdown(plan: PlanDocument): string {
  const { causes, groups, peels, unchanged, cannot_be_bound: unbound, notes } = plan;
  const head = [
    `### ${groups.length === 0 ? "Nothing changes" : `Changes for ${countOf(peels - unchanged, "peel")}`}`,
    "",
    code(headOf(plan)),
    "",
    ...causes.slice(0, maxCauses).map((cause) => `- ${code(causeLine(cause))}`),
    ...(causes.length > maxCauses ? [`- and ${causes.length - maxCauses} more reasons`] : []),
    "",
  ].join("\n");
  const end = [
    "",
    `${countOf(unchanged, "peel")}: nothing changes.`,
    ...(unbound.length === 0 ? [] : [`${countOf(unbound.length, "peel")} cannot be bound.`]),
    ...notes.slice(0, 3).map(code),
    "A plan compares orders, not hosts: what drifted on a host is not in it.",
    "",
  ].join("\n");
  let text = head;
  for (const [at, group] of groups.entries()) {
    const part = groupOf(group);
    if (bytesOf(text) + bytesOf(part) + bytesOf(end) + endBytes > maxBytes) {
      text += `\nand ${countOf(groups.length - at, "more group")}: the plan has all of them.\n`;
      break;
    }
    text += part;
  }
  return text + end;
}

const bytesOf = (text: string): number => Buffer.byteLength(text);

function groupOf({ peels, changes, ...group }: PlanGroup): string {
  const { error, unknown, restarts = [], error_before: errorBefore } = group;
  const what =
    error !== undefined
      ? "cannot be compiled"
      : unknown !== undefined
        ? "unknown until it runs"
        : `${countOf(changes.length, "change")}${restarts.length === 0 ? "" : `, restarts ${restarts.join(", ")}`}`;
  const lines = [
    ...(error ?? unknown ?? []),
    ...(errorBefore ?? []).map((line) => `now: ${line}`),
    ...changes.flatMap(({ op, function: called, name, before, after, why }) => [
      `${op} ${called} ${name}  (${why.map(({ file, line }) => `${file}:${line}`).join(", ")})`,
      ...argumentLines(before ?? {}, after ?? {}, op),
    ]),
    ...(peels.length > 2
      ? [`on ${peels.slice(0, shownPeels).join(", ")}${peels.length > shownPeels ? ", …" : ""}`]
      : []),
  ];
  const body = lines.map((line) => visible(line).replaceAll("```", "` ` `")).join("\n");
  return `<details><summary>${html(`${namesOf(peels)}: ${what}`)}</summary>\n\n\`\`\`diff\n${body}\n\`\`\`\n\n</details>\n`;
}

function argumentLines(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  op: string,
): string[] {
  if (op !== "~") return [];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const line = (sign: string, value: unknown) =>
      value === undefined ? [] : [`${sign}   ${name}: ${beginningOf(jsonText(value), 500)}`];
    return [...line("-", old), ...line("+", now)];
  });
}

/** Text from files and hosts, as code. */
const code = (text: string): string => `\`${visible(text).replaceAll("`", "'")}\``;

const html = (text: string): string =>
  visible(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
