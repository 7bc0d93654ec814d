import { SvcError } from "../../base/errors.ts";

/** Settings that cannot be compiled. The message names the file, with the line where it can, and no value. */
export class SettingsFault extends SvcError {
  /** Whether it is the tree's: then no peel's settings change. Otherwise it is one peel's alone. */
  readonly wholeTree: boolean;

  constructor(message: string, options: { wholeTree?: boolean; cause?: unknown } = {}) {
    super("bad_request", message, { cause: options.cause });
    this.wholeTree = options.wholeTree ?? false;
  }
}
