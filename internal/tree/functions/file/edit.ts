import { keepLineEnds } from "../../../base/files/line-ends.ts";
import type { ArgSpec } from "../../../host/modules/mod.ts";
import { type Plan, type StateContext, StateFailure } from "../../function/mod.ts";
import { noAttributes } from "./attributes.ts";
import { contentOf } from "./content.ts";
import { kindOf, readFixed, realPathOf, statIfPresent } from "./inspect.ts";
import { pathOf } from "./path.ts";
import { backupArg, followSymlinksArg, planFile, showChangesArg } from "./plan-file.ts";

/** Arguments of all states that edit a file. */
export const editArgs = {
  backup: backupArg,
  show_changes: showChangesArg,
  follow_symlinks: followSymlinksArg,
} as const satisfies Record<string, ArgSpec>;

interface EditWish {
  name: string;
  backup: string | undefined;
  show_changes: boolean | undefined;
  follow_symlinks: boolean | undefined;
  makedirs?: boolean | undefined;
  /** Whether the change itself looks at carriage returns; otherwise it never sees those of line ends. */
  isRaw?: boolean | undefined;
  /** What to do when the file does not exist; fails by default. */
  whenMissing?: "create" | "ignore" | undefined;
}

/** Maximum size of an edited file in bytes; several copies are held in memory. */
const maxEditBytes = 32 * 1024 * 1024;

/**
 * Plans a change of a text file. The file is rewritten as a whole and keeps its owner and mode.
 *
 * @param change returns the new text for the current text
 * @throws StateFailure when the file is missing, not text, or too large
 */
export async function planEdit(
  wish: EditWish,
  context: StateContext,
  change: (text: string) => string,
): Promise<Plan> {
  const named = pathOf(wish.name);
  const path = wish.follow_symlinks === true ? realPathOf(named) : named;
  const before = statIfPresent(path);
  if (before === undefined && wish.whenMissing !== "create") {
    if (wish.whenMissing === "ignore") return { changes: {}, comment: `${path} does not exist` };
    throw new StateFailure(`${path} does not exist`);
  }
  if (before?.isFile() === false) {
    const hint = before.isSymbolicLink() ? "; set follow_symlinks: true to edit its target" : "";
    throw new StateFailure(`${path} is a ${kindOf(path, before)}${hint}`);
  }
  if (before !== undefined && before.size > maxEditBytes) {
    throw new StateFailure(
      `${path} is larger than ${maxEditBytes / 1024 / 1024} MiB, the limit for edited files`,
    );
  }
  const text = before === undefined ? "" : textOf(readFixed(path), path);
  const edited = wish.isRaw === true ? change(text) : keepLineEnds(text, change);
  if (before !== undefined && edited === text) {
    return { changes: {}, comment: `The file ${path} is in the desired state` };
  }
  return planFile(
    {
      path,
      content: contentOf(edited),
      attributes: noAttributes,
      makedirs: wish.makedirs,
      backup: wish.backup,
      showChanges: wish.show_changes,
    },
    context,
  );
}

function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StateFailure(`${path} is not valid UTF-8 and is not edited`);
  }
}

/** Splits a text into lines, without line breaks. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Given lines without carriage returns, unless they are the first ones of a file. */
export function linesFor(text: string, lines: readonly string[]): readonly string[] {
  return text === "" ? lines : lines.map((line) => line.replace(/\r$/, ""));
}

/** Joins lines to a text that ends with a line break. */
export function textOfLines(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
