import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { isMap } from "../../base/plain-map.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { FileSource } from "../files/mod.ts";
import type { LowState } from "../function/mod.ts";
import { treePath } from "../functions/mod.ts";
import type { CompiledStates } from "../language/mod.ts";
import type { FileUse } from "./order.ts";
import { type Question, readingOf } from "./question.ts";
import type { View } from "./subject.ts";
import { createWatch } from "./watch.ts";

/** Digests of what the content of a state rests on, by argument: files of the tree, and settings. */
export type Contents = Readonly<Record<string, string>>;

/** What the contents of ordered states rest on. */
export interface FoundContents {
  /** Of each state. */
  readonly contents: readonly Contents[];
  /** The settings that templates of files read. What they read of facts differs from host to host, and not by a change. */
  readonly questions: readonly Question[];
  /** The files that templates of files load, by path of the template. */
  readonly files: ReadonlyMap<string, FileUse>;
}

/** Arguments that name files of the tree. */
const ofFiles = ["source", "source_hash", "key_url"] as const;
/** Arguments that name a setting with the content. */
const ofSettings = ["contents_pillar", "contents_settings"] as const;

/**
 * Finds what states write, as far as files and settings say: a state whose template reads another setting is another
 * order, though its arguments are the same.
 */
export async function contentsOf(
  compiled: CompiledStates,
  view: View,
  loadsFrom: LoadsFrom,
): Promise<FoundContents> {
  const questions = new Map<string, Question>();
  const files = new Map<string, FileUse>();
  const finding = { compiled, view, questions, files, loadsFrom };
  const contents: Contents[] = [];
  for (const state of compiled.states) contents.push(await contentOf(state, finding));
  return { contents, questions: [...questions.values()], files };
}

/** From now on it is this file that others are loaded for. @returns the digests of those that are */
type LoadsFrom = (path: string) => ReadonlyMap<string, string | undefined>;

interface Finding {
  loadsFrom: LoadsFrom;
  compiled: CompiledStates;
  view: View;
  questions: Map<string, Question>;
  files: Map<string, FileUse>;
}

async function contentOf(state: LowState, finding: Finding): Promise<Contents> {
  const { compiled, view, questions } = finding;
  const { files } = compiled;
  const contents: Record<string, string> = {};
  for (const argument of ofFiles) {
    const path = pathsOf(state.args[argument]).find((each) => files.stat(each) !== undefined);
    if (path === undefined) continue;
    const isTemplate = argument === "source" && state.args.template !== undefined;
    contents[argument] = isTemplate
      ? await templateDigest(path, state, finding)
      : (files.stat(path)?.digest ?? "");
  }
  const directory = directoryOf(state, files);
  if (directory !== undefined) contents.source = directory;
  for (const argument of ofSettings) {
    const name = state.args[argument];
    if (typeof name !== "string") continue;
    const question = readingOf("settings", name.split(":"), "entries");
    questions.set(question.key, question);
    contents[argument] = digestOf(view.answer(question));
  }
  return contents;
}

const pathsOf = (argument: Plain | undefined): string[] =>
  (Array.isArray(argument) ? argument : [argument ?? null]).flatMap((each) =>
    typeof each === "string" ? (treePath(each) ?? []) : [],
  );

/** What a template loads, and the settings that it reads. */
async function templateDigest(
  path: string,
  { args, name }: LowState,
  { compiled, view, questions, files, loadsFrom }: Finding,
): Promise<string> {
  const { watch, noticed } = createWatch(view);
  const loads = loadsFrom(path);
  compiled.files.stat(path);
  const variables = { name, ...mapOf(args.defaults), ...mapOf(args.context) };
  // What only the host knows of the file is not defined here.
  const scope = { ...compiled.scope, compat: "salt" as const, watch, onUndefined: () => {} };
  try {
    const text = Buffer.from(await compiled.files.read(path)).toString();
    await compiled.renderer.render({ name: path, text }, scope, variables);
  } catch (thrown) {
    // A run says what is wrong with it; what it read until then counts.
    if (!(thrown instanceof SvcError)) throw thrown;
  }
  const own = noticed.questions.filter((each) => each.kind === "read" && each.table === "settings");
  for (const question of own) questions.set(question.key, question);
  files.set(path, { loads, questions: own });
  const answers = own.map((question) => [question.key, view.answer(question)]);
  return digestOf(JSON.stringify([[...loads].sort(), answers]));
}

/** The files below the directory of `file.recurse`. */
function directoryOf({ function: called, args }: LowState, files: FileSource): string | undefined {
  if (called !== "file.recurse") return undefined;
  const [path] = pathsOf(args.source);
  if (path === undefined) return undefined;
  const below = files.list(path.replace(/\/+$/, ""));
  return digestOf(below.map((each) => `${each}\0${files.stat(each)?.digest ?? ""}`).join("\n"));
}

const mapOf = (value: Plain | undefined): Record<string, Plain> =>
  isMap(value) ? (value as Record<string, Plain>) : {};

const digestOf = (text: string): string => sha256Hex(Buffer.from(text));
