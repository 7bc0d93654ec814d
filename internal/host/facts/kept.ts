import { SvcError } from "../../base/errors.ts";
import { isErrno, reasonOf, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Plain } from "../../base/msgpack.ts";
import { formatYaml } from "../../base/yaml/yaml.ts";
import { checkFact, type Facts } from "./fact.ts";
import { parseFacts } from "./parse.ts";
import { readFactText } from "./read-text.ts";

/**
 * Reads the facts that were set on this peel from its `facts.yaml`.
 *
 * @throws SvcError `bad_request` when the file cannot be read or has invalid content
 */
export function readKeptFacts(file: string): Facts {
  let text = "";
  try {
    text = readFactText(file);
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    if (!isErrno(cause, "ENOENT"))
      throw new SvcError("bad_request", `cannot read ${file}: ${reasonOf(cause)}`, { cause });
  }
  const { facts, refused } = parseFacts(text, file);
  if (refused[0] !== undefined) throw new SvcError("bad_request", `${file}: ${refused[0]}`);
  return facts;
}

/**
 * Returns the stored facts with one fact set, or removed when the value is null.
 *
 * @throws SvcError `bad_request` for an invalid name or value
 */
export function withFact(facts: Facts, name: string, value: Plain): Facts {
  const checked = checkFact(name, value);
  const { [name]: _, ...rest } = facts;
  return checked === null ? rest : { ...rest, [name]: checked };
}

/**
 * Writes the stored facts atomically.
 *
 * @throws SvcError `bad_request` when they could not be read back, `storage` when they cannot be written
 */
export function writeKeptFacts(file: string, facts: Facts): void {
  const text = formatYaml(facts);
  parseFacts(text, file);
  writing(file, () => writeFileAtomic(file, text, secretMode));
}
