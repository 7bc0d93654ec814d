import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** The binaries of the product; each is built from `cmd/<name>/main.ts`. */
export const binaries = ["svc-master", "svc-peel", "svc"] as const;
export type Binary = (typeof binaries)[number];

const root = join(import.meta.dir, "..");

/** What a binary is made for: a platform in the compiler's words, and the path of its Bun executable. */
export interface Platform {
  target?: Bun.Build.CompileTarget;
  runtime: string;
  /** Path of a nats-server of that platform, which the executable then carries. */
  natsServer?: string;
}

/**
 * Compiles a binary into one executable file, which is in place whole or not at all.
 *
 * It carries bytecode, which more than halves the start of a command. It is not minified: that gains
 * nothing measurable at the start and costs readable stack traces. It reads neither `.env` nor
 * `bunfig.toml` of the directory it is started in: a compiled program does so by default, which hands
 * its environment and a preload script to whoever can write there.
 *
 * @param outfile path of the executable, its directory is made
 * @throws Error with the compiler's messages
 */
export async function compileBinary(binary: Binary, outfile: string, platform: Platform): Promise<void> {
  const temporary = join(dirname(outfile), `.${basename(outfile)}.${process.pid}`);
  mkdirSync(dirname(outfile), { recursive: true });
  const assets = mkdtempSync(join(tmpdir(), "svc-assets-"));
  try {
    const result = await Bun.build({
      entrypoints: [
        join(root, "cmd", binary, "main.ts"),
        ...(platform.natsServer === undefined ? [] : [asset(platform.natsServer, assets)]),
      ],
      target: "bun",
      format: "esm",
      bytecode: true,
      throw: false,
      compile: {
        ...(platform.target === undefined ? {} : { target: platform.target }),
        executablePath: platform.runtime,
        outfile: temporary,
        autoloadDotenv: false,
        autoloadBunfig: false,
      },
    });
    if (!result.success) throw new Error(`cannot compile ${binary}:\n${result.logs.join("\n")}`);
  } finally {
    rmSync(assets, { recursive: true, force: true });
  }
  renameSync(temporary, outfile);
}

/** A copy under the name by which the executable finds it; a file without an ending is taken as it is. */
function asset(path: string, directory: string): string {
  const copy = join(directory, "nats-server");
  copyFileSync(path, copy);
  return copy;
}
