import { quote } from "../../base/cut.ts";
import { atLine } from "../../base/place.ts";
import { isNothing, type YamlNode } from "../../base/yaml/yaml.ts";
import { faultAt, SettingsFault } from "./fault.ts";
import type { TreeReader } from "./read.ts";

/** A requested settings file, with the place of the request. */
export interface Include {
  readonly name: string;
  readonly at: string;
}

const nameForm = /^(\.*)([A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*)$/;

/**
 * Finds the path of a settings file: `web.nginx` is `web/nginx.sls` or `web/nginx/init.sls`. Leading dots are
 * relative to the directory of the including file.
 *
 * @param from path of the including file; empty for the top file
 * @throws SettingsFault when the file does not exist
 */
export function fileOf({ name, at }: Include, from: string, reader: Pick<TreeReader, "has">): string {
  const [, dots = "", rest = ""] = nameForm.exec(name) ?? [];
  const shown = quote(name);
  if (rest === "" || (dots !== "" && from === "")) {
    throw new SettingsFault(`${at}: ${shown} is not a valid settings file name, such as web.nginx`);
  }
  const directory = from.split("/").slice(0, -1);
  if (dots.length > directory.length + 1) throw new SettingsFault(`${at}: ${shown} is outside the tree`);
  const below = dots === "" ? [] : directory.slice(0, directory.length - dots.length + 1);
  const stem = [...below, ...rest.split(/[./]/)].join("/");
  // Check both paths, so that the creation of either is noticed.
  const found = [`${stem}.sls`, `${stem}/init.sls`].filter((path) => reader.has(path));
  if (found[0] !== undefined) return found[0];
  throw new SettingsFault(
    `${at}: settings file ${shown} does not exist: found neither ${stem}.sls nor ${stem}/init.sls`,
  );
}

/** Returns the includes of a file. @throws SettingsFault for anything but a list of names */
export function readIncludes(root: YamlNode, label: string): Include[] {
  if (root.kind !== "map") return [];
  const include = root.entries.find(({ key }) => key === "include");
  if (include === undefined) return [];
  const { value } = include;
  if (isNothing(value)) return [];
  if (value.kind !== "list") {
    throw faultAt(label, value.at, "include: expected a list of settings files");
  }
  return value.items.map((item) => {
    if (item.kind !== "scalar" || typeof item.value !== "string") {
      throw faultAt(label, item.at, "include: expected the name of a settings file");
    }
    return { name: item.value, at: atLine(label, item.at.line) };
  });
}
