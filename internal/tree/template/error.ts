import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";

/** The error of a template that cannot be rendered, with its place. */
export class TemplateError extends SvcError {
  /** The template, or an included one. */
  readonly file: string;
  /** Counted from 1; 0 when unknown. */
  readonly line: number;
  readonly reason: string;
  /** Requested templates that are not loaded. */
  readonly missing: readonly string[];

  constructor(
    file: string,
    line: number,
    reason: string,
    options: { cause?: unknown; missing?: readonly string[] } = {},
  ) {
    super("bad_request", `${atLine(file, line)}: ${reason}`, { cause: options.cause });
    this.file = file;
    this.line = line;
    this.reason = reason;
    this.missing = options.missing ?? [];
  }
}
