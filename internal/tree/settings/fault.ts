import { SvcError } from "../../base/errors.ts";
import { atLine, type TextPosition } from "../../base/place.ts";

/**
 * The error of settings that cannot be compiled. The message names the file and, if known, the line, but
 * never a value.
 */
export class SettingsFault extends SvcError {
  /** Whether the whole tree is affected, so that no settings change. Otherwise only one peel is affected. */
  readonly wholeTree: boolean;

  constructor(message: string, options: { wholeTree?: boolean; cause?: unknown } = {}) {
    super("bad_request", message, { cause: options.cause });
    this.wholeTree = options.wholeTree ?? false;
  }
}

/** The fault at a line of a file. */
export function faultAt(label: string, { line }: TextPosition, reason: string): SettingsFault {
  return new SettingsFault(`${atLine(label, line)}: ${reason}`);
}
