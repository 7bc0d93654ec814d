import { statSync } from "node:fs";
import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";

const maxHeaders = 16;
const headerLine = /^([A-Za-z0-9-]{1,64}):[ \t]*([\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?)$/;

/**
 * Reads the headers of requests to a receiver of traces: one `name: value` on each line. Lines that begin with `#` are
 * comments. A value is a secret, and no message repeats it.
 *
 * @throws SvcError `bad_request` naming the line
 */
export function readHeaders(path: string): Record<string, string> {
  const headers: Record<string, string> = {};
  const lines = readTextFile(path, "otlp.headers_file").split(/\r?\n/);
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new SvcError(
      "bad_request",
      `otlp.headers_file: ${path} is accessible by group or others: set its mode to 0600`,
    );
  }
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new SvcError(
        "bad_request",
        `otlp.headers_file: ${path}:${at + 1}: expected a header, such as Authorization: Bearer TOKEN`,
      );
    }
    headers[name] = value;
  }
  if (Object.keys(headers).length > maxHeaders) {
    throw new SvcError("bad_request", `otlp.headers_file: ${path}: has more than ${maxHeaders} headers`);
  }
  return headers;
}

/** Reads the CA of a receiver. @throws SvcError `bad_request` */
export function readCa(path: string): string {
  const pem = readTextFile(path, "otlp.ca");
  if (pem.includes("-----BEGIN CERTIFICATE-----")) return pem;
  throw new SvcError("bad_request", `otlp.ca: ${path} has no certificate in PEM`);
}
