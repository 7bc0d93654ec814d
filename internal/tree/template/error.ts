import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";
import type { HostCall } from "./host-call.ts";

/** The error of a template that cannot be rendered, with its place. */
export class TemplateError extends SvcError {
  /** The template, or an included one. */
  readonly file: string;
  /** Counted from 1; 0 when unknown. */
  readonly line: number;
  /** Counted from 1; 0 when unknown. */
  readonly column: number;
  readonly reason: string;
  /** Requested templates that are not loaded. */
  readonly missing: readonly string[];
  /** The call of the host that the template waits for. */
  readonly wanted: HostCall | undefined;

  constructor(
    file: string,
    line: number,
    reason: string,
    options: {
      cause?: unknown;
      column?: number;
      missing?: readonly string[];
      wanted?: HostCall | undefined;
    } = {},
  ) {
    super("bad_request", `${atLine(file, line)}: ${reason}`, { cause: options.cause });
    this.file = file;
    this.line = line;
    this.column = options.column ?? 0;
    this.reason = reason;
    this.missing = options.missing ?? [];
    this.wanted = options.wanted;
  }
}
