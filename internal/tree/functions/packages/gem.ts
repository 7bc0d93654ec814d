import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, type StateContext, StateFailure, type StateFunction } from "../../function/mod.ts";
import { runner } from "../command/runner.ts";
import { deferring, NotReady } from "../not-ready.ts";
import { planSteps, refuseWith, says } from "../steps.ts";

const installMs = 15 * 60_000;
const where = {
  user: arg.string("Runs gem as this user; the user of the peel by default."),
  gem_bin: arg.path("The program gem; the one in the search path by default."),
} as const;

/** States of packages of Ruby. */
export const gemStates: readonly StateFunction[] = deferring([
  defineState({
    name: "gem.installed",
    doc: "Ensures that a gem is installed.",
    args: {
      version: arg.string("Exact version; any by default."),
      ...where,
      source: arg.string("URL of the source of gems, the only one then."),
      pre_releases: arg.boolean("Also allows versions before a release; false by default."),
      rdoc: arg.boolean("Also installs documentation; false by default."),
      ri: arg.boolean("Also installs documentation for ri; false by default."),
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
      const have = (await gem.versions(name)).map(({ version: each }) => each);
      const isThere = version === undefined ? have.length > 0 : have.includes(version);
      const kinds = [...(rdoc ? ["rdoc"] : []), ...(ri ? ["ri"] : [])].join(",");
      const words = [
        ...["install", name, kinds === "" ? "--no-document" : `--document=${kinds}`],
        ...(version === undefined ? [] : ["--version", version]),
        // Otherwise another source could have a gem of the same name.
        ...(source === undefined ? [] : ["--clear-sources", "--source", source]),
        ...(pre ? ["--prerelease"] : []),
      ];
      const run = async () => {
        await gem.run(`install ${name}`, words);
        const now = await gem.versions(name);
        const isNow = now.some((each) => version === undefined || each.version === version);
        if (!isNow) {
          throw new StateFailure(`gem ran, but ${name} is not installed`);
        }
      };
      const changes = { [name]: { old: have.join(", "), new: version ?? "latest" } };
      return planSteps(isThere ? [] : [{ changes, run }], says(name, "installed", `${name} is installed`));
    },
  }),
  defineState({
    name: "gem.removed",
    doc: "Ensures that no version of a gem is installed. One that is part of Ruby stays.",
    args: where,
    async plan(name, args, context) {
      refuseWith(gemProblem(name));
      const gem = await openGem(args, context);
      const found = await gem.versions(name);
      const have = found.filter(({ isDefault }) => !isDefault).map(({ version }) => version);
      const run = async () => {
        await gem.run(`remove ${name}`, ["uninstall", name, "--all", "--executables"]);
        const left = (await gem.versions(name)).find(({ isDefault }) => !isDefault);
        if (left !== undefined) throw new StateFailure(`gem ran, but ${name} ${left.version} is installed`);
      };
      const [bundled] = found;
      return planSteps(
        have.length === 0 ? [] : [{ changes: { [name]: { old: have.join(", "), new: "" } }, run }],
        says(
          name,
          "removed",
          bundled === undefined
            ? `${name} is not installed`
            : `${name} ${bundled.version} is part of Ruby and stays`,
        ),
      );
    },
  }),
]);

function gemProblem(name: string): string | undefined {
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return undefined;
  return `${quote(name)} is not the name of a gem`;
}

async function openGem(
  { user, gem_bin: program = "gem" }: { user?: string | undefined; gem_bin?: string | undefined },
  context: StateContext,
) {
  const system = systemOf(context);
  if (program === "gem" && !system.has(program)) {
    throw new NotReady("gem is not installed on this host; install ruby in an earlier state");
  }
  const account = await runner(user, context);
  const options = { timeoutMs: installMs, outputLimit: 4 * 1024 * 1024, account };
  return {
    /** Installed versions: `json (2.6.1, default: 2.3.0)`. */
    async versions(name: string): Promise<{ version: string; isDefault: boolean }[]> {
      const text = await succeed(system, "list the gems", [program, "list", "--local", `^${name}$`], options);
      const line = text.split("\n").find((each) => each.startsWith(`${name} (`)) ?? "";
      const listed = /\((.*)\)/.exec(line)?.[1]?.split(", ") ?? [];
      return listed.flatMap((each) => {
        const [, byDefault, version] = /^(default: )?(\S+)/.exec(each) ?? [];
        return version === undefined ? [] : [{ version, isDefault: byDefault !== undefined }];
      });
    },
    async run(purpose: string, words: readonly string[]): Promise<void> {
      await succeed(system, purpose, [program, ...words], options);
    },
  };
}
