import { defined } from "../../../base/defined.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { cleanEnvironment } from "../../../base/process/environment.ts";
import { runProcess } from "../../../base/process/process.ts";
import type { ArgSpec } from "../../../host/modules/function.ts";
import { defineState } from "../../function/define.ts";
import { type StateContext, StateFailure } from "../../function/function.ts";
import { findSource, refuseSource, type Source, sourceHashArg } from "../source.ts";
import { readSourceHash } from "../source-hash.ts";
import { attributesOf, ownerArgs } from "./attributes.ts";
import { type Content, contentOf } from "./content.ts";
import { lookAt } from "./look.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { backupArg, followSymlinksArg, planFile, refuseBackup, showChangesArg } from "./plan-file.ts";

const modeArg = {
  type: "string",
  doc: "Permission bits such as 0644, or keep for 0755 when the source is executable and 0644 when it is not; those of the file that is there by default, or 0644.",
} as const satisfies ArgSpec;

export const templateArgs = {
  template: {
    type: "string",
    values: ["jinja"],
    doc: "Renders what is written, with facts, settings and the variables of context and defaults.",
  },
  context: { type: "map", doc: "Variables of the template." },
  defaults: { type: "map", doc: "Variables of the template that context may replace." },
} as const satisfies Record<string, ArgSpec>;

const contentArgs = ["source", "contents", "contents_pillar", "contents_settings"] as const;

export const fileManaged = defineState({
  name: "file.managed",
  doc: "A regular file has this content, owner and mode. It is written whole or not at all.",
  args: {
    source: {
      type: "strings",
      doc: "Where the content is: svc://path or salt://path in the files of the environment, an absolute path of this host, or https://…; of several, the first that exists.",
    },
    source_hash: sourceHashArg,
    contents: { type: "strings", doc: "The content itself; a list is one line each." },
    contents_pillar: { type: "string", doc: "The setting that holds the content, such as tls:key." },
    contents_settings: { type: "string", doc: "The same as contents_pillar." },
    contents_newline: { type: "boolean", doc: "Ends contents with a line end; true by default." },
    ...templateArgs,
    ...ownerArgs,
    mode: modeArg,
    makedirs: makedirsArg,
    dir_mode: { type: "mode", doc: "Permission bits of directories that makedirs makes; 0755 by default." },
    replace: {
      type: "boolean",
      doc: "Replaces the content of a file that is there already; true by default.",
    },
    create: { type: "boolean", doc: "Makes the file when it is not there; true by default." },
    backup: backupArg,
    show_changes: showChangesArg,
    follow_symlinks: followSymlinksArg,
    check_cmd: {
      type: "string",
      doc: "A command that gets the name of the new file added and must succeed before it takes its place, such as visudo -c -f.",
    },
    encoding: { type: "string", values: ["utf-8", "utf8"], doc: "Files are written in UTF-8." },
  },
  refuse(args) {
    const given = contentArgs.filter((name) => args[name] !== undefined);
    if (given.length > 1) return `give only one of ${given.join(", ")}`;
    return (
      refuseMode("mode", args.mode) ??
      refuseSource(args.source ?? [], args.source_hash) ??
      refuseBackup(args.backup)
    );
  },
  async plan(name, args, context) {
    const path = pathOf(name);
    if (args.create === false && lookAt(path) === undefined) {
      return { changes: {}, comment: `The file ${path} is not there, and not to be made` };
    }
    const source =
      args.source === undefined
        ? undefined
        : findSource(args.source, readSourceHash(args.source_hash), context);
    const { mode: written, ...owner } = args;
    const mode = written === "keep" ? keptMode(source) : written;
    const { template, defaults, context: variables } = args;
    const given = source?.content ?? givenContent(args, context);
    const content =
      given === undefined || template === undefined
        ? given
        : await rendered(source?.name ?? path, given, { ...defaults, ...variables }, context);
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

/** What is wrong with a mode that may be `keep`. */
export function refuseMode(name: string, mode: string | undefined): string | undefined {
  if (mode === undefined || mode === "keep" || /^[0-7]{3,4}$/.test(mode)) return undefined;
  return `${name}: expected three or four octal digits such as 0644, or keep`;
}

/** The mode that `keep` stands for. */
export function keptMode(source: Pick<Source, "executable"> | undefined): string | undefined {
  if (source === undefined) return undefined;
  return source.executable ? "0755" : "0644";
}

/** What a template makes of content. */
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
    throw new StateFailure(`${name} is no UTF-8 text, and cannot be a template`);
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
        ? `there is no setting ${setting}`
        : `the setting ${setting} is neither a text nor a list of texts`,
    );
  }
  return { ...contentOf(textOf(lines, contents_newline)), secret: true };
}

/** One text is the content as it is; several are lines. */
function textOf(lines: readonly (string | number)[], newline: boolean): string {
  const text = lines.join("\n");
  return !newline || text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

const checkTimeoutMs = 60_000;
const checkOutputBytes = 4 * 1024;

function checkWith(command: string, { clock, signal }: StateContext): (file: string) => Promise<void> {
  return async (file) => {
    const { code, stdout, stderr } = await runProcess({
      argv: ["/bin/sh", "-c", `${command} "$0"`, file],
      env: cleanEnvironment(undefined),
      cwd: "/",
      timeoutMs: checkTimeoutMs,
      outputLimit: checkOutputBytes,
      clock,
      signal,
    });
    if (code === 0) return;
    const said = stderr.text.trim() || stdout.text.trim();
    throw new StateFailure(
      `check_cmd refuses the new file: ${command} ended with ${code}${said === "" ? "" : `: ${said}`}`,
    );
  };
}
