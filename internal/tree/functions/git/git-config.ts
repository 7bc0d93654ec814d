import { quote } from "../../../base/cut.ts";
import { findAccountIfPresent } from "../../../base/process/account.ts";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { statIfPresent } from "../file/inspect.ts";
import { pathOf } from "../file/path.ts";
import { unchanged } from "../steps.ts";
import { type Git, openGit } from "./git-program.ts";
import { userFor } from "./git-user.ts";

const place = {
  repo: arg.path("Directory of the repository whose configuration it is."),
  global: arg.boolean("Whether it is the configuration of the user."),
  user: arg.string("User that git runs as; the user of the peel by default."),
} as const satisfies Record<string, ArgSpec>;

type Place = ValuesOf<typeof place>;

/** States of the configuration of Git. */
export const gitConfigStates: readonly StateFunction[] = [
  defineState({
    name: "git.config_set",
    doc: "Ensures that an option of Git, such as user.email, has this value.",
    args: {
      value: arg.string("The value."),
      multivar: arg.strings("Several values, instead of value."),
      ...place,
    },
    refuse(args) {
      if ((args.value === undefined) === (args.multivar === undefined))
        return "give either value or multivar";
      return refusePlace(args);
    },
    async plan(name, args, context) {
      const wanted = args.multivar ?? [args.value ?? ""];
      requireName(name);
      const git = await configOf(args, context);
      const present = await git?.values(name);
      if (present?.join("\n") === wanted.join("\n")) return unchanged(`${name} has the value`);
      return planChange(name, present ?? [], wanted, args, context);
    },
  }),
  defineState({
    name: "git.config_unset",
    doc: "Ensures that an option of Git is not set. A name that cannot be one is a regular expression of git for names, such as color\\..+.",
    args: {
      value_regex: arg.string("Removes only the values that match this regular expression of git."),
      all: arg.boolean("Removes several values; without it the state fails when there are several."),
      ...place,
    },
    refuse: (args) => refusePlace(args),
    async plan(name, args, context) {
      const git = await configOf(args, context);
      const names = isName(name) ? [name] : ((await git?.names(name)) ?? []);
      const found: { name: string; values: string[] }[] = [];
      for (const each of names) {
        const values = (await git?.values(each, args.value_regex)) ?? [];
        if (values.length > 0) found.push({ name: each, values });
      }
      const several = found.find(({ values }) => values.length > 1);
      if (several !== undefined && args.all !== true) {
        throw new StateFailure(
          `${several.name} has ${several.values.length} values; set all: true to remove them`,
        );
      }
      if (found.length === 0) return unchanged(`${name} is not set`);
      const pattern = args.value_regex === undefined ? [] : [args.value_regex];
      return {
        changes: Object.fromEntries(found.map((each) => [each.name, { old: shown(each.values), new: null }])),
        comment: `${name} would be removed`,
        async apply() {
          for (const each of found) await git?.change(["--unset-all", each.name, ...pattern]);
          return { comment: `${name} was removed` };
        },
      };
    },
  }),
];

function refusePlace({ repo, global }: Place): string | undefined {
  return (global === true) === (repo !== undefined) ? "give either repo, or global: true" : undefined;
}

function isName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9-]*\.(?:[^\n\0\\*+]*\.)?[A-Za-z][A-Za-z0-9-]*$/.test(name);
}

function requireName(name: string): void {
  if (isName(name)) return;
  throw new StateFailure(`${quote(name)} is not a valid name of an option, such as user.email`);
}

interface Config {
  /** The values of an option. */
  values(name: string, pattern?: string): Promise<string[]>;
  /** Names of options that match a regular expression of git. */
  names(expression: string): Promise<string[]>;
  change(args: readonly string[]): Promise<string>;
}

/** @returns `undefined` when the user or the repository does not exist yet; an earlier state may create them */
async function configOf(args: Place, context: StateContext): Promise<Config | undefined> {
  const account = await findAccountIfPresent(args.user ?? `${process.geteuid?.()}`, context);
  const repo = args.repo === undefined ? undefined : pathOf(args.repo);
  if (account === undefined || (repo !== undefined && statIfPresent(repo) === undefined)) return undefined;
  const user = repo === undefined ? account.name : await userFor(repo, args.user, context);
  const git: Git = await openGit({ user, identity: undefined, target: repo ?? account.home }, context);
  const config = ["config", repo === undefined ? "--global" : "--local"];
  // Without a match git fails, and says nothing.
  const requested = (rest: readonly string[]) =>
    git([...config, "--null", ...rest], repo).then(
      (text) => text.split("\0").slice(0, -1),
      (thrown: unknown) => {
        if (thrown instanceof StateFailure && /exit code 1$/.test(thrown.message)) return [];
        throw thrown;
      },
    );
  return {
    values: (name, pattern) => requested(["--get-all", name, ...(pattern === undefined ? [] : [pattern])]),
    names: async (expression) => [...new Set(await requested(["--name-only", "--get-regexp", expression]))],
    change: (rest) => git([...config, ...rest], repo),
  };
}

function planChange(
  name: string,
  present: readonly string[],
  wanted: readonly string[],
  args: Place,
  context: StateContext,
): Plan {
  return {
    changes: { [name]: { old: shown(present), new: shown(wanted) } },
    comment: `${name} would be set`,
    async apply() {
      const git = await configOf(args, context);
      if (git === undefined) throw new StateFailure(missing(args));
      const [first = "", ...more] = wanted;
      await git.change(["--replace-all", name, first]);
      for (const each of more) await git.change(["--add", name, each]);
      return { comment: `${name} was set` };
    },
  };
}

function missing({ repo, user }: Place): string {
  return repo === undefined ? `this host has no user ${user}` : `${repo} or the user of git does not exist`;
}

function shown(values: readonly string[]) {
  return values.length > 1 ? [...values] : (values[0] ?? null);
}
