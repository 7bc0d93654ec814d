import { SvcError } from "../../base/errors.ts";
import { atLine, type TextPosition } from "../../base/place.ts";

/** Settings that cannot be compiled. The message names the file, with the line where it can, and no value. */
export class SettingsFault extends SvcError {
  /** Whether it is the tree's: then no peel's settings change. Otherwise it is one peel's alone. */
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
