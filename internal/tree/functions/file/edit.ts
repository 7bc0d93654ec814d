import type { ArgSpec } from "../../../host/modules/function.ts";
import { type Plan, type StateContext, StateFailure } from "../../function/function.ts";
import { noAttributes } from "./attributes.ts";
import { contentOf } from "./content.ts";
import { kindOf, lookAt, readRegular, realPathOf } from "./look.ts";
import { pathOf } from "./path.ts";
import { backupArg, followSymlinksArg, planFile, showChangesArg } from "./plan-file.ts";

/** Arguments of every state that edits a file. */
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
  /** What is done when there is no such file; it fails by default. */
  whenMissing?: "create" | "ignore" | undefined;
}

/** A file that is edited as text is held in memory, more than once. */
const maxEditBytes = 32 * 1024 * 1024;

/**
 * Plans a change of a text file. It is written anew as a whole and keeps its owner and mode.
 *
 * @param change the text as it is to be, of the text as it is
 * @throws StateFailure when the file is missing, no text, or too large
 */
export async function planEdit(
  wish: EditWish,
  context: StateContext,
  change: (text: string) => string,
): Promise<Plan> {
  const named = pathOf(wish.name);
  const path = wish.follow_symlinks === true ? realPathOf(named) : named;
  const before = lookAt(path);
  if (before === undefined && wish.whenMissing !== "create") {
    if (wish.whenMissing === "ignore") return { changes: {}, comment: `${path} is not there` };
    throw new StateFailure(`${path} is not there`);
  }
  if (before?.isFile() === false) {
    const hint = before.isSymbolicLink() ? ": follow_symlinks: true goes to what it leads to" : "";
    throw new StateFailure(`${path} is a ${kindOf(path, before)}${hint}`);
  }
  if (before !== undefined && before.size > maxEditBytes) {
    throw new StateFailure(
      `${path} is larger than ${maxEditBytes / 1024 / 1024} MiB, too large to be edited`,
    );
  }
  const text = before === undefined ? "" : textOf(readRegular(path), path);
  const edited = change(text);
  if (before !== undefined && edited === text) {
    return { changes: {}, comment: `The file ${path} is as described` };
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
    throw new StateFailure(`${path} is no UTF-8 text, and is not edited`);
  }
}

/** The lines of a text, without what ends them, and whether the last one is ended. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Lines as a text whose last line is ended. */
export function textOfLines(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}
