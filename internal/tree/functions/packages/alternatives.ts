import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { planSteps, refuseWith, unchanged } from "../steps.ts";
import { type Alternatives, alternativesDirectories, parseAlternatives } from "./alternatives-file.ts";

const program = "update-alternatives";
const path = arg.path("The path that the name stands for.", { required: true });

/** States of the alternatives of a host: which program a name such as editor stands for. */
export const alternativesStates: readonly StateFunction[] = [
  defineState({
    name: "alternatives.install",
    doc: "Ensures that a path is one of the alternatives of a name.",
    args: {
      link: arg.path("The link that programs use, such as /usr/bin/editor.", { required: true }),
      path,
      priority: arg.integer("In automatic mode the highest priority is used.", { required: true }),
    },
    plan(name, { link, path, priority }, context) {
      const found = inspect(name, context);
      const known = found?.all.find((each) => each.path === path);
      if (known?.priority === priority && found?.link === link) {
        return unchanged(`${path} is an alternative of ${name} with priority ${priority}`);
      }
      const old = known === undefined ? null : { path, priority: known.priority, link: found?.link ?? "" };
      return change(context, `install ${path} as ${name}`, {
        argv: ["--install", link, name, path, String(priority)],
        changes: { [name]: { old, new: { path, priority, link } } },
        due: `${path} would be an alternative of ${name}`,
        done: `${path} is now an alternative of ${name}`,
      });
    },
  }),
  defineState({
    name: "alternatives.remove",
    doc: "Ensures that a path is not one of the alternatives of a name.",
    args: { path },
    plan(name, { path }, context) {
      const found = inspect(name, context);
      if (found?.all.some((each) => each.path === path) !== true) {
        return unchanged(`${path} is not an alternative of ${name}`);
      }
      return change(context, `remove ${path} from ${name}`, {
        argv: ["--remove", name, path],
        changes: { [name]: { old: path, new: null } },
        due: `${path} would be removed from the alternatives of ${name}`,
        done: `${path} was removed from the alternatives of ${name}`,
      });
    },
  }),
  defineState({
    name: "alternatives.set",
    doc: "Ensures that a name stands for this path, whatever the priorities are.",
    args: { path },
    plan(name, { path }, context) {
      const found = inspect(name, context);
      const isKnown = found?.all.some((each) => each.path === path) === true;
      if (!isKnown && !isInstalledByRun(name, context)) {
        throw new StateFailure(`${path} is not an alternative of ${name}; add it with alternatives.install`);
      }
      const current = targetOf(name, context);
      if (isKnown && !found.automatic && current === path) return unchanged(`${name} is set to ${path}`);
      return change(context, `set ${name} to ${path}`, {
        argv: ["--set", name, path],
        changes: { [name]: { old: current ?? null, new: path } },
        due: `${name} would be set to ${path}`,
        done: `${name} was set to ${path}`,
      });
    },
  }),
  defineState({
    name: "alternatives.auto",
    doc: "Ensures that a name stands for the path with the highest priority.",
    args: {},
    plan(name, _, context) {
      const found = inspect(name, context);
      if (found === undefined && !isInstalledByRun(name, context)) {
        throw new StateFailure(`this host has no alternatives of ${name}; add one with alternatives.install`);
      }
      // A name without alternatives is created in automatic mode.
      if (found?.automatic ?? true) return unchanged(`${name} is in automatic mode`);
      return change(context, `set ${name} to automatic mode`, {
        argv: ["--auto", name],
        changes: { [name]: { old: "manual", new: "auto" } },
        due: `${name} would be set to automatic mode`,
        done: `${name} was set to automatic mode`,
      });
    },
  }),
];

interface Change {
  argv: readonly string[];
  changes: Changes;
  due: string;
  done: string;
}

function change(context: StateContext, purpose: string, { argv, changes, due, done }: Change): Plan {
  const system = systemOf(context);
  const run = async () => {
    if (!system.has(program)) throw new StateFailure(`${program} is not installed on this host`);
    await succeed(system, purpose, [program, ...argv]);
  };
  return planSteps([{ changes, run }], { fine: "", due, done });
}

/** @throws StateFailure for an invalid name */
function inspect(name: string, context: StateContext): Alternatives | undefined {
  refuseWith(refuseName(name));
  const text = textOf(name, systemOf(context));
  return text === undefined ? undefined : parseAlternatives(text);
}

function textOf(name: string, system: System): string | undefined {
  for (const directory of alternativesDirectories) {
    const text = system.read(`${directory}/${name}`);
    if (text !== undefined) return text;
  }
  return undefined;
}

function targetOf(name: string, context: StateContext): string | undefined {
  return systemOf(context).linkTarget(`/etc/alternatives/${name}`);
}

/** Whether a state of this run adds an alternative of the name, which does not exist yet in test mode. */
function isInstalledByRun(name: string, { described }: StateContext): boolean {
  return described.some((each) => each.function === "alternatives.install" && each.name === name);
}

function refuseName(name: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9+._:@-]*$/.test(name)) return undefined;
  return `${quote(name)} is not a valid name of alternatives`;
}
