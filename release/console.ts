import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { BunPlugin } from "bun";
import type { ConsoleAsset, ConsoleBundle } from "../internal/doors/console/mod.ts";
import { rooms } from "../internal/doors/rooms/mod.ts";
import { pastDoors } from "./doors.ts";

const folder = join(import.meta.dir, "../internal/console/app");

/**
 * Bundles the console for browsers. The parts that only some pages need are files of their own.
 *
 * @throws Error with the messages of the bundler
 */
export async function bundleConsole(): Promise<ConsoleBundle> {
  const built = await Bun.build({
    entrypoints: [join(folder, "main.tsx")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    publicPath: "/console/assets/",
    naming: { entry: "console-[hash].[ext]", chunk: "part-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [routesAlone(), pastDoors()],
    throw: false,
  });
  if (!built.success) throw new Error(`cannot bundle the console:\n${built.logs.join("\n")}`);
  const assets: ConsoleAsset[] = [];
  let [script, style] = ["", ""];
  for (const output of built.outputs) {
    const bytes = new Uint8Array(await output.arrayBuffer());
    const isStyle = output.path.endsWith(".css");
    // The bundler takes the names of the parts of a style into its digest, but not always their content.
    const path = isStyle ? `console-${digestOf(bytes)}.css` : basename(output.path);
    if (isStyle) style = path;
    if (output.kind === "entry-point") script = path;
    const type = isStyle ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
    assets.push({ path, type, bytes });
  }
  if (script === "" || style === "") throw new Error("the console has no script, or no style");
  const page = readFileSync(join(folder, "index.html"), "utf8");
  return { index: page.replace("SCRIPT", script).replace("STYLE", style), assets };
}

/** Leaves methods and paths of the tables of doors: a browser needs no more of them. */
function routesAlone(): BunPlugin {
  return {
    name: "routes-alone",
    setup(build) {
      build.onLoad({ filter: /\/fleet\/[^/]+\/doors\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        const [, name = ""] = /^export const (\w+) = \{$/m.exec(text) ?? [];
        const ids = [...text.matchAll(/^ {2}(\w+): \{/gm)].map(([, id = ""]) => id);
        const table = Object.fromEntries(ids.flatMap((id) => routes.get(id) ?? []));
        return { contents: `export const ${name} = ${JSON.stringify(table)};`, loader: "js" };
      });
    },
  };
}

/** The entry of each operation that REST reaches, by its id. */
const routes: ReadonlyMap<string, [[id: string, door: { rest: { method: string; path: string } }]]> = new Map(
  Object.values(rooms)
    .flatMap((room): { id: string; rest?: { method: string; path: string } }[] => Object.values(room))
    .flatMap(({ id, rest }) =>
      rest === undefined ? [] : [[id, [[id, { rest: { method: rest.method, path: rest.path } }]]]],
    ),
);

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
