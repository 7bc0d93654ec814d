import { quote } from "../../../base/cut.ts";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { unchanged } from "../steps.ts";
import { findPip, type Pip } from "./pip-program.ts";
import { isSatisfied, normalName, parseRequirement } from "./requirement.ts";

const where = {
  bin_env: arg.path("A virtual environment, or the program pip; pip3 or pip of the host by default."),
  user: arg.string("User that pip runs as; the user of the peel by default."),
  cwd: arg.path("Directory of requirements with a relative path."),
} as const satisfies Record<string, ArgSpec>;

const installArgs = {
  pkgs: arg.strings("Several packages instead of name, each as pip takes it: toml, pygit2 == 1.2."),
  requirements: arg.string("A file of requirements on this host, instead of packages."),
  editable: arg.strings(
    "Sources to install for development, such as git+https://…#egg=name, instead of packages.",
  ),
  upgrade: arg.boolean("Installs the newest version that fits; asks the index in each run."),
  force_reinstall: arg.boolean("Installs the packages again in each run."),
  ignore_installed: arg.boolean("Installs without removing an installed version."),
  no_deps: arg.boolean("Installs no dependencies."),
  pre_releases: arg.boolean("Also takes versions before a release."),
  index_url: arg.string("Address of the package index."),
  extra_index_url: arg.strings("Addresses of more package indexes."),
  no_index: arg.boolean("Asks no index; find_links has the packages."),
  find_links: arg.strings("Directories or addresses of packages."),
  proxy: arg.string("Address of a proxy."),
  trusted_host: arg.strings("Hosts whose certificates are not verified."),
  extra_args: arg.strings("More options of pip install, such as --break-system-packages."),
  ...where,
} as const satisfies Record<string, ArgSpec>;

type InstallArgs = ValuesOf<typeof installArgs>;

/** States of Python packages. */
export const pipStates: readonly StateFunction[] = [
  defineState({
    name: "pip.installed",
    doc: "Ensures that Python packages are installed with pip.",
    args: installArgs,
    refuse: refuseInstall,
    async plan(name, args, context) {
      if (args.requirements !== undefined) return planRequirements(args.requirements, args, context);
      const wanted = args.editable ?? args.pkgs ?? [name];
      const pip = await findPip(args, context);
      const installed = await pip?.installed();
      const newer = args.upgrade === true ? await pip?.outdated() : undefined;
      const due = wanted.filter((each) => args.force_reinstall === true || !isThere(each, installed, newer));
      if (due.length === 0) return unchanged(`${wanted.join(", ")}: installed as requested`);
      const argv = args.editable === undefined ? due : due.flatMap((each) => ["--editable", each]);
      return {
        changes: Object.fromEntries(
          due.map((each) => [
            each,
            { old: versionOf(each, installed) ?? "", new: newer?.get(nameOf(each)) ?? "installed" },
          ]),
        ),
        comment: `would be installed: ${due.join(", ")}`,
        apply: () => changing(args, context, `install ${due.join(", ")}`, [...installWords(args), ...argv]),
      };
    },
  }),
  defineState({
    name: "pip.removed",
    doc: "Ensures that Python packages are not installed with pip.",
    args: { pkgs: arg.strings("Several packages instead of name."), ...where },
    refuse: ({ pkgs = [] }) => pkgs.map(refuseName).find((problem) => problem !== undefined),
    async plan(name, args, context) {
      const wanted = args.pkgs ?? [name];
      const problem = wanted.map(refuseName).find((each) => each !== undefined);
      if (problem !== undefined) throw new StateFailure(problem);
      const installed = await (await findPip(args, context))?.installed();
      const due = wanted.filter((each) => installed?.has(normalName(each)) === true);
      if (due.length === 0) return unchanged(`${wanted.join(", ")}: not installed`);
      return {
        changes: Object.fromEntries(
          due.map((each) => [each, { old: installed?.get(normalName(each)) ?? "", new: "" }]),
        ),
        comment: `would be removed: ${due.join(", ")}`,
        apply: () => changing(args, context, `remove ${due.join(", ")}`, ["uninstall", "-y", ...due]),
      };
    },
  }),
  defineState({
    name: "pip.uptodate",
    doc: "Ensures that all Python packages of pip have the newest version. Asks the index in each run.",
    args: { ...where, extra_args: installArgs.extra_args },
    refuse: ({ extra_args }) => refuseExtra(extra_args),
    async plan(_, args, context) {
      const pip = await findPip(args, context);
      if (pip === undefined) throw noPip(args.bin_env);
      const [installed, newer] = [await pip.installed(), await pip.outdated()];
      if (newer.size === 0) return unchanged("all packages have the newest version");
      return {
        changes: Object.fromEntries(
          [...newer].map(([each, version]) => [each, { old: installed.get(each) ?? "", new: version }]),
        ),
        comment: `would be upgraded: ${[...newer.keys()].join(", ")}`,
        apply: () =>
          changing(args, context, "upgrade packages", [
            "install",
            "--upgrade",
            ...(args.extra_args ?? []),
            ...newer.keys(),
          ]),
      };
    },
  }),
];

function refuseInstall(args: InstallArgs): string | undefined {
  const { pkgs, requirements, editable } = args;
  const given = Object.entries({ pkgs, requirements, editable }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  );
  if (given.length > 1) return `give only one of ${given.join(", ")}`;
  const wrong = [...(pkgs ?? []), ...(editable ?? [])].find((each) => isWord(each) === false);
  if (wrong !== undefined) return `${quote(wrong)} is not a package as pip takes it`;
  return refuseExtra(args.extra_args);
}

/** Options that read arguments from elsewhere would not be seen here. */
function refuseExtra(extra: readonly string[] | undefined): string | undefined {
  const wrong = extra?.find((each) => !/^--[a-z][a-z-]*(?:=[^\n\0]*)?$/.test(each));
  return wrong === undefined
    ? undefined
    : "extra_args: expected options such as --break-system-packages or --timeout=30";
}

function refuseName(name: string): string | undefined {
  return parseRequirement(name)?.clauses.length === 0
    ? undefined
    : `${quote(name)} is not a valid name of a Python package`;
}

/** It must not look like an option. */
function isWord(text: string): boolean {
  return /^[A-Za-z0-9/.][^\n\0]*$/.test(text);
}

function nameOf(text: string): string {
  const [, egg] = /[#&]egg=([A-Za-z0-9._-]+)/.exec(text) ?? [];
  const [, before] = /^([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*@/.exec(text) ?? [];
  return parseRequirement(text)?.name ?? normalName(egg ?? before ?? "");
}

function versionOf(text: string, installed: ReadonlyMap<string, string> | undefined): string | undefined {
  return installed?.get(nameOf(text));
}

function isThere(
  text: string,
  installed: ReadonlyMap<string, string> | undefined,
  newer: ReadonlyMap<string, string> | undefined,
): boolean {
  const version = versionOf(text, installed);
  const requirement = parseRequirement(text);
  if (version === undefined || newer?.has(nameOf(text)) === true) return false;
  return requirement === undefined || isSatisfied(requirement, version);
}

async function planRequirements(file: string, args: InstallArgs, context: StateContext): Promise<Plan> {
  const path = file.startsWith("/") ? file : `${args.cwd ?? ""}/${file}`;
  if (!path.startsWith("/") || /[\0\n]/.test(path))
    throw new StateFailure("requirements: expected an absolute path, or cwd");
  const text = systemOf(context).read(path);
  const pip = await findPip(args, context);
  const installed = await pip?.installed();
  const lines = text?.split("\n").flatMap((line) => line.replace(/(?:^|\s)#.*$/, "").trim() || []);
  const isFine = lines?.every(
    (line) => parseRequirement(line) !== undefined && isThere(line, installed, undefined),
  );
  if (isFine === true && args.upgrade !== true && args.force_reinstall !== true) {
    return unchanged(`the packages of ${path} are installed`);
  }
  return {
    changes: { [path]: "would be installed" },
    comment: `the packages of ${path} would be installed`,
    apply: () =>
      changing(args, context, `install the packages of ${path}`, [
        ...installWords(args),
        "--requirement",
        path,
      ]),
  };
}

function installWords(args: InstallArgs): string[] {
  const each = (option: string, values: readonly string[] | undefined) =>
    (values ?? []).map((value) => `${option}=${value}`);
  return [
    "install",
    ...(args.upgrade === true ? ["--upgrade"] : []),
    ...(args.force_reinstall === true ? ["--force-reinstall"] : []),
    ...(args.ignore_installed === true ? ["--ignore-installed"] : []),
    ...(args.no_deps === true ? ["--no-deps"] : []),
    ...(args.pre_releases === true ? ["--pre"] : []),
    ...(args.no_index === true ? ["--no-index"] : []),
    ...each("--index-url", args.index_url === undefined ? [] : [args.index_url]),
    ...each("--extra-index-url", args.extra_index_url),
    ...each("--find-links", args.find_links),
    ...each("--proxy", args.proxy === undefined ? [] : [args.proxy]),
    ...each("--trusted-host", args.trusted_host),
    ...(args.extra_args ?? []),
  ];
}

/** Runs pip and reports every package that changed, including dependencies. */
async function changing(
  args: ValuesOf<typeof where>,
  context: StateContext,
  purpose: string,
  argv: readonly string[],
): Promise<{ changes: Changes; comment: string }> {
  const pip: Pip | undefined = await findPip(args, context);
  if (pip === undefined) throw noPip(args.bin_env);
  const before = await pip.installed();
  const difference = async () => changesOf(before, await pip.installed());
  try {
    await pip.run(purpose, argv);
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw new StateFailure(cause.message, await difference(), { cause });
  }
  const changes = await difference();
  const names = Object.keys(changes);
  return { changes, comment: names.length === 0 ? "pip changed nothing" : `changed: ${names.join(", ")}` };
}

function changesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Changes {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return Object.fromEntries(
    names
      .filter((name) => before.get(name) !== after.get(name))
      .map((name) => [name, { old: before.get(name) ?? "", new: after.get(name) ?? "" }]),
  );
}

function noPip(bin: string | undefined): StateFailure {
  return new StateFailure(
    bin === undefined
      ? "pip is not installed on this host; install it in an earlier state, with the package python3-pip"
      : `${bin} is not pip, and not a virtual environment with pip`,
  );
}
