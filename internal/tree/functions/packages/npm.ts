import { beginningOf, quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { defineState, type StateContext, StateFailure, type StateFunction } from "../../function/mod.ts";
import { runner } from "../command/runner.ts";
import { deferring, NotReady } from "../not-ready.ts";
import { planSteps, refuseWith, says } from "../steps.ts";

const installMs = 15 * 60_000;
const where = {
  dir: arg.path("Directory of the project; the packages are global by default."),
  user: arg.string("Runs npm as this user; the user of the peel by default."),
} as const;
const env = arg.map("Variables for npm.");

/** States of packages of npm. */
export const npmStates: readonly StateFunction[] = deferring([
  defineState({
    name: "npm.installed",
    doc: "Ensures that packages of npm are installed: express, or express@4.18.2.",
    args: {
      pkgs: arg.strings("Several packages in place of the name."),
      ...where,
      registry: arg.string("URL of the registry."),
      force_reinstall: arg.boolean("Installs them again; false by default."),
      env,
    },
    refuse: ({ registry = "https://", env: given = {} }) =>
      /^https?:\/\/[^\s@]*$/.test(registry)
        ? Object.values(given).every((value) => typeof value === "string")
          ? undefined
          : "env: expected texts"
        : "registry: expected an https URL without credentials; put those into .npmrc",
    async plan(name, args, context) {
      const { pkgs = [name], force_reinstall: again = false, registry } = args;
      for (const each of pkgs) refuseWith(packageProblem(each));
      const npm = await openNpm(args, context);
      const have = await npm.list();
      const missing = pkgs.filter((each) => again || !isInstalled(have, each));
      const options = registry === undefined ? [] : [`--registry=${registry}`];
      const changes = Object.fromEntries(
        missing.map((each) => [
          nameOf(each),
          { old: have.get(nameOf(each)) ?? "", new: versionOf(each) ?? "latest" },
        ]),
      );
      const run = async () => {
        await npm.run(["install", ...options, ...missing]);
        const now = await npm.list();
        const lost = missing.find((each) => !isInstalled(now, each));
        if (lost !== undefined) throw new StateFailure(`npm ran, but ${lost} is not installed`);
      };
      return planSteps(missing.length === 0 ? [] : [{ changes, run }], {
        fine: `${pkgs.join(", ")}: installed`,
        due: `${missing.join(", ")}: would be installed`,
        done: `${missing.join(", ")}: installed now`,
      });
    },
  }),
  defineState({
    name: "npm.removed",
    doc: "Ensures that a package of npm is not installed.",
    args: where,
    async plan(name, args, context) {
      refuseWith(packageProblem(name));
      const npm = await openNpm(args, context);
      const version = (await npm.list()).get(nameOf(name));
      const run = () => npm.run(["uninstall", nameOf(name)]);
      return planSteps(
        version === undefined ? [] : [{ changes: { [nameOf(name)]: { old: version, new: "" } }, run }],
        says(name, "removed", `${name} is not installed`),
      );
    },
  }),
  defineState({
    name: "npm.bootstrap",
    doc: "Ensures that a project, whose directory is the name of the state, has the packages of its package.json.",
    args: { user: where.user, env },
    async plan(name, args, context) {
      if (!/^\/[^\0]*$/.test(name)) throw new StateFailure("the name of the state is an absolute path");
      const npm = await openNpm({ ...args, dir: name }, context);
      const missing = await npm.missing();
      const run = () => npm.run(["install"]);
      return planSteps(missing.length === 0 ? [] : [{ changes: { [name]: { installed: missing } }, run }], {
        fine: `${name} has its packages`,
        due: `the packages of ${name} would be installed`,
        done: `the packages of ${name} were installed`,
      });
    },
  }),
]);

function packageProblem(name: string): string | undefined {
  if (/^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*(?:@[\w.^~<>=*+-]+)?$/i.test(name)) return undefined;
  return `${quote(name)} is not a package of npm, such as express or express@4.18.2`;
}

function nameOf(name: string): string {
  return name.replace(/(?<=.)@.*$/, "");
}

function versionOf(name: string): string | undefined {
  return /(?<=.)@(.*)$/.exec(name)?.[1];
}

/** An exact version must be the installed one; a tag or a range is left to npm at the first installation. */
function isInstalled(have: ReadonlyMap<string, string>, wanted: string): boolean {
  const version = have.get(nameOf(wanted));
  const exact = /^\d+\.\d+\.\d+/.test(versionOf(wanted) ?? "");
  return version !== undefined && (!exact || version === versionOf(wanted));
}

interface Npm {
  /** Versions by name. */
  list(): Promise<Map<string, string>>;
  /** What package.json names and is not installed. */
  missing(): Promise<string[]>;
  run(words: readonly string[]): Promise<void>;
}

interface Dependency {
  version?: string;
  missing?: boolean;
  required?: unknown;
}

async function openNpm(
  args: {
    dir?: string | undefined;
    user?: string | undefined;
    env?: { [name: string]: unknown } | undefined;
  },
  context: StateContext,
): Promise<Npm> {
  const system = systemOf(context);
  if (!system.has("npm"))
    throw new NotReady("npm is not installed on this host; install it in an earlier state");
  const account = await runner(args.user, context);
  const scope = args.dir === undefined ? ["--global"] : [`--prefix=${args.dir}`];
  const options = {
    timeoutMs: installMs,
    outputLimit: 8 * 1024 * 1024,
    // Nothing of the answer is for a terminal.
    env: {
      ...(args.env as Record<string, string> | undefined),
      NO_COLOR: "1",
      NO_UPDATE_NOTIFIER: "1",
      CI: "true",
    },
    account,
  };
  const dependencies = async (): Promise<[string, Dependency][]> => {
    const { stdout } = await system.run(["npm", "list", "--json", "--depth=0", ...scope], options);
    try {
      // The exit code is 1 when a package is missing, and the list is printed anyway.
      const { dependencies: found = {} } = JSON.parse(stdout) as {
        dependencies?: Record<string, Dependency>;
      };
      return Object.entries(found);
    } catch {
      throw new StateFailure("npm list printed no list");
    }
  };
  return {
    async list() {
      const found = (await dependencies()).filter(
        ([, { version, missing }]) => version !== undefined && missing !== true,
      );
      return new Map(found.map(([name, { version = "" }]) => [name, version]));
    },
    async missing() {
      return (await dependencies()).filter(([, { missing }]) => missing === true).map(([name]) => name);
    },
    async run(words) {
      const [verb = "", ...rest] = words;
      const argv = ["npm", verb, ...scope, "--no-audit", "--no-fund", "--loglevel=error", ...rest];
      const { code, stdout, stderr } = await system.run(argv, options);
      const said = beginningOf((stderr.trim() || stdout.trim()).split("\n").slice(0, 5).join("; "), 600);
      if (code !== 0) throw new StateFailure(`npm ${verb} exited with ${code}: ${said}`);
    },
  };
}
