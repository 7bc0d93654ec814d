import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";

/** A template that cannot be rendered, with the place in it. */
export class TemplateError extends SvcError {
  /** The template, or the one it includes. */
  readonly file: string;
  /** Counted from 1; 0 when it is not known. */
  readonly line: number;
  readonly reason: string;
  /** Templates that were asked for and are not known. */
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

/** What the engine tells of a failure. */
export interface EngineFailure {
  /** `undefined value`, `syntax error`, `template not found`, … */
  kind: string;
  detail: string;
  file: string;
  line: number;
  /** The part of the line that is meant, counted from 0. */
  span: { from: number; length: number } | undefined;
}

/**
 * Reads the engine's message. Only its first line and the marker count: the rest shows the values of
 * variables, and those may be secrets.
 */
export function readFailure(message: string, name: string): EngineFailure {
  const [first = ""] = message.split("\n", 1);
  const [, what = first, file = name, line = "0"] = /^(.*) \(in (.*):(\d+)\)$/.exec(first) ?? [];
  const [, kind = what, detail = ""] = /^([a-z ]+): (.*)$/.exec(what) ?? [];
  const [, before, marker] = /^ {5}i ( *)(\^+)/m.exec(message) ?? [];
  const span = marker === undefined ? undefined : { from: before?.length ?? 0, length: marker.length };
  return { kind, detail, file, line: Number(line), span };
}

/** The failure in words for people. */
export function explain({ kind, detail, span }: EngineFailure, sourceLine: string): string {
  switch (kind) {
    case "undefined value":
      return `undefined: ${expressionAt(sourceLine, span)}`;
    case "engine ran out of fuel":
      return "the template does more than is allowed: is there a loop that is too long?";
    default:
      return detail === "" ? kind : `${kind}: ${detail}`;
  }
}

/** What the marker points at, with what it is taken from: the marker of `a.b` covers `.b` alone. */
function expressionAt(line: string, span: EngineFailure["span"]): string {
  if (span === undefined) return line.trim().slice(0, 80);
  const [before = ""] = /[\w.[\]'"-]*$/.exec(line.slice(0, span.from)) ?? [];
  const marked = line.slice(span.from, span.from + span.length);
  return `${before}${marked}`.replace(/^\.|\.$/g, "").slice(0, 80);
}
