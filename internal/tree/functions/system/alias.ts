import { quote } from "../../../base/cut.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import { arg } from "../../../host/modules/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, type Plan, type StateContext, type StateFunction } from "../../function/mod.ts";
import { planSteps, refuseWith, says } from "../steps.ts";

const aliasesPath = "/etc/aliases";

/** States of mail aliases: aliases(5). Other lines of the file are preserved. */
export const aliasStates: readonly StateFunction[] = [
  defineState({
    name: "alias.present",
    doc: "Ensures that mail to a local name goes to this target.",
    args: {
      target: arg.string("An address, a path, |command, or several with commas.", { required: true }),
    },
    refuse: ({ target }) => (/[\0\r\n]/.test(target) ? "target: expected one line" : undefined),
    plan: (name, { target }, context) => planAlias(name, target, context),
  }),
  defineState({
    name: "alias.absent",
    doc: "Ensures that a local name has no mail alias.",
    args: {},
    plan: (name, _, context) => planAlias(name, undefined, context),
  }),
];

/** @param target `undefined` removes the alias */
function planAlias(name: string, target: string | undefined, context: StateContext): Plan {
  refuseWith(/^[^\s:#"'|\0]+$/.test(name) ? undefined : `${quote(name)} is not a valid alias`);
  const system = systemOf(context);
  const read = () => system.read(aliasesPath) ?? "";
  const before = targetIn(read(), name);
  const run = async () => {
    system.write(
      aliasesPath,
      keepLineEnds(read(), (text) => withAlias(text, name, target)),
    );
    // The mail server reads a database that this program makes of the file.
    if (system.has("newaliases")) await system.run(["newaliases"]);
  };
  const changes = { [`alias ${name}`]: { old: before ?? "", new: target ?? "" } };
  const what = `the alias ${name}`;
  return planSteps(
    before === target ? [] : [{ changes, run }],
    says(
      what,
      target === undefined ? "removed" : "set",
      target === undefined ? `${what} does not exist` : `${what} is in the desired state`,
    ),
  );
}

/** An alias in a file, with lines that continue it. */
const entry = /^([^\s:#][^:]*)\s*:\s*(.*(?:\n[ \t]+\S.*)*)$/gm;

/** The target of an alias on one line. */
export function targetIn(text: string, name: string): string | undefined {
  for (const [, alias = "", target = ""] of text.matchAll(entry)) {
    if (alias.trim() === name) return target.trim().replace(/\s*\n\s+/g, " ");
  }
  return undefined;
}

/** The text with this target of an alias, at the place where the alias was or at the end. */
export function withAlias(text: string, name: string, target: string | undefined): string {
  let isPlaced = false;
  const line = target === undefined ? undefined : `${name}: ${target}`;
  const changed = text.replace(entry, (whole, alias: string) => {
    if (alias.trim() !== name) return whole;
    const now = isPlaced ? undefined : line;
    isPlaced = true;
    return now ?? "\0";
  });
  const kept = changed.replace(/\0\n?/g, "");
  if (isPlaced || line === undefined) return kept;
  return `${kept === "" || kept.endsWith("\n") ? kept : `${kept}\n`}${line}\n`;
}
