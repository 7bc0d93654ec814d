import { defined } from "../../base/defined.ts";
import { findAccount } from "../../base/process/account.ts";
import { succeed, systemOf } from "../../host/system/mod.ts";
import { defineState, type StateContext, StateFailure, type StateFunction } from "../function/mod.ts";
import { deferring, NotReady } from "./not-ready.ts";
import { planSteps, refuseWith } from "./steps.ts";

const installMs = 15 * 60_000;
const where = {
  user: { type: "string", doc: "Runs gem as this user; the user of the peel by default." },
  gem_bin: { type: "path", doc: "The program gem; the one in the search path by default." },
} as const;

/** States of packages of Ruby. */
export const gemStates: readonly StateFunction[] = deferring([
  defineState({
    name: "gem.installed",
    doc: "Ensures that a gem is installed.",
    args: {
      version: { type: "string", doc: "Exact version; any by default." },
      ...where,
      source: { type: "string", doc: "URL of the source of gems." },
      pre_releases: { type: "boolean", doc: "Also allows versions before a release; false by default." },
      rdoc: { type: "boolean", doc: "Also installs documentation; false by default." },
      ri: { type: "boolean", doc: "Also installs documentation for ri; false by default." },
    },
    refuse: ({ version = "1", source = "https://" }) =>
      /^\d[\w.-]*$/.test(version)
        ? /^https?:\/\/[^\s@]*$/.test(source)
          ? undefined
          : "source: expected an https URL without credentials"
        : "version: expected an exact version, such as 1.2.3",
    async plan(name, args, context) {
      refuseWith(gemProblem(name));
      const { version, source, pre_releases: pre = false, rdoc = false, ri = false } = args;
      const gem = await openGem(args, context);
      const have = await gem.versions(name);
      const isThere = version === undefined ? have.length > 0 : have.includes(version);
      const kinds = [...(rdoc ? ["rdoc"] : []), ...(ri ? ["ri"] : [])].join(",");
      const words = [
        ...["install", name, kinds === "" ? "--no-document" : `--document=${kinds}`],
        ...(version === undefined ? [] : ["--version", version]),
        ...(source === undefined ? [] : ["--source", source]),
        ...(pre ? ["--prerelease"] : []),
      ];
      const run = async () => {
        await gem.run(`install ${name}`, words);
        const now = await gem.versions(name);
        if (now.length === 0 || (version !== undefined && !now.includes(version))) {
          throw new StateFailure(`gem ran, but ${name} is not installed`);
        }
      };
      const changes = { [name]: { old: have.join(", "), new: version ?? "latest" } };
      return planSteps(isThere ? [] : [{ changes, run }], {
        fine: `${name} is installed`,
        due: `${name} would be installed`,
        done: `${name} was installed`,
      });
    },
  }),
  defineState({
    name: "gem.removed",
    doc: "Ensures that no version of a gem is installed.",
    args: where,
    async plan(name, args, context) {
      refuseWith(gemProblem(name));
      const gem = await openGem(args, context);
      const have = await gem.versions(name);
      const run = () => gem.run(`remove ${name}`, ["uninstall", name, "--all", "--executables"]);
      return planSteps(
        have.length === 0 ? [] : [{ changes: { [name]: { old: have.join(", "), new: "" } }, run }],
        {
          fine: `${name} is not installed`,
          due: `${name} would be removed`,
          done: `${name} was removed`,
        },
      );
    },
  }),
]);

function gemProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return undefined;
  return `${JSON.stringify(name.slice(0, 80))} is not the name of a gem`;
}

async function openGem(
  { user, gem_bin: program = "gem" }: { user?: string | undefined; gem_bin?: string | undefined },
  context: StateContext,
) {
  const system = systemOf(context);
  if (program === "gem" && !system.has(program)) {
    throw new NotReady("gem is not installed on this host; install ruby in an earlier state");
  }
  const account = user === undefined ? undefined : await findAccount(user, context);
  const options = { timeoutMs: installMs, outputLimit: 4 * 1024 * 1024, ...defined({ account }) };
  return {
    /** Installed versions: `json (2.6.1, default: 2.3.0)`. */
    async versions(name: string): Promise<string[]> {
      const text = await succeed(system, "list the gems", [program, "list", "--local", `^${name}$`], options);
      const line = text.split("\n").find((each) => each.startsWith(`${name} (`)) ?? "";
      const listed = /\((.*)\)/.exec(line)?.[1]?.split(", ") ?? [];
      return listed
        .map((each) => each.replace(/^default: /, "").split(" ")[0] ?? "")
        .filter((each) => each !== "");
    },
    async run(purpose: string, words: readonly string[]): Promise<void> {
      await succeed(system, purpose, [program, ...words], options);
    },
  };
}
