import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
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
  mkdirSync(dirname(outfile), { recursive: true });
  // The name of the file stands in it: only that of the directory may be another each time.
  const unfinished = mkdtempSync(join(dirname(outfile), `.${basename(outfile)}.`));
  const temporary = join(unfinished, basename(outfile));
  try {
    const result = await Bun.build({
      entrypoints: [
        join(root, "cmd", binary, "main.ts"),
        ...(platform.natsServer === undefined ? [] : [asset(platform.natsServer)]),
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
    renameSync(temporary, outfile);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/**
 * A copy under the name by which the executable finds it; a file without an ending is taken as it is. Its
 * path stands in the executable, so that it follows from the file alone.
 */
function asset(path: string): string {
  const data = readFileSync(path);
  const copy = join(
    root,
    ".tools",
    "carried",
    createHash("sha256").update(data).digest("hex"),
    "nats-server",
  );
  if (existsSync(copy)) return copy;
  mkdirSync(dirname(copy), { recursive: true });
  const unfinished = `${copy}.${process.pid}`;
  writeFileSync(unfinished, data);
  renameSync(unfinished, copy);
  return copy;
}
