import { createHash } from "node:crypto";
import { systemClock } from "../../internal/base/clock.ts";
import { SvcError } from "../../internal/base/errors.ts";
import type { FileSource } from "../../internal/tree/files/files.ts";
import type { CompileOptions } from "../../internal/tree/language/compile.ts";
import type { RunOptions } from "../../internal/tree/run/run.ts";
import { createTemplates } from "../../internal/tree/template/render.ts";
import { fixedFacts } from "./facts.ts";
import { fixedSettings } from "./settings.ts";

/** A tree of files in memory. */
export function memoryFiles(files: Readonly<Record<string, string>>, environment = "base"): FileSource {
  return {
    environment,
    stat(path) {
      const text = Object.hasOwn(files, path) ? files[path] : undefined;
      if (text === undefined) return undefined;
      const digest = createHash("sha256").update(text).digest("hex");
      return { digest, size: Buffer.byteLength(text), executable: false };
    },
    read(path) {
      const text = Object.hasOwn(files, path) ? files[path] : undefined;
      if (text === undefined) return Promise.reject(new SvcError("not_found", `there is no ${path}`));
      return Promise.resolve(Buffer.from(text));
    },
    list: (directory) =>
      Object.keys(files)
        .filter((path) => directory === "" || path.startsWith(`${directory}/`))
        .sort(),
  };
}

const templates = createTemplates();

/** What states of a tree in memory are compiled with. */
export function compileOptions(
  files: Readonly<Record<string, string>>,
  options: Partial<CompileOptions> = {},
): CompileOptions {
  const subject = { facts: { os: "Debian" }, settings: {}, peelId: "web-1" };
  return { files: memoryFiles(files), templates, ...subject, ...options };
}

/** What states are run with: for real, on the machine's clock, with no function that could be called. */
export function runOptions(options: Partial<RunOptions> = {}): RunOptions {
  return {
    test: false,
    clock: systemClock,
    facts: fixedFacts({}),
    settings: fixedSettings(),
    signal: new AbortController().signal,
    call: (name) => Promise.reject(new SvcError("bad_request", `unknown function ${name}`)),
    jitter: () => 0,
    ...options,
  };
}
