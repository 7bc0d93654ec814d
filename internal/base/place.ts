import { SvcError } from "./errors.ts";

/** A place in a text; both count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/**
 * How messages name a line: `<file>:<line>`, or the file alone when the line is not known or 0. With a column that is
 * known, `<file>:<line>:<column>`.
 */
export function atLine(file: string, line: number | undefined, column = 0): string {
  if (line === undefined || line === 0) return file;
  return column === 0 ? `${file}:${line}` : atColumn(file, { line, column });
}

/** How messages name a place exactly: `<file>:<line>:<column>`. */
export function atColumn(file: string, { line, column }: TextPosition): string {
  return `${file}:${line}:${column}`;
}

/** The error for a place of a file: `bad_request` with `<file>:<line>:<column>: <reason>`. */
export function fileError(file: string, at: TextPosition, reason: string): SvcError {
  return new SvcError("bad_request", `${atColumn(file, at)}: ${reason}`);
}
