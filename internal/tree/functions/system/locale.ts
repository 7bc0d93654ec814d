import { quote } from "../../../base/cut.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import {
  canonicalLocale,
  isSupported,
  langOf,
  localeFile,
  localeListPath,
  parseLocale,
  withLang,
  withLocale,
} from "../../../host/system/locale.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { editFile } from "../sources/file-step.ts";
import { planSteps, type Step, says } from "../steps.ts";

/** Generating all locales of a list takes some seconds each. */
const generateMs = 10 * 60_000;

/** States of the locales of this host. */
export const localeStates: readonly StateFunction[] = [
  defineState({
    name: "locale.present",
    doc: "Ensures that the C library has a locale, such as de_DE.UTF-8, or de_DE ISO-8859-1 with its character set.",
    args: {},
    async plan(name, _, context) {
      const system = systemOf(context);
      const locale = readLocale(name);
      const steps: Step[] = [];
      if (!(await hasLocale(system, locale.name))) {
        if (!isSupported(system, locale)) {
          throw new StateFailure(`the C library does not know the locale ${locale.name} ${locale.charset}`);
        }
        const list = system.has("locale-gen") ? system.read(localeListPath) : undefined;
        if (list !== undefined) {
          steps.push(...(await editFile(system, localeListPath, (text) => withLocale(text, locale))));
        }
        steps.push({
          changes: { [locale.name]: "generated" },
          async run() {
            await generate(system, locale, list !== undefined);
            if (!(await hasLocale(system, locale.name))) {
              throw new StateFailure(
                `the locale ${locale.name} was generated, but locale -a does not list it`,
              );
            }
          },
        });
      }
      return planSteps(
        steps,
        says(`the locale ${locale.name}`, "generated", `the locale ${locale.name} exists`),
      );
    },
  }),
  defineState({
    name: "locale.system",
    doc: "Ensures that this is the locale of the system (LANG), for logins from now on.",
    args: {},
    plan(name, _, context) {
      const system = systemOf(context);
      const { name: wanted } = readLocale(name);
      const path = localeFile(system);
      const text = system.read(path) ?? "";
      const now = langOf(text);
      const isSame = now !== undefined && canonicalLocale(now) === canonicalLocale(wanted);
      const run = () =>
        system.write(
          path,
          keepLineEnds(system.read(path) ?? "", (plain) => withLang(plain, wanted)),
        );
      return planSteps(
        isSame ? [] : [{ changes: { LANG: { old: now ?? "", new: wanted } }, run }],
        says("the locale of the system", `set to ${wanted}`, `the locale of the system is ${wanted}`),
      );
    },
  }),
];

function readLocale(name: string) {
  const locale = parseLocale(name);
  if (locale !== undefined) return locale;
  throw new StateFailure(`${quote(name)} is not a locale, such as de_DE.UTF-8`);
}

async function hasLocale(system: System, name: string): Promise<boolean> {
  const list = await succeed(system, "list the locales", ["locale", "-a"], { outputLimit: 1024 * 1024 });
  const wanted = canonicalLocale(name);
  return list.split("\n").some((line) => canonicalLocale(line.trim()) === wanted);
}

async function generate(
  system: System,
  { name, charset }: { name: string; charset: string },
  byList: boolean,
): Promise<void> {
  const options = { timeoutMs: generateMs };
  if (byList) await succeed(system, "generate the locales", ["locale-gen"], options);
  else {
    const input = name.replace(/\.[A-Za-z0-9-]+/, "");
    await succeed(system, `generate ${name}`, ["localedef", "-i", input, "-f", charset, name], options);
  }
}
