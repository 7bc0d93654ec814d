import { atLine } from "../../base/place.ts";
import { isNothing, type YamlNode } from "../../base/yaml.ts";
import { faultAt, SettingsFault } from "./fault.ts";
import type { TreeReader } from "./read.ts";

/** A settings file that is wanted, and where that is written. */
export interface Include {
  readonly name: string;
  readonly at: string;
}

const nameForm = /^(\.*)([A-Za-z0-9_-]+(?:[./][A-Za-z0-9_-]+)*)$/;

/**
 * The path of a settings file: `web.nginx` is `web/nginx.sls` or `web/nginx/init.sls`. Leading dots count
 * from the directory of the file that includes it.
 *
 * @param from path of that file; empty for the top file
 * @throws SettingsFault when there is none
 */
export function fileOf({ name, at }: Include, from: string, reader: TreeReader): string {
  const [, dots = "", rest = ""] = nameForm.exec(name) ?? [];
  const shown = JSON.stringify(name.slice(0, 80));
  if (rest === "" || (dots !== "" && from === "")) {
    throw new SettingsFault(`${at}: ${shown} is no name of a settings file, such as web.nginx`);
  }
  const directory = from.split("/").slice(0, -1);
  if (dots.length > directory.length + 1) throw new SettingsFault(`${at}: ${shown} leads out of the tree`);
  const below = dots === "" ? [] : directory.slice(0, directory.length - dots.length + 1);
  const stem = [...below, ...rest.split(/[./]/)].join("/");
  // Both are asked for, so that either is noticed when it comes.
  const found = [`${stem}.sls`, `${stem}/init.sls`].filter((path) => reader.has(path));
  if (found[0] !== undefined) return found[0];
  throw new SettingsFault(
    `${at}: there is no settings file ${shown}: neither ${stem}.sls nor ${stem}/init.sls`,
  );
}

/** The files that a file includes. @throws SettingsFault for anything but a list of names */
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
