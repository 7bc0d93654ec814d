import { closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { SvcError } from "../../../base/errors.ts";
import { openDirectory } from "../../../base/files/opened-directory.ts";
import { createPrivateDirectory } from "../../../base/files/private-directory.ts";
import { createEntry, writeWhole } from "../../../base/files/replace-entry.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { arg } from "../../../host/modules/mod.ts";
import { packagesOf, refusePackageName } from "../../../host/system/packages/mod.ts";
import { systemOf } from "../../../host/system/system.ts";
import { type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { findSource, refuseSource } from "../sources/source.ts";
import { unchanged } from "../steps.ts";
import { changing } from "./pkg-change.ts";

export const sourcesArg = arg.any(
  "Package files to install, with apt or dnf: a list of maps from the name of a package to svc://path, salt://path, an absolute path or https://…. A package that is installed, in whatever version, is left as it is.",
);

interface PackageFile {
  name: string;
  source: string;
}

/** The problem with `sources`, if any. */
export function refuseSources(sources: Plain | undefined, pkgs: Plain | undefined): string | undefined {
  if (sources === undefined) return undefined;
  if (pkgs !== undefined) return "give only one of pkgs, sources";
  const files = readSources(sources);
  if (files === undefined) return "sources: expected a list of maps from the name of a package to its file";
  return files
    .map(({ name, source }) => refusePackageName(name) ?? refuseSource([source], undefined, true))
    .find((problem) => problem !== undefined);
}

function readSources(sources: Plain): PackageFile[] | undefined {
  const maps = Array.isArray(sources) ? sources : [sources];
  const files = maps.flatMap((each) =>
    isMap(each) ? Object.entries(each).map(([name, source]) => ({ name, source })) : [undefined],
  );
  const isFile = (file: (typeof files)[number]): file is PackageFile => typeof file?.source === "string";
  return files.every(isFile) ? files : undefined;
}

/** Plans the installation of package files. @throws StateFailure with a package manager that takes none */
export async function planSources(sources: Plain, context: StateContext): Promise<Plan> {
  const system = systemOf(context);
  const packages = packagesOf(system);
  const installed = await packages.installed();
  const files = readSources(sources) ?? [];
  const due = files.filter(({ name }) => !installed.has(name));
  const named = (all: readonly PackageFile[]) => all.map(({ name }) => name).join(", ");
  if (due.length === 0) return unchanged(`${named(files)}: installed`);
  const install = packages.installFiles;
  if (install === undefined)
    throw new StateFailure(`sources: ${packages.name} is not asked to install files`);
  return {
    changes: Object.fromEntries(due.map(({ name, source }) => [name, { old: "", new: source }])),
    comment: `would be installed: ${named(due)}`,
    apply: () =>
      changing(system, packages, installed, async () => {
        await withFiles(due, context, install);
        system.forget();
        const now = await packages.installed();
        const missing = due.filter(({ name }) => !now.has(name));
        if (missing.length === 0) return { comment: `installed: ${named(due)}` };
        throw new StateFailure(`${named(missing)}: the files are packages of other names`);
      }),
  };
}

/** Copies the files to a directory that only root can enter while they are installed. */
async function withFiles(
  files: readonly PackageFile[],
  context: StateContext,
  use: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  using parent = openDirectory(tmpdir());
  using own = createPrivateDirectory(parent, "svc-package");
  // The package manager gets a path, which nobody else may be able to replace.
  if (!parent.isFixed(own.directory.own)) {
    throw new SvcError(
      "forbidden",
      `TMPDIR: another user can change ${parent.path}; use a directory of root`,
    );
  }
  const paths: string[] = [];
  for (const { name, source } of files) {
    const [, suffix = ".pkg"] = /(\.[a-z]+)(?:[?#].*)?$/.exec(source) ?? [];
    const data = await findSource([source], undefined, context).content.bytes();
    const file = createEntry(own.directory, `${name}${suffix}`);
    try {
      writeWhole(file, data);
    } finally {
      closeSync(file);
    }
    paths.push(`${own.directory.path}/${name}${suffix}`);
  }
  await use(paths);
}
