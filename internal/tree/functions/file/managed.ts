import { defined } from "../../../base/defined.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { defineState, maxDiffInput, type StateContext, StateFailure } from "../../function/mod.ts";
import { findHash } from "../sources/find-hash.ts";
import { findSource, refuseSource, type Source } from "../sources/source.ts";
import { sourceHashArgs, warnOfHash } from "../sources/source-hash.ts";
import { fileVariables } from "../sources/template-variables.ts";
import { attributesOf, ownerArgs } from "./attributes.ts";
import { checkArg, checkWith } from "./check-command.ts";
import { type Content, contentOf, readOnce } from "./content.ts";
import { statIfPresent } from "./inspect.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { backupArg, followSymlinksArg, planFile, refuseBackup, showChangesArg } from "./plan-file.ts";

const modeArg = arg.string(
  "Permission bits such as 0644, or keep for 0755 if the source is executable and 0644 otherwise. By default those of the existing file, or 0644.",
);

export const templateArgs = {
  template: arg.string(
    "Renders the content with facts, settings and the variables of context and defaults.",
    { values: ["jinja"] },
  ),
  context: arg.map("Variables of the template."),
  defaults: arg.map("Variables of the template that context can override."),
} as const satisfies Record<string, ArgSpec>;

const contentArgs = ["source", "contents", "contents_pillar", "contents_settings"] as const;

export const fileManaged = defineState({
  name: "file.managed",
  doc: "Ensures that a regular file has this content, owner and mode. The file is written atomically.",
  args: {
    source: arg.strings(
      "Source of the content: svc://path or salt://path in the files of the environment, an absolute path on this host, or https://…. In a list, the first source that exists is used.",
    ),
    ...sourceHashArgs,
    contents: arg.strings("The content; a list has one line per item."),
    contents_pillar: arg.string("Name of the setting with the content, such as tls:key."),
    contents_settings: arg.string("Alias of contents_pillar."),
    contents_newline: arg.boolean("Adds a final line break to contents; true by default."),
    ...templateArgs,
    ...ownerArgs,
    mode: modeArg,
    makedirs: makedirsArg,
    dir_mode: arg.mode("Permission bits of directories created by makedirs; 0755 by default."),
    replace: arg.boolean("Replaces the content of an existing file; true by default."),
    create: arg.boolean("Creates the file if it does not exist; true by default."),
    backup: backupArg,
    show_changes: showChangesArg,
    follow_symlinks: followSymlinksArg,
    check_cmd: checkArg,
    encoding: arg.string("Encoding; files are always written in UTF-8.", { values: ["utf-8", "utf8"] }),
  },
  refuse(args) {
    const given = contentArgs.filter((name) => args[name] !== undefined);
    if (given.length > 1) return `give only one of ${given.join(", ")}`;
    return (
      refuseMode("mode", args.mode) ??
      refuseSource(args.source ?? [], args.source_hash, args.skip_verify) ??
      refuseBackup(args.backup)
    );
  },
  warn: warnOfHash,
  async plan(name, args, context) {
    const path = pathOf(name);
    const isNew = statIfPresent(path) === undefined;
    if (args.create === false && isNew) {
      return { changes: {}, comment: `The file ${path} does not exist and is not created` };
    }
    const source = args.source === undefined ? undefined : await sourceOf(args.source, args, isNew, context);
    const { mode: written, ...owner } = args;
    const mode = written === "keep" ? keptMode(source) : written;
    const { template, defaults, context: variables } = args;
    const given = source === undefined ? givenContent(args, context) : readOnce(source.content, maxDiffInput);
    const content =
      given === undefined || template === undefined
        ? given
        : await rendered(
            source?.name ?? path,
            given,
            { ...fileVariables(name, source?.name, args, context), ...defaults, ...variables },
            context,
          );
    return planFile(
      {
        path,
        content,
        attributes: await attributesOf({ ...owner, mode }, context),
        makedirs: args.makedirs,
        dirMode: args.dir_mode,
        followSymlinks: args.follow_symlinks,
        backup: args.backup,
        showChanges: args.show_changes,
        check: args.check_cmd === undefined ? undefined : checkWith(args.check_cmd, context),
        keepContent: args.replace === false,
      },
      context,
    );
  },
});

/**
 * Finds the source. A digest on a server is fetched only to compare it with a file that exists: a test run then
 * says what it would do also where an earlier state gives the host its network.
 */
async function sourceOf(
  names: readonly string[],
  args: {
    source_hash: string | undefined;
    source_hash_name: string | undefined;
    skip_verify: boolean | undefined;
  },
  isNew: boolean,
  context: StateContext,
): Promise<Source> {
  const isLater = isNew && args.source_hash?.startsWith("https://") === true;
  if (!isLater) return findSource(names, await findHash(args, names, context), context);
  const found = findSource(names, undefined, context);
  const bytes = async () =>
    findSource([found.name], await findHash(args, names, context), context).content.bytes();
  return { ...found, content: { size: undefined, bytes } };
}

/** The problem with a mode that may be `keep`, if any. */
export function refuseMode(name: string, mode: string | undefined): string | undefined {
  if (mode === undefined || mode === "keep" || /^[0-7]{3,4}$/.test(mode)) return undefined;
  return `${name}: expected three or four octal digits such as 0644, or keep`;
}

/** The mode for `keep`. */
export function keptMode(source: Pick<Source, "executable"> | undefined): string | undefined {
  if (source === undefined) return undefined;
  return source.executable ? "0755" : "0644";
}

/** Renders content as a template. */
export async function rendered(
  name: string,
  content: Content,
  variables: Readonly<Record<string, Plain>>,
  context: StateContext,
): Promise<Content> {
  const text = utf8(await content.bytes(), name);
  const output = await context.render({ name, text }, variables);
  return { ...contentOf(output), ...defined({ secret: content.secret }) };
}

function utf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StateFailure(`${name} is not valid UTF-8 and cannot be a template`);
  }
}

interface ContentArgs {
  contents: string[] | undefined;
  contents_pillar: string | undefined;
  contents_settings: string | undefined;
  contents_newline: boolean | undefined;
}

function givenContent(args: ContentArgs, context: StateContext): Content | undefined {
  const { contents, contents_newline = true } = args;
  if (contents !== undefined) return contentOf(textOf(contents, contents_newline));
  const setting = args.contents_pillar ?? args.contents_settings;
  if (setting === undefined) return undefined;
  const value = context.settings.get(setting);
  const lines = Array.isArray(value) ? value : [value];
  if (value instanceof Uint8Array) return { ...contentOf(value), secret: true };
  if (!lines.every((line) => typeof line === "string" || typeof line === "number")) {
    throw new StateFailure(
      value === undefined
        ? `setting ${setting} does not exist`
        : `the setting ${setting} is neither a string nor a list of strings`,
    );
  }
  return { ...contentOf(textOf(lines, contents_newline)), secret: true };
}

/** One string is the content itself; several are lines. */
function textOf(lines: readonly (string | number)[], newline: boolean): string {
  const text = lines.join("\n");
  return !newline || text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
