import { TemplateError } from "../../internal/tree/template/error.ts";
import { createTemplates } from "../../internal/tree/template/render.ts";
import { functionsOfHost, hostFacts } from "./host.ts";

/** A template with what Salt made of it: its text, or its error where the status is not 0. */
export interface Probe {
  name: string;
  template: string;
  status: number;
  salt: string;
}

export interface Compared {
  name: string;
  /** Nothing where both are equal. */
  difference: string | undefined;
}

/** Files that the templates may load. */
const files: Readonly<Record<string, string>> = {
  "d.yaml": "a: 1\n",
  "d.json": '{"a": 1}\n',
  "d.txt": "hi",
  "m.jinja": "{% set v='V' %}",
  "m2.jinja": "M2",
};

export async function compareProbes(probes: readonly Probe[], commands: boolean): Promise<Compared[]> {
  const scope = { facts: hostFacts, settings: {}, host: functionsOfHost({ commands }) };
  const renderer = createTemplates().renderer(async (path) => files[path]);
  const compared: Compared[] = [];
  for (const { name, template, status, salt } of probes) {
    let ours: { status: number; text: string };
    try {
      const text = await renderer.render({ name: "probe.sls", text: template }, scope, {
        saltenv: "base",
        sls: "probe",
        slspath: "",
        tplfile: "probe.sls",
        tpldir: ".",
        tplroot: ".",
      });
      ours = { status: 0, text };
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      ours = { status: 1, text: thrown.message };
    }
    // Both refuse it: the words differ.
    const isEqual = status === ours.status && (status !== 0 || ours.text.trim() === salt.trim());
    const difference = `Salt ${shown(status, salt)}, svc ${shown(ours.status, ours.text)}`;
    compared.push({ name, difference: isEqual ? undefined : difference });
  }
  return compared;
}

function shown(status: number, text: string): string {
  const word = status === 0 ? "writes" : "fails with";
  return `${word} ${JSON.stringify(text.split("\n")[0]?.slice(0, 100))}`;
}
