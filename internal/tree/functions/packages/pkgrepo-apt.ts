import { posix } from "node:path";
import { beginningOf, quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import {
  formatRepository,
  formatStanza,
  fulfills,
  overlaps,
  packagesOf,
  parseRepository,
  type Repository,
  replaceStanza,
  stanzasOf,
  withComponentsOf,
  withoutComponentsOf,
} from "../../../host/system/packages/mod.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import { describeChange, type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { planSteps, type Step, says, unchanged } from "../steps.ts";
import { hasKey, type KeyArgs, keyFileOf, planKey } from "./pkgrepo-key.ts";

const mainFile = "/etc/apt/sources.list";
const directory = "/etc/apt/sources.list.d";

interface Wish extends KeyArgs {
  name: string;
  ppa: string | undefined;
  file: string | undefined;
  clean_file: boolean | undefined;
  dist: string | undefined;
  comps: Plain | undefined;
  architectures: Plain | undefined;
  comments: readonly string[] | undefined;
  enabled: boolean;
  refresh: boolean;
}

/** Plans a repository of apt: its line or paragraph, its key, and a refresh of the package lists. */
export async function planAptManaged(wish: Wish, context: StateContext): Promise<Plan> {
  const system = systemOf(context);
  const written = wantedOf(wish, context);
  const file = wish.file ?? (wish.ppa === undefined ? mainFile : ppaFile(wish.ppa, context));
  if (!/\.(?:list|sources)$/.test(file))
    throw new StateFailure("file: expected a path that ends with .list or .sources");
  const keyFile =
    written.options.get("signed-by") ?? keyFileOf(wish, posix.basename(file).replace(/\.[a-z]+$/, ""));
  // What its own key signs, no other key may sign.
  const options = new Map(written.options);
  if (hasKey(wish) && wish.aptkey === false) options.set("signed-by", keyFile);
  const wanted = { ...written, options };
  const steps: Step[] = [];
  if (hasKey(wish)) {
    if (!keyFile.startsWith("/"))
      throw new StateFailure(`signed-by: expected the path of a file, got ${beginningOf(keyFile, 80)}`);
    const key = await planKey(wish, keyFile, system, context);
    if (key !== undefined) steps.push(key);
  }
  const texts = withRepository(textsOf(system, file), wanted, file, wish);
  for (const [path, text] of texts) {
    const before = system.read(path);
    if (text === (before ?? "")) continue;
    const diff = await describeChange(
      path,
      before === undefined ? undefined : Buffer.from(before),
      Buffer.from(text),
    );
    steps.push({
      changes: { [path]: { ...(before === undefined ? { created: true } : {}), diff } },
      run() {
        system.makeDirectories(posix.dirname(path));
        system.write(path, text);
      },
    });
  }
  const shown = formatRepository(wanted);
  if (steps.length > 0 && wish.refresh) steps.push(refreshing(system));
  return planSteps(
    steps,
    says(`the repository ${shown}`, "configured", `the repository ${shown} is configured`),
  );
}

/** Plans the removal of a repository of apt from all files. A file that would be empty is removed. */
export async function planAptAbsent(
  name: string,
  ppa: string | undefined,
  refresh: boolean,
  context: StateContext,
): Promise<Plan> {
  const system = systemOf(context);
  const unwanted = ppa === undefined ? readName(name) : ppaRepository(ppa, context);
  const steps: Step[] = [];
  for (const [path, before] of textsOf(system, mainFile)) {
    const after = path.endsWith(".sources")
      ? withoutStanza(before, unwanted, path)
      : withoutLine(before, unwanted);
    if (after === before) continue;
    const isEmpty = after.trim() === "" && path !== mainFile;
    const diff = await describeChange(path, Buffer.from(before), Buffer.from(after));
    steps.push({
      changes: { [path]: { ...(isEmpty ? { removed: true } : {}), diff } },
      run: () => (isEmpty ? system.remove(path) : system.write(path, after)),
    });
  }
  if (steps.length === 0) return unchanged(`the repository ${formatRepository(unwanted)} does not exist`);
  return planSteps(
    refresh ? [...steps, refreshing(system)] : steps,
    says(`the repository ${formatRepository(unwanted)}`, "removed"),
  );
}

function refreshing(system: System): Step {
  return { changes: {}, run: () => packagesOf(system).refresh() };
}

/** The text of each file that apt reads, by path, and of the file of the state. */
function textsOf(system: System, file: string): Map<string, string> {
  const names = system.list(directory).filter((name) => /^[A-Za-z0-9._-]+\.(?:list|sources)$/.test(name));
  const paths = new Set([mainFile, ...names.map((name) => `${directory}/${name}`), file]);
  return new Map([...paths].map((path) => [path, system.read(path) ?? ""]));
}

/** @throws StateFailure when it is not the line of a repository */
function readName(name: string): Repository {
  const found = parseRepository(name);
  if (found !== undefined) return found;
  throw new StateFailure(
    `name: expected the line of a repository, such as deb https://example.com/debian bookworm main, got ${quote(name, 200)}`,
  );
}

function wantedOf(wish: Wish, context: StateContext): Repository {
  const { name, ppa, dist, comps, architectures, signedby, enabled } = wish;
  const named = ppa === undefined ? readName(withDefaults(name, dist, comps)) : ppaRepository(ppa, context);
  const options = new Map(named.options);
  const arches = words(architectures);
  if (arches.length > 0) options.set("arch", arches.join(","));
  if (signedby !== undefined) options.set("signed-by", signedby);
  const components = words(comps);
  const found = {
    ...named,
    options,
    suite: dist ?? named.suite,
    components: components.length > 0 ? components : named.components,
    disabled: named.disabled || !enabled,
  };
  for (const each of [found.suite, ...found.components, ...options.values()]) {
    if (/[\s\]#]/.test(each)) throw new StateFailure(`${quote(each)} must not contain white space, ] or #`);
  }
  return found;
}

/** A line may leave out what other arguments give. */
function withDefaults(name: string, dist: string | undefined, comps: Plain | undefined): string {
  if (parseRepository(name) !== undefined) return name;
  const rest = `${dist ?? ""} ${words(comps).join(" ")}`.trim();
  return (
    [`${name} ${rest}`, `${name} ${words(comps).join(" ")}`].find(
      (each) => parseRepository(each) !== undefined,
    ) ?? name
  );
}

function words(value: Plain | undefined): string[] {
  if (value === undefined || value === null) return [];
  const items = Array.isArray(value) ? value : String(value).split(",");
  return items.map((each) => String(each).trim()).filter((each) => each !== "");
}

function ppaRepository(ppa: string, { facts }: StateContext): Repository {
  const [, user, archive] = /^([a-z0-9][a-z0-9+.-]*)\/([a-z0-9][a-z0-9+.-]*)$/i.exec(ppa) ?? [];
  if (user === undefined) throw new StateFailure("ppa: expected user/archive");
  const suite = facts.get("oscodename") ?? facts.get("lsb_distrib_codename");
  if (facts.get("os") !== "Ubuntu" || typeof suite !== "string") {
    throw new StateFailure(
      "ppa: repositories of Launchpad are for Ubuntu; give the line of the repository as name",
    );
  }
  return {
    type: "deb",
    options: new Map(),
    uri: `https://ppa.launchpadcontent.net/${user}/${archive}/ubuntu`,
    suite,
    components: ["main"],
    disabled: false,
  };
}

function ppaFile(ppa: string, { facts }: StateContext): string {
  return `${directory}/${ppa.replace("/", "-ubuntu-")}-${facts.get("oscodename") ?? ""}.list`;
}

/** The texts of files with the repository in one of them: where it is already, or in the file of the state. */
function withRepository(
  texts: ReadonlyMap<string, string>,
  wanted: Repository,
  file: string,
  { clean_file: clean, comments = [] }: Wish,
): Map<string, string> {
  const changed = new Map<string, string>();
  let isThere = false;
  for (const [path, text] of texts) {
    const edited = path.endsWith(".sources") ? editStanzas(text, wanted, path) : editLines(text, wanted);
    if (edited === undefined) continue;
    isThere = true;
    changed.set(path, edited);
  }
  const text = texts.get(file) ?? "";
  const isNew = !isThere;
  // Only a change cleans the file, so that several states of one file do not undo each other in each run.
  if (clean === true && (isNew || (changed.has(file) && changed.get(file) !== text))) {
    changed.set(file, entryOf(wanted, file, comments));
  } else if (isNew) {
    const apart = text === "" ? "" : `${text.trimEnd()}\n${file.endsWith(".sources") ? "\n" : ""}`;
    changed.set(file, `${apart}${entryOf(wanted, file, comments)}`);
  }
  return changed;
}

function entryOf(wanted: Repository, file: string, comments: readonly string[]): string {
  const above = comments.flatMap((each) => each.split("\n")).map((each) => `# ${each}\n`);
  return `${above.join("")}${file.endsWith(".sources") ? formatStanza(wanted) : formatRepository(wanted)}\n`;
}

/** @returns `undefined` when no line is about the repository */
function editLines(text: string, wanted: Repository): string | undefined {
  let isThere = false;
  const lines = text.split("\n").flatMap((line) => {
    const found = parseRepository(line);
    if (found === undefined || !overlaps(found, wanted)) return [line];
    // A line behind # may be a comment; it counts only when nothing else is there.
    if (found.disabled && !wanted.disabled) return [line];
    if (isThere) return isCovered(found, wanted) ? [] : [line];
    isThere = true;
    return [fulfills(found, wanted) ? line : formatRepository(withComponentsOf(found, wanted))];
  });
  return isThere ? lines.join("\n") : undefined;
}

/** Whether a second line about the repository says nothing that is not wanted anyway. */
function isCovered({ components }: Repository, wanted: Repository): boolean {
  return components.every((each) => wanted.components.includes(each));
}

function editStanzas(text: string, wanted: Repository, path: string): string | undefined {
  const [first, ...more] = stanzasOf(text, wanted);
  if (first === undefined) return undefined;
  if (fulfills(first.found, wanted)) return text;
  if (!first.alone || more.length > 0) {
    throw new StateFailure(
      `${path} has ${wanted.uri} ${wanted.suite} in other words, together with others; change it with file.managed`,
    );
  }
  return replaceStanza(text, first.stanza, formatStanza(withComponentsOf(first.found, wanted)));
}

function withoutLine(text: string, unwanted: Repository): string {
  const lines = text.split("\n").flatMap((line) => {
    const found = parseRepository(line);
    if (found === undefined || found.disabled || !overlaps(found, unwanted)) return [line];
    const left = withoutComponentsOf(found, unwanted);
    return left === undefined ? [] : [formatRepository(left)];
  });
  return lines.join("\n");
}

function withoutStanza(text: string, unwanted: Repository, path: string): string {
  let rest = text;
  for (;;) {
    const [first] = stanzasOf(rest, unwanted);
    if (first === undefined) return rest;
    if (!first.alone) {
      throw new StateFailure(
        `${path} has ${unwanted.uri} ${unwanted.suite} together with others; change it with file.managed`,
      );
    }
    const left = withoutComponentsOf(first.found, unwanted);
    rest = replaceStanza(rest, first.stanza, left === undefined ? undefined : formatStanza(left));
  }
}
