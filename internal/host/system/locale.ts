import { posix } from "node:path";
import type { System } from "./system.ts";

/** The list of locales to generate, on systems that have one. */
export const localeListPath = "/etc/locale.gen";
const supportedPath = "/usr/share/i18n/SUPPORTED";

/** A locale as `locale.gen` names it. */
export interface LocaleName {
  /** `de_DE.UTF-8` */
  name: string;
  /** `UTF-8` */
  charset: string;
}

/** Reads `de_DE.UTF-8`, or with its character set, `de_DE ISO-8859-1`; `undefined` when it is neither. */
export function parseLocale(written: string): LocaleName | undefined {
  const [, name = "", , ending, charset = ending] =
    /^([A-Za-z]{1,8}(_[A-Z]{2,3})?(?:\.([A-Za-z0-9-]+))?(?:@[a-z]+)?)(?:\s+([A-Za-z0-9-]+))?$/.exec(
      written,
    ) ?? [];
  return name === "" ? undefined : { name, charset: charset ?? "ISO-8859-1" };
}

/** One form for `de_DE.UTF-8` and `de_DE.utf8`, which `locale -a` prints. */
export function canonicalLocale(name: string): string {
  return name.replace(
    /\.([A-Za-z0-9-]+)/,
    (_, charset: string) => `.${charset.toLowerCase().replaceAll("-", "")}`,
  );
}

/** Whether the C library has this name among those it can generate; true when there is no list of them. */
export function isSupported(system: System, { name, charset }: LocaleName): boolean {
  const lines = system.read(supportedPath)?.split("\n");
  return lines === undefined || lines.some((line) => line.trim() === `${name} ${charset}`);
}

/** Adds a locale to `locale.gen`, in place of its comment or at the end. */
export function withLocale(text: string, { name, charset }: LocaleName): string {
  const mine = `${name} ${charset}`;
  const lines = text.split("\n");
  if (lines.some((line) => line.trim().replace(/\s+/g, " ") === mine)) return text;
  const at = lines.findIndex((line) => line.replace(/^#\s*/, "").trim() === mine);
  if (at >= 0) return lines.map((line, index) => (index === at ? mine : line)).join("\n");
  return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${mine}\n`;
}

/** The file with the locale of the system: that of systemd, or that of Debian where it is another one. */
export function localeFile(system: System): string {
  const debian = "/etc/default/locale";
  const path = system.exists(debian) || system.fact("os_family") === "Debian" ? debian : "/etc/locale.conf";
  const target = system.linkTarget(path);
  return target === undefined ? path : posix.resolve(posix.dirname(path), target);
}

/** The value of LANG in such a file. */
export function langOf(text: string): string | undefined {
  const [, value] = /^\s*LANG=(.*?)\s*$/m.exec(text) ?? [];
  return value?.replace(/^(["'])(.*)\1$/, "$2");
}

/** Sets LANG in such a file, in place or at the end. */
export function withLang(text: string, name: string): string {
  const mine = `LANG=${name}`;
  if (langOf(text) !== undefined) return text.replace(/^\s*LANG=.*$/m, mine);
  return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${mine}\n`;
}
