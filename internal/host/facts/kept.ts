import { SvcError } from "../../base/errors.ts";
import { readTextIfPresent, reasonOf, secretMode, writeFileAtomic } from "../../base/file.ts";
import type { Plain } from "../../base/msgpack.ts";
import { writing } from "../../base/new-files.ts";
import { formatYaml } from "../../base/yaml.ts";
import { checkFact, type Facts } from "./fact.ts";
import { parseFacts } from "./parse.ts";

/**
 * The facts that were set on this peel, from its `facts.yaml`.
 *
 * @throws SvcError `bad_request` when the file cannot be read or holds something else
 */
export function readKeptFacts(file: string): Facts {
  let text: string | undefined;
  try {
    text = readTextIfPresent(file);
  } catch (cause) {
    throw new SvcError("bad_request", `cannot read ${file}: ${reasonOf(cause)}`, { cause });
  }
  const { facts, refused } = parseFacts(text ?? "", file);
  if (refused[0] !== undefined) throw new SvcError("bad_request", `${file}: ${refused[0]}`);
  return facts;
}

/**
 * The kept facts with one set, or without it when the value is null.
 *
 * @throws SvcError `bad_request` for a name or value that no fact may have
 */
export function withFact(facts: Facts, name: string, value: Plain): Facts {
  const checked = checkFact(name, value);
  const { [name]: _, ...rest } = facts;
  return checked === null ? rest : { ...rest, [name]: checked };
}

/**
 * Writes the kept facts, whole or not at all.
 *
 * @throws SvcError `bad_request` when they could not be read again, `storage` when they cannot be written
 */
export function writeKeptFacts(file: string, facts: Facts): void {
  const text = formatYaml(facts);
  parseFacts(text, file);
  writing(file, () => writeFileAtomic(file, text, secretMode));
}
