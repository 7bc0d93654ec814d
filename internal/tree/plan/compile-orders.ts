import type { FileSource } from "../files/mod.ts";
import { StateErrors, type StateProblem } from "../function/mod.ts";
import { type CompiledStates, compileStates } from "../language/mod.ts";
import { type Compat, createTemplates, type Templates } from "../template/mod.ts";
import { contentsOf } from "./contents.ts";
import { createInterning, type Interning } from "./interning.ts";
import { createMemo } from "./memo.ts";
import type { FileUse, Order } from "./order.ts";
import { createViews, type Subject, type View } from "./subject.ts";
import { unknownHost } from "./unknown-host.ts";
import { createWatch, type Noticed, readsOf } from "./watch.ts";

/** Compiles what would be ordered for many peels from the same files. Peels with equal inputs are compiled once. */
export interface Orders {
  /** @throws SvcError when a file cannot be read */
  of(subject: Subject): Promise<Order>;
  /** How often files were compiled. */
  readonly compiled: number;
}

export interface OrdersOptions {
  files: FileSource;
  /** How state files are read. */
  compat: Compat;
  /** Shared by the two sides of a plan. */
  interning?: Interning;
  templates?: Templates;
}

const maxOrders = 2_048;

export function createOrders(options: OrdersOptions): Orders {
  const { interning = createInterning(), templates = createTemplates() } = options;
  const files = readOnce(options.files);
  const memo = createMemo<Order>(maxOrders);
  const viewOf = createViews();
  return {
    get compiled() {
      return memo.size;
    },
    async of(subject) {
      const view = viewOf(subject);
      const found = memo.find(view);
      if (found !== undefined) return found;
      const { watch, noticed } = createWatch(view);
      const order = await compileOne(view, { ...options, files, interning, templates }, { watch, noticed });
      memo.add(view, order.questions, order);
      return order;
    },
  };
}

interface Watching {
  watch: ReturnType<typeof createWatch>["watch"];
  noticed: Noticed;
}

async function compileOne(
  view: View,
  { files: source, compat, interning, templates }: Required<OrdersOptions>,
  { watch, noticed }: Watching,
): Promise<Order> {
  const calls = new Set<string>();
  const loads = new Map<string, Map<string, string | undefined>>();
  const files = watchFiles(source, () => noticed.file, loads);
  const { peelId, facts, labels, settings, shownSettings } = view.subject;
  const host = unknownHost((name) => calls.add(`${noticed.file}: ${name}`));
  const found = await compiledOr(() =>
    compileStates(
      { files, templates, facts, labels, settings, shownSettings, compat, host, peelId, watch },
      "highstate",
    ),
  );
  const compiled = "problems" in found ? undefined : found;
  const secretChoices = [...noticed.secretChoices];
  const unknown = [
    ...[...calls].map((call) => `${call} is known only on the host`),
    ...secretChoices.map((file) => `${file} depends on a secret`),
  ].sort();
  const problems = "problems" in found && calls.size === 0 ? found.problems : [];
  const from = (path: string) => {
    watch.enter(path);
    const own = loads.get(path) ?? new Map<string, string | undefined>();
    loads.set(path, own);
    return own;
  };
  const contents =
    compiled === undefined
      ? { contents: [], questions: [], files: [] }
      : await contentsOf(compiled, view, from);
  const questions = [...noticed.questions, ...contents.questions];
  const uses = new Map([...usesOf(noticed, loads), ...contents.files]);
  const isShown = compiled !== undefined && unknown.length === 0;
  return {
    ...(isShown ? interning.take(compiled.states, contents.contents) : { states: [], targets: [] }),
    ...{ problems, unknown, questions, reads: readsOf(questions), files: uses },
  };
}

async function compiledOr(
  compile: () => Promise<CompiledStates>,
): Promise<CompiledStates | { problems: readonly StateProblem[] }> {
  try {
    return await compile();
  } catch (thrown) {
    if (thrown instanceof StateErrors) return { problems: thrown.problems };
    throw thrown;
  }
}

/** Notes which files are read for which rendered file. */
function watchFiles(
  files: FileSource,
  current: () => string,
  loads: Map<string, Map<string, string | undefined>>,
): FileSource {
  const note = (path: string) => {
    const stat = files.stat(path);
    const own = loads.get(current()) ?? new Map<string, string | undefined>();
    loads.set(current(), own.set(path, stat?.digest));
    return stat;
  };
  return {
    ...files,
    stat: note,
    read(path) {
      note(path);
      return files.read(path);
    },
  };
}

function usesOf(
  noticed: Noticed,
  loads: ReadonlyMap<string, ReadonlyMap<string, string | undefined>>,
): Map<string, FileUse> {
  const { byFile } = noticed;
  const none: FileUse = { loads: new Map(), questions: [] };
  return new Map(
    [...new Set([...loads.keys(), ...byFile.keys()])].map((path) => [
      path,
      { loads: loads.get(path) ?? none.loads, questions: byFile.get(path) ?? none.questions },
    ]),
  );
}

/** Bytes of files that are not read again for each peel. */
const maxRead = 64 * 1024 * 1024;

/** Keeps the files that were read, as every kind of peels reads nearly the same ones. */
export function readOnce(files: FileSource): FileSource {
  const known = new Map<string, Uint8Array>();
  let bytes = 0;
  return {
    ...files,
    async read(path) {
      const found = known.get(path);
      if (found !== undefined) return found;
      const content = await files.read(path);
      bytes += content.length;
      if (bytes <= maxRead) known.set(path, content);
      return content;
    },
  };
}
