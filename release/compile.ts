import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { defined } from "../internal/base/defined.ts";
import { startPolicy } from "../internal/base/service/jit-policy.ts";
import { packBundle } from "../internal/doors/console/mod.ts";
import { bundleConsole } from "./console.ts";
import { pastDoors } from "./doors.ts";

/** The binaries of the product; each is built from `cmd/<name>/main.ts`. */
export const binaries = ["svc-master", "svc-peel", "svc"] as const;
export type Binary = (typeof binaries)[number];

const root = join(import.meta.dir, "..");

/** The platform of a binary: its compiler target, and the path of its Bun executable. */
export interface Platform {
  target?: Bun.Build.CompileTarget;
  runtime: string;
  /** Path of a nats-server of that platform to embed. */
  natsServer?: string;
}

/**
 * Compiles a binary into one executable file, which is written atomically.
 *
 * It contains bytecode, which more than halves the start time of a command. It is not minified: that has no
 * measurable effect on the start time and makes stack traces unreadable. It does not read `.env` and
 * `bunfig.toml` of its working directory. A compiled program does so by default, which gives control over
 * its environment and a preload script to everyone who can write there.
 *
 * @param outfile path of the executable; its directory is created
 * @throws Error with the compiler's messages
 */
export async function compileBinary(binary: Binary, outfile: string, platform: Platform): Promise<void> {
  mkdirSync(dirname(outfile), { recursive: true });
  // The executable contains the file name, so only the name of the directory may vary.
  const unfinished = mkdtempSync(join(dirname(outfile), `.${basename(outfile)}.`));
  const temporary = join(unfinished, basename(outfile));
  try {
    const result = await Bun.build({
      entrypoints: [
        join(root, "cmd", binary, "main.ts"),
        ...(platform.natsServer === undefined
          ? []
          : [asset(readFileSync(platform.natsServer), "nats-server")]),
        ...(binary === "svc-master" ? [asset(packBundle(await bundleConsole()), "console")] : []),
      ],
      target: "bun",
      format: "esm",
      splitting: true,
      plugins: [pastDoors()],
      bytecode: true,
      throw: false,
      compile: {
        ...defined({ target: platform.target }),
        executablePath: platform.runtime,
        outfile: temporary,
        autoloadDotenv: false,
        autoloadBunfig: false,
        jitPolicy: startPolicy,
      },
    });
    if (!result.success) throw new Error(`cannot compile ${binary}:\n${result.logs.join("\n")}`);
    renameSync(temporary, outfile);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/**
 * Writes a file with the name by which the executable finds it. A file without an extension is embedded as is.
 * The executable contains its path, so the path depends only on the file.
 */
function asset(data: Uint8Array, name: string): string {
  const copy = join(root, ".tools", "carried", createHash("sha256").update(data).digest("hex"), name);
  if (existsSync(copy)) return copy;
  mkdirSync(dirname(copy), { recursive: true });
  const unfinished = `${copy}.${process.pid}`;
  writeFileSync(unfinished, data);
  renameSync(unfinished, copy);
  return copy;
}
