import * as v from "valibot";
import { readDocument } from "../../base/document/read.ts";
import { fields, plainMap, text } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { maxTagLength } from "../../fleet/reactor/events/mod.ts";
import { readConfigFile } from "../../program/config/mod.ts";

/**
 * Reads an event that a person wrote down, as JSON or YAML: `tag`, and if they matter `source`, `data`,
 * `depth` and `at`.
 *
 * @throws SvcError naming the file, and where in it something is wrong
 */
export function readEventFile(path: string): Record<string, Plain> {
  const written = readConfigFile(path);
  if (written === undefined) throw new SvcError("bad_request", `cannot read the event ${path}: no such file`);
  return readDocument(written, path, eventFile()).value;
}

function eventFile() {
  const depth = "expected a whole number from 0 on";
  const at = 'expected a time: "2026-01-31T12:00:00Z"';
  return fields(
    {
      tag: text(maxTagLength),
      source: v.exactOptional(v.string()),
      data: v.exactOptional(plainMap()),
      depth: v.exactOptional(v.pipe(v.number(depth), v.integer(depth), v.minValue(0, depth))),
      at: v.exactOptional(v.pipe(v.string(at), v.isoTimestamp(at))),
    },
    { missing: () => 'tag is missing: tag: "disk/full"' },
  );
}
