import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { resolve } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { runProcess } from "../../base/process/process.ts";
import { sha256Hex } from "../../base/sha256.ts";
import {
  type BinaryManifest,
  chunkBytes,
  encodeBinaryManifest,
  headBytes,
  maxBinaryBytes,
  platformOf,
} from "../../host/binary/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";

const versionTimeoutMs = 10_000;
const self = "/proc/self/exe";

/** A binary on this machine to upload. */
export interface BinaryFile extends AsyncDisposable {
  manifest: BinaryManifest;
  /** Of the manifest. */
  digest: string;
  /** The manifest, encoded. */
  data: Uint8Array;
  /** Reads a chunk again. @throws SvcError `conflict` when the file changed meanwhile */
  chunk(index: number): Promise<Uint8Array>;
}

/**
 * Opens a binary of `svc-peel` and reads its platform. A binary for this platform is run to get its version;
 * for others only the platform is known.
 *
 * @throws SvcError `bad_request` naming the file, which cannot be read or is not `svc-peel`
 */
export async function readBinary(path: string, cli: Pick<Cli, "clock">): Promise<BinaryFile> {
  const file = await orRefuse(path, () => open(path, "r"));
  try {
    const { size } = await orRefuse(path, () => file.stat());
    if (size > maxBinaryBytes) throw refuse(`${path} has more than ${maxBinaryBytes} bytes`);
    const read = (index: number) => orRefuse(path, () => readChunk(file, index, size));
    const platform = platformOf((await read(0)).subarray(0, headBytes));
    if (platform === undefined) throw refuse(`${path} is not an executable for Linux on x64 or arm64`);
    const version = platform === (await platformHere()) ? await versionOf(path, cli) : "";
    const whole = createHash("sha256");
    const chunks: string[] = [];
    for (let index = 0; index * chunkBytes < size; index++) {
      const data = await read(index);
      whole.update(data);
      chunks.push(sha256Hex(data));
    }
    const manifest = { sha256: whole.digest("hex"), size, platform, version, chunks };
    return {
      manifest,
      ...encodeBinaryManifest(manifest),
      async chunk(index) {
        const data = await read(index);
        if (sha256Hex(data) === chunks[index]) return data;
        throw new SvcError("conflict", `--binary: ${path} changed while it was uploaded`);
      },
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}

async function readChunk(file: FileHandle, index: number, size: number): Promise<Uint8Array> {
  const at = index * chunkBytes;
  const length = Math.max(0, Math.min(chunkBytes, size - at));
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

async function platformHere(): Promise<string | undefined> {
  await using file = await open(self, "r");
  return platformOf(await readChunk(file, 0, headBytes));
}

async function versionOf(path: string, { clock }: Pick<Cli, "clock">): Promise<string> {
  const { code, stopped, stdout } = await runProcess({
    argv: [resolve(path), "--version"],
    env: {},
    cwd: "/",
    timeoutMs: versionTimeoutMs,
    clock,
  });
  const [, version] = /^svc-peel (\S+)\n$/.exec(stdout.text) ?? [];
  if (stopped === undefined && code === 0 && version !== undefined) return version;
  const how =
    stopped === undefined ? `exits with ${code}, and does not name itself svc-peel` : "does not end";
  throw refuse(`${path} is not an svc-peel that runs here: ${path} --version ${how}`);
}

async function orRefuse<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new SvcError("bad_request", `--binary: cannot read ${path}: ${reasonOf(cause)}`, { cause });
  }
}

function refuse(what: string): SvcError {
  return new SvcError("bad_request", `--binary: ${what}`);
}
