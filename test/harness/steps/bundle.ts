import { readFileSync } from "node:fs";
import { join } from "node:path";
import type * as counted from "./node-fs.ts";

const root = join(import.meta.dir, "../../..");
const replacement = join(import.meta.dir, "node-fs.ts");

/** Programs whose steps on the disk are counted. */
export const stepped = {
  peel: join(import.meta.dir, "peel-main.ts"),
  svc: join(root, "cmd/svc/main.ts"),
};

const names: Record<keyof typeof counted, true> = {
  openSync: true,
  closeSync: true,
  writeSync: true,
  fsyncSync: true,
  ftruncateSync: true,
  fchmodSync: true,
  chmodSync: true,
  chownSync: true,
  renameSync: true,
  linkSync: true,
  unlinkSync: true,
  mkdirSync: true,
  rmSync: true,
  cpSync: true,
};

/** Takes these functions from node-fs.ts, and leaves the others. */
function redirect(source: string): string {
  return source.replaceAll(/^import \{([^}]*)\} from "node:fs";$/gm, (_, list: string) => {
    const taken = list.split(",").map((name) => name.trim());
    const mine = taken.filter((name) => name in names);
    const others = taken.filter((name) => !(name in names));
    return `import {${others}} from "node:fs"; import {${mine}} from "${replacement}";`;
  });
}

/**
 * Bundles a program, with node-fs.ts in the place of node:fs for all of its own code.
 *
 * @returns what runs it
 */
export async function bundle(entry: string, outdir: string): Promise<string[]> {
  const result = await Bun.build({
    ...{ entrypoints: [entry], outdir, target: "bun", format: "esm", throw: false },
    plugins: [
      {
        name: "steps",
        setup: (build) =>
          void build.onLoad({ filter: /\/internal\/.*\.ts$/ }, ({ path }) => ({
            contents: redirect(readFileSync(path, "utf8")),
            loader: "ts",
          })),
      },
    ],
  });
  const made = result.outputs.find(({ kind }) => kind === "entry-point")?.path;
  if (!result.success || made === undefined)
    throw new Error(`cannot bundle ${entry}:\n${result.logs.join("\n")}`);
  return [process.execPath, made];
}
