import { SvcError } from "../../base/errors.ts";

/**
 * Reads the value of an option; a mistake is reported with the name of the option.
 *
 * @param flag `--validity`
 * @throws SvcError `usage`
 */
export function readFlag<T>(flag: string, text: string, read: (text: string) => T): T {
  try {
    return read(text);
  } catch (cause) {
    if (!(cause instanceof SvcError)) throw cause;
    throw new SvcError("usage", `${flag}: ${cause.message}`);
  }
}

/** Reads a list with commas between its items; absent is empty. @throws SvcError `usage` */
export function readListFlag<T>(flag: string, text: string | undefined, read: (item: string) => T): T[] {
  return (text?.split(",") ?? []).map((item) => readFlag(flag, item.trim(), read));
}
